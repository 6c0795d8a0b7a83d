use axum::Json;
use axum::extract::State;
use reflect_types::{CreateSkill, GetSkill, Skill};

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::OptionalBody;

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

pub(super) async fn create(
    State(app): State<App>,
    access: Access<CreateSkill>,
    OptionalBody(create): OptionalBody<CreateSkill>,
) -> Result<Json<Skill>, ApiError> {
    Ok(Json(
        app.engine().create_skill(&access.project, &create).await?,
    ))
}
