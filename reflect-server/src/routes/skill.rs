use axum::Json;
use axum::extract::State;
use reflect_types::{CreateSkill, GetSkill, ProjectId, Skill};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::OptionalBody;
use crate::openapi::Refusals;

/// The project's skill: its memories condensed into one guide.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/skill", operation_id = "get_skill",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Skill), Refusals)
)]
pub(super) async fn get(
    State(app): State<App>,
    access: Access<GetSkill>,
) -> Result<Json<Skill>, ApiError> {
    match app.engine().get_skill(&access.project).await? {
        Some(skill) => Ok(Json(skill)),
        None => Err(ApiError::not_found(
            "this project has no skill yet: create one with POST …/skill/create",
        )),
    }
}

/// Writes a new version of the skill.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/skill/create", operation_id = "create_skill",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body(content = CreateSkill, description = "The number of memories of each kind to read"),
    responses((status = 200, body = Skill), Refusals)
)]
pub(super) async fn create(
    State(app): State<App>,
    access: Access<CreateSkill>,
    OptionalBody(create): OptionalBody<CreateSkill>,
) -> Result<Json<Skill>, ApiError> {
    Ok(Json(
        app.engine().create_skill(&access.project, &create).await?,
    ))
}
