use axum::Json;
use axum::extract::State;
use reflect_types::{CreateSkill, ProjectId, Skill};

use crate::access::{In, SkillRead, SkillWrite};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::OptionalBody;
use crate::openapi::Refusals;

/// The project's memories condensed into one guide.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/skill", operation_id = "get_skill",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Skill), Refusals)
)]
pub(super) async fn get(
    State(app): State<App>,
    access: In<SkillRead>,
) -> Result<Json<Skill>, ApiError> {
    match app.engine().get_skill(&access.project).await? {
        Some(skill) => Ok(Json(skill)),
        None => Err(ApiError::not_found(
            "this project has no skill yet: write one with POST …/skill/create",
        )),
    }
}

/// Writes the guide anew, one version up.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/skill/create", operation_id = "create_skill",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body(content = CreateSkill, description = "How many memories of each kind to read"),
    responses((status = 200, body = Skill), Refusals)
)]
pub(super) async fn create(
    State(app): State<App>,
    access: In<SkillWrite>,
    OptionalBody(how): OptionalBody<CreateSkill>,
) -> Result<Json<Skill>, ApiError> {
    Ok(Json(
        app.engine().create_skill(&access.project, &how).await?,
    ))
}
