//! Who may enter: a handler names the scope it needs in its signature, and cannot run without it.

use std::collections::HashMap;
use std::marker::PhantomData;

use axum::extract::{FromRequestParts, Path};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use reflect_engine::Engine;
use reflect_types::{KeyId, MemoryId, ProjectId, Scope, TraceId, Validate};

use crate::app::App;
use crate::error::ApiError;
use crate::keys::Caller;

/// Access to a project for a caller that has one of the scopes `S` asks for.
#[derive(Debug)]
pub(crate) struct In<S> {
    pub(crate) project: ProjectId,
    pub(crate) caller: Caller,
    scope: PhantomData<S>,
}

/// What a handler asks of a key: any one of these.
pub(crate) trait Needs: Send + Sync + 'static {
    const ANY: &'static [Scope];
}

macro_rules! needs {
    ($($name:ident: $($scope:ident)|+;)+) => {
        $(
            #[derive(Debug)]
            pub(crate) struct $name;

            impl Needs for $name {
                const ANY: &'static [Scope] = &[$(Scope::$scope),+];
            }
        )+
    };
}

needs! {
    MemoryRead: MemoryRead;
    TraceRead: TraceRead;
    TraceWrite: TraceWrite;
    // Which of the two depends on the body: see `routes::traces::create`.
    TraceOrMemoryWrite: TraceWrite | MemoryWrite;
    ReviewWrite: ReviewWrite;
    SkillRead: SkillRead;
    SkillWrite: SkillWrite;
    KeyAdmin: KeyAdmin;
    ProjectAdmin: ProjectAdmin;
}

impl<S> In<S> {
    /// Refuses a caller that lacks a scope which only the body shows to be needed.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        require(&self.caller, scope)
    }
}

impl<S> In<S> {
    /// The engine as this caller may use it.
    pub(crate) fn engine(&self, app: &App) -> Engine {
        engine(&self.caller, app)
    }
}

/// The engine for a caller: only a master key makes projects. A request that is under way with a key
/// of the project while that is deleted would otherwise bring it back.
pub(crate) fn engine(caller: &Caller, app: &App) -> Engine {
    match caller.project() {
        None => app.engine().clone(),
        Some(_) => app.engine().in_existing_projects(),
    }
}

/// Refuses a caller that lacks a scope.
pub(crate) fn require(caller: &Caller, scope: Scope) -> Result<(), ApiError> {
    if caller.may(&scope) {
        return Ok(());
    }
    Err(ApiError::missing_scope(&[scope]))
}

impl<S: Needs> FromRequestParts<App> for In<S> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = caller(parts, app).await?;
        let project = ProjectId::new(segment(parts, app, "project_id").await?);
        // Before anything is looked up, so that nothing can be learned of other projects.
        if !caller.opens(&project) {
            return Err(ApiError::other_project(&project));
        }
        if !S::ANY.iter().any(|scope| caller.may(scope)) {
            return Err(ApiError::missing_scope(S::ANY));
        }
        project.validate()?;
        Ok(Self {
            project,
            caller,
            scope: PhantomData,
        })
    }
}

/// Who asks, if their key is good and they do not ask too often.
pub(crate) async fn caller(parts: &Parts, app: &App) -> Result<Caller, ApiError> {
    let Some(header) = parts.headers.get(AUTHORIZATION) else {
        return Err(ApiError::unauthorized(
            "this needs a key: send `Authorization: Bearer rf_live_…`",
        ));
    };
    let key = header.to_str().ok().and_then(|text| {
        let (scheme, key) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
    });
    let Some(key) = key else {
        return Err(ApiError::unauthorized(
            "the Authorization header must be `Bearer` and a key",
        ));
    };
    let Some(caller) = app.keys().recognise(key).await? else {
        return Err(ApiError::unknown_key());
    };
    tracing::Span::current().record("key", caller.name());
    app.rate().admit(caller.name())?;
    Ok(caller)
}

macro_rules! path_id {
    ($($(#[$meta:meta])* $name:ident($id:ident) = $segment:literal;)+) => {
        $(
            $(#[$meta])*
            #[derive(Debug)]
            pub(crate) struct $name(pub(crate) $id);

            impl FromRequestParts<App> for $name {
                type Rejection = ApiError;

                async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
                    let id = $id::new(segment(parts, app, $segment).await?);
                    id.validate()?;
                    Ok(Self(id))
                }
            }
        )+
    };
}

path_id! {
    /// The trace that the path names.
    InTrace(TraceId) = "trace_id";
    /// The memory that the path names.
    InMemory(MemoryId) = "memory_id";
    /// The key that the path names.
    InKey(KeyId) = "key_id";
}

async fn segment(parts: &mut Parts, app: &App, name: &str) -> Result<String, ApiError> {
    let Path(mut segments): Path<HashMap<String, String>> =
        Path::from_request_parts(parts, app).await?;
    segments
        .remove(name)
        .ok_or_else(|| ApiError::internal(format!("the route has no `{name}`")))
}
