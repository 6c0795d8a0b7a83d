//! Traces of a project, page by page.

use clap::ValueEnum;
use reflect_sdk::ReflectClient;
use reflect_types::{Page, Trace, TraceId};

/// The traces that a listing includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    /// Waiting for a review.
    Pending,
    /// Reviewed.
    Reviewed,
    /// Ingestion failed.
    Failed,
}

/// A listing of traces, newest first.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    client: &'a ReflectClient,
    status: Option<Status>,
    before: Option<TraceId>,
}

impl<'a> Listing<'a> {
    /// Lists the traces with a status, or all traces.
    pub(crate) fn new(client: &'a ReflectClient, status: impl Into<Option<Status>>) -> Self {
        Self {
            client,
            status: status.into(),
            before: None,
        }
    }

    /// Starts at the newest trace older than this one.
    pub(crate) fn before(mut self, id: Option<TraceId>) -> Self {
        self.before = id;
        self
    }

    /// The next page of at most `limit` traces; `None` at the end.
    pub(crate) async fn next(&mut self, limit: u32) -> reflect_sdk::Result<Option<Page<Trace>>> {
        let mut call = self.client.list_traces().limit(limit);
        call = match self.status {
            Some(Status::Pending) => call.pending(),
            Some(Status::Reviewed) => call.reviewed(),
            Some(Status::Failed) => call.failed(),
            None => call,
        };
        if let Some(before) = self.before.take() {
            call = call.before(before);
        }
        let page = call.await?;
        self.before = page.items.last().map(|trace| trace.id.clone());
        Ok(self.before.is_some().then_some(page))
    }
}
