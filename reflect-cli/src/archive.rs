//! A project's export and import, page by page.

use reflect_sdk::ReflectClient;
use reflect_types::{
    ArchivedMemory, ArchivedTrace, ExportMemories, ExportOverview, ExportTraces, ImportProject,
    ImportReport, ListUndos, MemoryId, Overview, Piece, ProjectId, TraceId, UndoRecord,
};

use crate::failure::Failure;

/// Records per page.
const PAGE: u32 = 50;

/// A project, in a file or on a server.
#[derive(Debug)]
pub(crate) struct Archive {
    client: ReflectClient,
}

impl Archive {
    pub(crate) fn new(client: ReflectClient) -> Self {
        Self { client }
    }

    pub(crate) fn project(&self) -> &ProjectId {
        self.client.project()
    }

    /// The project's totals and skill. A missing project is an error.
    pub(crate) async fn overview(&self) -> Result<Overview, Failure> {
        Ok(self.client.request(ExportOverview).await?)
    }

    /// The next page of memories, oldest first.
    pub(crate) async fn memories_after(
        &self,
        after: Option<&MemoryId>,
    ) -> Result<Vec<ArchivedMemory>, Failure> {
        let (after, limit) = (after.cloned(), Some(PAGE));
        let page = self.client.request(ExportMemories { after, limit }).await;
        page.map_err(|error| deleted_cursor(error.into()))
    }

    /// The next page of traces, oldest first.
    pub(crate) async fn traces_after(
        &self,
        after: Option<&TraceId>,
    ) -> Result<Vec<ArchivedTrace>, Failure> {
        let (after, limit) = (after.cloned(), Some(PAGE));
        let page = self.client.request(ExportTraces { after, limit }).await;
        page.map_err(|error| deleted_cursor(error.into()))
    }

    /// All records of undos, oldest first.
    pub(crate) async fn undos(&self) -> Result<Vec<UndoRecord>, Failure> {
        let mut records: Vec<UndoRecord> = Vec::new();
        loop {
            let limit = Some(ListUndos::MAX_LIMIT);
            let before = records.last().map(|last| last.id.clone());
            let page = self.client.request(ListUndos { limit, before }).await?;
            records.extend(page.items);
            if !page.more {
                records.reverse();
                return Ok(records);
            }
        }
    }

    pub(crate) async fn import(&self, pieces: Vec<Piece>) -> reflect_sdk::Result<ImportReport> {
        self.client.request(ImportProject { pieces }).await
    }
}

/// The failure of an export during which the project changed.
pub(crate) fn changed() -> Failure {
    Failure::conflict("the project changed during the export: retry when it is quiet")
}

/// Maps a refused page to [`changed`]: only a deleted cursor makes a page invalid.
fn deleted_cursor(failure: Failure) -> Failure {
    if failure.is_usage() {
        changed()
    } else {
        failure
    }
}
