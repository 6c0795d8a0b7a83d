//! The download of a project, in the format of `reflect export`.

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_DISPOSITION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use jiff::Timestamp;
use reflect_types::{BundleCounts, BundleEnding, BundleHeading, ExportOverview};
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
    /// The browser has ended it.
    Left,
}

impl<E: Into<ApiError>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn send(visit: &Visit, pages: &Sender<Page>) -> Result<(), Ended> {
    let mut export = visit.engine().export(&visit.project, PAGE).await?;
    let mut counts = BundleCounts::default();
    let now = format!("{:.3}", Timestamp::now());
    let heading = BundleHeading::new(visit.project.clone(), now);
    write(pages, &[heading]).await?;
    loop {
        let slot = visit.slot().await?;
        let page = export.next().await?;
        // A browser that reads slowly holds up no other reply.
        drop(slot);
        if page.is_empty() {
            return write(pages, &[BundleEnding::End(counts)]).await;
        }
        for piece in &page {
            counts.count(piece);
        }
        write(pages, &page).await?;
    }
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
