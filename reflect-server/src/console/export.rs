//! The download of a project, in the format of `reflect export`.

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_DISPOSITION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use jiff::Timestamp;
use reflect_types::{
    BundleCounts, BundleEnding, BundleHeading, ExportMemories, ExportOverview, ExportTraces,
    ListUndos, Piece, UndoRecord,
};
use serde::Serialize;
use tokio::sync::mpsc::{self, Sender};

use super::answer::{Problem, protected};
use super::visit::Visit;
use crate::error::ApiError;

/// Records of a page.
const PAGE: u32 = 50;

/// Sends the project page by page. One that cannot be sent whole has no ending, which an import asks for.
pub(super) async fn download(visit: Visit) -> Result<Response, Problem> {
    visit.require::<ExportOverview>()?;
    // Refuses a missing project before the download begins.
    visit.engine().export_overview(&visit.project).await?;
    let name = file_name(visit.project.as_str());
    // One page waits while the next one is read.
    let (sender, mut pages) = mpsc::channel(1);
    tokio::spawn(async move {
        let ended = match send(&visit, &sender).await {
            Ok(()) | Err(Ended::Left) => return,
            Err(Ended::Changed) => std::io::Error::other("the project changed during the export"),
            Err(Ended::Failed(error)) => {
                error.log();
                std::io::Error::other(error.detail().to_owned())
            }
        };
        // The browser may have left meanwhile.
        let _ = sender.send(Err(ended)).await;
    });
    let body = Body::from_stream(stream::poll_fn(move |context| pages.poll_recv(context)));
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let disposition = disposition.map_err(ApiError::internal)?;
    let response = (StatusCode::OK, [(CONTENT_DISPOSITION, disposition)], body).into_response();
    Ok(protected(response, "application/x-ndjson"))
}

type Page = Result<Bytes, std::io::Error>;

/// Why a download is not whole.
enum Ended {
    Failed(ApiError),
    /// The project changed meanwhile.
    Changed,
    /// The browser has ended it.
    Left,
}

impl<E: Into<ApiError>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn send(visit: &Visit, pages: &Sender<Page>) -> Result<(), Ended> {
    let (engine, project) = (visit.engine(), &visit.project);
    let before = engine.export_overview(project).await?;
    let mut counts = BundleCounts::default();
    let now = format!("{:.3}", Timestamp::now());
    let heading = BundleHeading::new(project.clone(), now);
    write(pages, &[heading]).await?;
    let mut next = ExportMemories {
        limit: Some(PAGE),
        after: None,
    };
    loop {
        let slot = visit.slot().await?;
        let page = engine.export_memories(project, &next).await?;
        // A browser that reads slowly holds up no other reply.
        drop(slot);
        let Some(last) = page.last() else { break };
        next.after = Some(last.history.memory.id.clone());
        let page = page
            .into_iter()
            .map(|memory| Piece::Memory(Box::new(memory)));
        pieces(pages, page.collect(), &mut counts).await?;
    }
    let mut next = ExportTraces {
        limit: Some(PAGE),
        after: None,
    };
    loop {
        let slot = visit.slot().await?;
        let page = engine.export_traces(project, &next).await?;
        drop(slot);
        let Some(last) = page.last() else { break };
        next.after = Some(last.trace.id.clone());
        let page = page.into_iter().map(|trace| Piece::Trace(Box::new(trace)));
        pieces(pages, page.collect(), &mut counts).await?;
    }
    let skill = before.skill.iter().cloned().map(Piece::Skill);
    let undos = undos(visit).await?.into_iter();
    let rest = skill.chain(undos.map(|undo| Piece::Undo(Box::new(undo))));
    pieces(pages, rest.collect(), &mut counts).await?;
    // Pages are read separately: a change in between may be in one page and not in another.
    if engine.export_overview(project).await? != before {
        return Err(Ended::Changed);
    }
    write(pages, &[BundleEnding::End(counts)]).await
}

/// All records of undos, oldest first.
async fn undos(visit: &Visit) -> Result<Vec<UndoRecord>, ApiError> {
    let mut records: Vec<UndoRecord> = Vec::new();
    loop {
        let list = ListUndos {
            limit: Some(ListUndos::MAX_LIMIT),
            before: records.last().map(|last| last.id.clone()),
        };
        let page = visit.engine().list_undos(&visit.project, &list).await?;
        records.extend(page.items);
        if !page.more {
            records.reverse();
            return Ok(records);
        }
    }
}

async fn pieces(
    pages: &Sender<Page>,
    some: Vec<Piece>,
    counts: &mut BundleCounts,
) -> Result<(), Ended> {
    for piece in &some {
        counts.count(piece);
    }
    write(pages, &some).await
}

/// Sends a line for each value.
async fn write<T: Serialize>(pages: &Sender<Page>, values: &[T]) -> Result<(), Ended> {
    let mut lines = Vec::new();
    for value in values {
        serde_json::to_writer(&mut lines, value).map_err(ApiError::internal)?;
        lines.push(b'\n');
    }
    let sent = pages.send(Ok(lines.into())).await;
    sent.map_err(|_| Ended::Left)
}

/// A name that every file system takes.
fn file_name(project: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = project.chars().take(60).map(safe).collect();
    format!("reflect-{name}.jsonl")
}
