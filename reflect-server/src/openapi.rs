//! The API's own description, made from the handlers and from the types they read and write.

use reflect_types::{ErrorBody, ErrorCode, ListMemories, ListTraces};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{RefOr, Required};
use utoipa::{IntoResponses, Modify, OpenApi};

/// What stands in the document beside the paths, which the router adds.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Reflect",
        description = "An agent records its runs, has them reviewed, and is shown what they taught. \
                       Every refusal has the same body; every success has a JSON one."
    ),
    components(schemas(ErrorBody, ErrorCode)),
    modifiers(&Schemes),
)]
pub(crate) struct Description;

/// The API as an OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    crate::routes::described().1
}

/// What is only answered, and always with every field; the types read older servers' answers too, so
/// they do not say so.
const WHOLE: [&str; 8] = [
    "ApiKey",
    "DeletedProject",
    "DeletedTraces",
    "Memory",
    "Overview",
    "ReviewRecord",
    "Skill",
    "Trace",
];

/// What an answer has only where there is something to say.
const RARE: &str = "judge_note";

/// How long a page is where nothing is said, by operation.
const PAGES: [(&str, u32); 4] = [
    ("list_traces", ListTraces::DEFAULT_LIMIT),
    ("list_memories", ListMemories::DEFAULT_LIMIT),
    ("export_traces", crate::routes::ARCHIVE_PAGE),
    ("export_memories", crate::routes::ARCHIVE_PAGE),
];

/// Says what neither the handlers nor the types can say of themselves.
pub(crate) fn complete(document: &mut utoipa::openapi::OpenApi) {
    let components = document.components.get_or_insert_default();
    for name in WHOLE {
        if let Some(RefOr::T(Schema::Object(object))) = components.schemas.get_mut(name) {
            let fields = object.properties.keys();
            object.required = fields.filter(|field| *field != RARE).cloned().collect();
        }
    }
    for item in document.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.post,
            &mut item.put,
            &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            complete_operation(operation);
        }
    }
}

fn complete_operation(operation: &mut Operation) {
    let name = operation.operation_id.as_deref().unwrap_or_default();
    if name == "create_skill"
        && let Some(RefOr::T(body)) = &mut operation.request_body
    {
        body.required = Some(Required::False);
    }
    let Some((_, page)) = PAGES.iter().find(|(listed, _)| *listed == name) else {
        return;
    };
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter
            && parameter.name == "limit"
            && let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
        {
            schema.default = Some((*page).into());
        }
    }
}

struct Schemes;

impl Modify for Schemes {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key: `rf_live_<public>_<secret>`."))
            .build();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
        let token = ApiKeyValue::with_description(
            reflect_types::BOOTSTRAP_TOKEN,
            "The token the server was started with.",
        );
        components.add_security_scheme("bootstrap", SecurityScheme::ApiKey(ApiKey::Header(token)));
    }
}

/// What any call in a project may end in.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it only describes")]
pub(crate) enum Refusals {
    /// The body is not JSON.
    #[response(status = 400)]
    Malformed(ErrorBody),
    /// No key, or one that is unknown or revoked.
    #[response(status = 401)]
    Unauthorized(ErrorBody),
    /// The key may not do this, or not in this project.
    #[response(status = 403)]
    Forbidden(ErrorBody),
    /// There is no such thing.
    #[response(status = 404)]
    NotFound(ErrorBody),
    /// The path exists, but not for this method.
    #[response(status = 405)]
    MethodNotAllowed(ErrorBody),
    /// It contradicts what is stored.
    #[response(status = 409)]
    Conflict(ErrorBody),
    /// The body is over the limit.
    #[response(status = 413)]
    TooLarge(ErrorBody),
    /// A field is missing, of the wrong type or out of range.
    #[response(status = 422)]
    Invalid(ErrorBody),
    /// Too many requests with this key.
    #[response(status = 429, headers(("Retry-After" = u64, description = "Seconds to wait")))]
    RateLimited(ErrorBody),
    /// A defect: the server's log has the reason beside the request id.
    #[response(status = 500)]
    Internal(ErrorBody),
    /// The model behind the server is of no use.
    #[response(status = 502)]
    ModelFailed(ErrorBody),
    /// Overloaded or shutting down: nothing was done.
    #[response(status = 503, headers(("Retry-After" = u64, description = "Seconds to wait")))]
    Unavailable(ErrorBody),
    /// It took too long.
    #[response(status = 504)]
    TimedOut(ErrorBody),
}
