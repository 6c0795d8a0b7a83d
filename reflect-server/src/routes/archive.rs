//! A project as it is carried to another server, or to a file.

use axum::Json;
use axum::extract::State;
use reflect_engine::{ArchivedTrace, ImportReport, MemoryHistory, Overview, Piece};
use reflect_types::{InvalidField, MemoryId, ProjectId, TraceId, Validate};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::{In, ProjectAdmin};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{LongBody, Params};
use crate::openapi::Refusals;

/// The most that a page holds, and what it holds where nothing is said.
pub(crate) const PAGE: u32 = 200;

/// Which page.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "Id: Deserialize<'de>"))]
pub(super) struct Page<Id> {
    #[serde(default)]
    after: Option<Id>,
    #[serde(default)]
    limit: Option<u32>,
}

impl<Id: Validate> Validate for Page<Id> {
    fn validate(&self) -> Result<(), InvalidField> {
        if let Some(after) = &self.after {
            after.validate()?;
        }
        match self.limit {
            Some(limit) if !(1..=PAGE).contains(&limit) => Err(InvalidField::new(
                "limit",
                format!("must be 1 to {PAGE}, not {limit}"),
            )),
            _ => Ok(()),
        }
    }
}

impl<Id> Page<Id> {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE) as usize
    }
}

/// What is taken in at once: all of it, or nothing.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(super) struct Pieces {
    /// Memories before traces, because a review that still waits moves them.
    pieces: Vec<Piece>,
}

impl Validate for Pieces {
    fn validate(&self) -> Result<(), InvalidField> {
        self.pieces.iter().try_for_each(Validate::validate)
    }
}

/// What the project holds beside its memories and runs. Numbers that differ from those of before tell
/// that the project changed meanwhile.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/archive", operation_id = "export_overview",
    security(("key" = [])), params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Overview), Refusals)
)]
pub(super) async fn overview(
    State(app): State<App>,
    access: In<ProjectAdmin>,
) -> Result<Json<Overview>, ApiError> {
    Ok(Json(app.engine().export_overview(&access.project).await?))
}

/// The project's memories in the order they were learned, with all that moved them.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/archive/memories", operation_id = "export_memories",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200),
        ("after" = Option<MemoryId>, Query, description = "The last memory of the page before"),
    ),
    responses((status = 200, body = Vec<MemoryHistory>), Refusals)
)]
pub(super) async fn memories(
    State(app): State<App>,
    access: In<ProjectAdmin>,
    Params(page): Params<Page<MemoryId>>,
) -> Result<Json<Vec<MemoryHistory>>, ApiError> {
    let (after, limit) = (page.after.as_ref(), page.limit());
    let engine = app.engine();
    Ok(Json(
        engine
            .export_memories(&access.project, after, limit)
            .await?,
    ))
}

/// The project's runs in the order they were stored, with all that is kept of them.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/archive/traces", operation_id = "export_traces",
    security(("key" = [])),
    params(
        ("project_id" = ProjectId, Path),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 200),
        ("after" = Option<TraceId>, Query, description = "The last run of the page before"),
    ),
    responses((status = 200, body = Vec<ArchivedTrace>), Refusals)
)]
pub(super) async fn traces(
    State(app): State<App>,
    access: In<ProjectAdmin>,
    Params(page): Params<Page<TraceId>>,
) -> Result<Json<Vec<ArchivedTrace>>, ApiError> {
    let (after, limit) = (page.after.as_ref(), page.limit());
    let engine = app.engine();
    Ok(Json(
        engine.export_traces(&access.project, after, limit).await?,
    ))
}

/// Stores pieces as they are, under the ids they have. What is there already stays as it is, so the
/// same may be sent again.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/archive", operation_id = "import_project",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = Pieces,
    responses((status = 200, body = ImportReport), Refusals)
)]
pub(super) async fn import(
    State(app): State<App>,
    access: In<ProjectAdmin>,
    LongBody(Pieces { pieces }): LongBody<Pieces>,
) -> Result<Json<ImportReport>, ApiError> {
    let engine = access.engine(&app);
    Ok(Json(engine.import(&access.project, pieces).await?))
}
