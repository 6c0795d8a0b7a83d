//! Authorization: a handler names its operation in its signature, and runs only for callers whose key
//! has a scope of that operation.

use std::collections::HashMap;
use std::marker::PhantomData;

use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use reflect_engine::Engine;
use reflect_types::{
    CreateTrace, KeyId, MemoryId, Metadata, Operation, ProjectId, Review, ReviewRecord, Scope,
    Trace, TraceId,
};

use crate::app::App;
use crate::error::ApiError;
use crate::keys::{Caller, Recognition};

/// Access to a project for a caller that may call the operation `O`.
#[derive(Debug)]
pub(crate) struct Access<O> {
    pub(crate) project: ProjectId,
    pub(crate) caller: Caller,
    operation: PhantomData<O>,
}

impl<O> Access<O> {
    /// Refuses a caller without a scope that depends on the request body.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        require(&self.caller, scope)
    }

    /// The engine with this caller's rights.
    pub(crate) fn engine(&self, app: &App) -> Engine {
        engine(&self.caller, app)
    }
}

impl<O: Operation> FromRequestParts<App> for Access<O> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = caller(parts, app).await?;
        let project = ProjectId::new(segment(parts, app, "project_id").await?);
        // Before any lookup, so that a key reveals nothing about other projects.
        if !caller.opens(&project) {
            return Err(ApiError::other_project(&project));
        }
        if !O::SCOPES.iter().any(|scope| caller.may(scope)) {
            return Err(ApiError::missing_scope(O::SCOPES));
        }
        Ok(Self {
            project,
            caller,
            operation: PhantomData,
        })
    }
}

/// A caller with any valid key, for operations that need no scope.
#[derive(Debug)]
pub(crate) struct AnyKey(pub(crate) Caller);

impl FromRequestParts<App> for AnyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self(caller(parts, app).await?))
    }
}

/// The engine with a caller's key and rights: only a master key creates projects, and only an
/// administrator deletes what others have recorded or taught. A project key whose project is deleted during its
/// request must not recreate it.
pub(crate) fn engine(caller: &Caller, app: &App) -> Engine {
    let mut engine = match caller.project() {
        None => app.engine().clone(),
        Some(_) => app.engine().in_existing_projects(),
    };
    if !caller.may(&Scope::TraceAdmin) {
        engine = engine.deleting_own_traces_only();
    }
    if !caller.may(&Scope::MemoryAdmin) {
        engine = engine.deleting_own_memories_only();
    }
    engine.acting_for(caller.key().clone())
}

/// Refuses a caller without a scope.
pub(crate) fn require(caller: &Caller, scope: Scope) -> Result<(), ApiError> {
    if caller.may(&scope) {
        return Ok(());
    }
    Err(ApiError::missing_scope(&[scope]))
}

/// Refuses a caller that may not store this trace. A review needs the scope of reviews, as one that is
/// given later does; a review with its own reflection is a memory, and needs a review's scope only if
/// it moves others.
pub(crate) async fn may_create(
    caller: &Caller,
    project: &ProjectId,
    app: &App,
    trace: &mut CreateTrace,
) -> Result<(), ApiError> {
    let Some(review) = &mut trace.review else {
        return require(caller, Scope::TraceWrite);
    };
    bound_alpha(caller, project, review, app).await?;
    if review.reflection.is_some() {
        require(caller, Scope::MemoryWrite)?;
        if trace.retrieved_memory_ids.is_empty() {
            return Ok(());
        }
    } else {
        require(caller, Scope::TraceWrite)?;
    }
    if app.settings().lenient_inline_reviews {
        return Ok(());
    }
    require(caller, Scope::ReviewWrite)
}

/// Refuses a review whose `alpha` is over the largest that the caller's key may use. A review without
/// one gets the server's default, or the lower of the limits of the key and the project.
pub(crate) async fn bound_alpha(
    caller: &Caller,
    project: &ProjectId,
    review: &mut Review,
    app: &App,
) -> Result<(), ApiError> {
    let Some(most) = caller.max_alpha() else {
        return Ok(());
    };
    match review.alpha {
        None => {
            let engine = app.engine();
            let of_project = engine.settings(project).await?.max_alpha;
            let of_project = of_project.unwrap_or(most);
            review.alpha = Some(engine.default_alpha().min(most).min(of_project));
        }
        // A NaN is refused by the review's own validation.
        Some(alpha) if alpha > most => {
            let problem = format!("`alpha` must be at most {most} with this key, got {alpha}");
            return Err(ApiError::field("alpha", problem));
        }
        Some(_) => {}
    }
    Ok(())
}

