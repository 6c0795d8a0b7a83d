//! The OpenAPI document: what the handlers and types do not say themselves.

use reflect_types::{
    CreateSkill, ErrorBody, ErrorCode, ExportMemories, ExportOverview, ExportTraces, ListMemories,
    ListMemoryChanges, ListOrder, ListTraces, Operation as _,
};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{RefOr, Required};
use utoipa::{IntoResponses, Modify, OpenApi};

/// The document without its paths, which the router adds.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Reflect",
        description = "An agent records its runs, has them reviewed, and gets memories of them. Every \
                       error has the same body; every success has a JSON body."
    ),
    components(schemas(ErrorBody, ErrorCode, ListOrder)),
    modifiers(&Schemes),
)]
pub(crate) struct Description;

/// Replies that always have every field. Their types accept replies of older servers, so their schemas
/// do not require the fields.
const COMPLETE_REPLIES: [&str; 8] = [
    "ApiKey",
    "DeletedProject",
    "DeletedTraces",
    "Memory",
    "Overview",
    "ReviewRecord",
    "Skill",
    "Trace",
];

/// The only optional fields of these replies.
const OPTIONAL_FIELDS: [&str; 2] = ["judge_error", "judge_note"];

/// Default page length of each list operation.
const PAGE_LENGTHS: [(&str, u32); 5] = [
    (ListTraces::NAME, ListTraces::DEFAULT_LIMIT),
    (ListMemories::NAME, ListMemories::DEFAULT_LIMIT),
    (ListMemoryChanges::NAME, ListMemoryChanges::DEFAULT_LIMIT),
    (ExportTraces::NAME, ExportOverview::MAX_LIMIT),
    (ExportMemories::NAME, ExportOverview::MAX_LIMIT),
];

/// Adds what neither handlers nor types can express.
pub(crate) fn complete(document: &mut utoipa::openapi::OpenApi) {
    let components = document.components.get_or_insert_default();
    for name in COMPLETE_REPLIES {
        if let Some(RefOr::T(Schema::Object(object))) = components.schemas.get_mut(name) {
            let fields = object.properties.keys();
            let always = fields.filter(|field| !OPTIONAL_FIELDS.contains(&field.as_str()));
            object.required = always.cloned().collect();
        }
    }
    for item in document.paths.paths.values_mut() {
        let operations = [
            &mut item.get,
            &mut item.post,
            &mut item.put,
            &mut item.patch,
            &mut item.delete,
        ];
        for operation in operations.into_iter().flatten() {
            complete_operation(operation);
        }
    }
}

fn complete_operation(operation: &mut Operation) {
    let name = operation.operation_id.as_deref().unwrap_or_default();
    if name == CreateSkill::NAME
        && let Some(RefOr::T(body)) = &mut operation.request_body
    {
        body.required = Some(Required::False);
    }
    let Some((_, page)) = PAGE_LENGTHS.iter().find(|(listed, _)| *listed == name) else {
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

/// The security schemes.
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
            "The bootstrap token of the server.",
        );
        components.add_security_scheme("bootstrap", SecurityScheme::ApiKey(ApiKey::Header(token)));
    }
}

/// The errors of every operation in a project.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it describes responses")]
pub(crate) enum Refusals {
    /// The body is not JSON.
    #[response(status = 400)]
    Malformed(ErrorBody),
    /// The key is missing, unknown, revoked or expired.
    #[response(status = 401)]
    Unauthorized(ErrorBody),
    /// The key has no access to the project, not the scope, or fewer rights than the other key.
    #[response(status = 403)]
    Forbidden(ErrorBody),
    /// Not found.
    #[response(status = 404)]
    NotFound(ErrorBody),
    /// The path does not support this method.
    #[response(status = 405)]
    MethodNotAllowed(ErrorBody),
    /// The request conflicts with the stored state.
    #[response(status = 409)]
    Conflict(ErrorBody),
    /// The body is over the limit.
    #[response(status = 413)]
    TooLarge(ErrorBody),
    /// A field is missing, of the wrong type or out of range.
    #[response(status = 422)]
    Invalid(ErrorBody),
    /// Too many requests with this key, or too many wrong keys from this address.
    #[response(status = 429, headers(("Retry-After" = u64, description = "Seconds to wait")))]
    RateLimited(ErrorBody),
    /// Internal error: the server's log has the reason, under the request id.
    #[response(status = 500)]
    Internal(ErrorBody),
    /// The server's model failed.
    #[response(status = 502)]
    ModelFailed(ErrorBody),
    /// Overloaded or shutting down; the request was not carried out.
    #[response(status = 503, headers(("Retry-After" = u64, description = "Seconds to wait")))]
    Unavailable(ErrorBody),
    /// Timed out; the request may still be carried out.
    #[response(status = 504)]
    TimedOut(ErrorBody),
}
