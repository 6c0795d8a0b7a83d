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

/// A listing of traces, newest first by default.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    client: &'a ReflectClient,
    status: Option<Status>,
    session: Option<String>,
    oldest_first: bool,
    /// The last trace of the previous page.
    last: Option<TraceId>,
}

impl<'a> Listing<'a> {
    /// Lists the traces with a status, or all traces.
    pub(crate) fn new(client: &'a ReflectClient, status: impl Into<Option<Status>>) -> Self {
        Self {
            client,
            status: status.into(),
            session: None,
            oldest_first: false,
            last: None,
        }
    }

    /// Lists the traces of a session only.
    pub(crate) fn session(mut self, session: Option<String>) -> Self {
        self.session = session;
        self
    }

    /// Lists the oldest traces first.
    pub(crate) fn oldest_first(mut self) -> Self {
        self.oldest_first = true;
        self
    }

    /// Starts at the newest trace older than this one.
    pub(crate) fn before(mut self, id: Option<TraceId>) -> Self {
        self.last = id;
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
        if let Some(session) = &self.session {
            call = call.session(session);
        }
        let previous = self.last.take();
        call = match (previous.clone(), self.oldest_first) {
            (Some(last), true) => call.after(last),
            (None, true) => call.oldest_first(),
            (Some(last), false) => call.before(last),
            (None, false) => call,
        };
        let page = call.await?;
        // A server that does not know the cursor repeats its page.
        let last = page.items.last().map(|trace| trace.id.clone());
        self.last = last.filter(|last| Some(last) != previous.as_ref());
        Ok(self.last.is_some().then_some(page))
    }
}