/// A trace as its reviewer may see it: without the scope `trace:read`, neither what the run did nor the words of others.
pub(crate) fn reviewed(caller: &Caller, trace: Trace) -> Trace {
    if caller.may(&Scope::TraceRead) {
        return trace;
    }
    let review = trace.review.map(|review| ReviewRecord {
        feedback_text: (review.feedback_text)
            .filter(|_| review.key_id.as_ref() == Some(caller.key())),
        ..review
    });
    Trace {
        task: String::new(),
        trajectory: Vec::new(),
        final_response: String::new(),
        retrieved_memory_ids: Vec::new(),
        ignored_memory_ids: Vec::new(),
        model: None,
        metadata: Metadata::new(),
        reference_context: None,
        key_id: None,
        run_id: None,
        parent_run_id: None,
        session_id: None,
        usage: None,
        review,
        ..trace
    }
}

/// The caller of a request, if its key is valid and within the rate limit.
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
    let caller = authenticate(key, parts, app).await?;
    tracing::Span::current().record("key", caller.name());
    app.rate().admit(caller.name())?;
    Ok(caller)
}

/// The project of an endpoint whose path names none: that of the header `X-Project-Id`, that of the key, or
/// `default`.
pub(crate) fn named_project(caller: &Caller, headers: &HeaderMap) -> Result<ProjectId, ApiError> {
    // Not `to_str`, which accepts only ASCII: a project may have any name.
    let named = headers.get("x-project-id");
    let named = named.map(|value| std::str::from_utf8(value.as_bytes()));
    let project = match (named, caller.project()) {
        (Some(Ok(named)), _) => ProjectId::from(named),
        (Some(Err(_)), _) => {
            return Err(ApiError::field(
                "X-Project-Id",
                "`X-Project-Id` must be UTF-8",
            ));
        }
        (None, Some(own)) => own.clone(),
        (None, None) => ProjectId::default(),
    };
    if !caller.opens(&project) {
        return Err(ApiError::other_project(&project));
    }
    Ok(project)
}

/// The holder of a key. Wrong keys are counted per address; after too many of them, unknown ones are
/// refused without a lookup of each. A valid key works from any address: the limit protects the server's
/// time, and the key's length protects the key.
pub(crate) async fn authenticate(key: &str, parts: &Parts, app: &App) -> Result<Caller, ApiError> {
    let keys = app.keys();
    if let Some(caller) = keys.recall(key) {
        return Ok(caller);
    }
    let attempt = match app.begin_attempt(parts) {
        Ok(attempt) => attempt,
        Err(wait) => {
            let listed = keys.recognise_listed(key).await?;
            return listed
                .caller()
                .ok_or_else(|| ApiError::too_many_failures(wait));
        }
    };
    let recognised = keys.recognise(key).await;
    if !matches!(recognised, Ok(Recognition::Unknown)) {
        attempt.forgive();
    }
    match recognised? {
        Recognition::Caller(caller) => Ok(caller),
        Recognition::Expired(at) => Err(ApiError::expired_key(&at)),
        Recognition::Revoked | Recognition::Unknown => Err(ApiError::unknown_key()),
    }
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
                    Ok(Self($id::new(segment(parts, app, $segment).await?)))
                }
            }
        )+
    };
}

path_id! {
    /// The trace in the path.
    TracePath(TraceId) = "trace_id";
    /// The memory in the path.
    MemoryPath(MemoryId) = "memory_id";
    /// The key in the path.
    KeyPath(KeyId) = "key_id";
}

async fn segment(parts: &mut Parts, app: &App, name: &str) -> Result<String, ApiError> {
    let Path(mut segments): Path<HashMap<String, String>> =
        Path::from_request_parts(parts, app).await?;
    segments
        .remove(name)
        .ok_or_else(|| ApiError::internal(format!("the route has no `{name}`")))
}
