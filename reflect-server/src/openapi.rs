//! The OpenAPI document: what the handlers and types do not say themselves.

use reflect_types::openapi::{id, listed_status, new_project_id, time};
use reflect_types::{
    CreateApiKey, CreateSkill, CreateTrace, ErrorBody, ErrorCode, ExportMemories, ExportOverview,
    ExportTraces, ImportProject, ListMemories, ListMemoryChanges, ListOrder, ListTraces, ListUndos,
    Operation as _, Piece, ReviewStatus,
};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{
    AllOfBuilder, AnyOfBuilder, Array, Components, Object, ObjectBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Ref, RefOr, Required};
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
const OPTIONAL_FIELDS: [&str; 3] = ["arm", "feedback", "judge_error"];

/// Default page length of each list operation.
const PAGE_LENGTHS: [(&str, u32); 6] = [
    (ListTraces::NAME, ListTraces::DEFAULT_LIMIT),
    (ListMemories::NAME, ListMemories::DEFAULT_LIMIT),
    (ListMemoryChanges::NAME, ListMemoryChanges::DEFAULT_LIMIT),
    (ListUndos::NAME, ListUndos::DEFAULT_LIMIT),
    (ExportTraces::NAME, ExportOverview::MAX_LIMIT),
    (ExportMemories::NAME, ExportOverview::MAX_LIMIT),
];

/// Requests that need at least one of these fields.
const ALTERNATIVES: [(&str, &[&str]); 3] = [
    (
        "Undo",
        &["key_id", "reviewer", "trace_id", "since", "until"],
    ),
    ("MemoryUpdate", &["reflection", "status", "merge_into"]),
    (
        "ReflectionEdit",
        &[
            "summary",
            "guidance",
            "key_mistake",
            "correct_action",
            "applicable_tools",
        ],
    ),
];

/// Operations that create a missing project.
const CREATE_PROJECTS: [&str; 3] = [CreateTrace::NAME, CreateApiKey::NAME, ImportProject::NAME];

/// Adds what neither handlers nor types can express.
pub(crate) fn complete(document: &mut utoipa::openapi::OpenApi) {
    let components = document.components.get_or_insert_default();
    for (name, fields) in ALTERNATIVES {
        require_one_of(components, name, fields);
    }
    restrict_sample(components);
    require_review_of_reviewed(components);
    require_key_or_match(components);
    bound_imported_version(components);
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

/// Requires one of these fields, with a value other than `null`.
fn require_one_of(components: &mut Components, name: &str, fields: &[&str]) {
    restrict(components, name, |object| {
        let alternatives = fields.iter().filter_map(|field| {
            let given = without_null(object.properties.get(*field)?);
            Some(
                ObjectBuilder::new()
                    .property(*field, given)
                    .required(*field),
            )
        });
        alternatives.map(Into::into).collect()
    });
}

/// A skill is written from at least one memory.
fn restrict_sample(components: &mut Components) {
    restrict(components, "CreateSkill", |_| {
        let not_zero = |field: &str| {
            let sample = ObjectBuilder::new()
                .schema_type(SchemaType::AnyValue)
                .minimum(Some(1));
            ObjectBuilder::new().property(field, sample).into()
        };
        vec![not_zero("n_passed"), not_zero("n_failed")]
    });
}

/// An archived trace that is reviewed has its review.
fn require_review_of_reviewed(components: &mut Components) {
    if let Some(RefOr::T(Schema::AllOf(archived))) = components.schemas.get_mut("ArchivedTrace") {
        let pending = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some([ReviewStatus::Pending.as_str()]));
        let unreviewed = ObjectBuilder::new().property("review_status", pending);
        let reviewed = ObjectBuilder::new()
            .property("review", Ref::from_schema_name("ReviewRecord"))
            .required("review");
        let either = AnyOfBuilder::new().item(unreviewed).item(reviewed);
        archived.items.push(either.into());
    }
}

/// A run is named by its idempotency key or its metadata.
fn require_key_or_match(components: &mut Components) {
    if let Some(RefOr::T(Schema::AllOf(request))) = components.schemas.get_mut("ReviewByKey") {
        let key = ObjectBuilder::new().schema_type(Type::String);
        let by_key = ObjectBuilder::new()
            .property("idempotency_key", key)
            .required("idempotency_key");
        let some = ObjectBuilder::new()
            .schema_type(Type::Object)
            .min_properties(Some(1));
        let by_metadata = ObjectBuilder::new()
            .property("match", some)
            .required("match");
        let either = AnyOfBuilder::new().item(by_key).item(by_metadata);
        request.items.push(either.into());
    }
}

/// A skill that is imported leaves room for the next version.
fn bound_imported_version(components: &mut Components) {
    let Some(RefOr::T(Schema::OneOf(pieces))) = components.schemas.get_mut("Piece") else {
        return;
    };
    let skill = Ref::from_schema_name("Skill").ref_location;
    let is_skill = |part: &RefOr<Schema>| matches!(part, RefOr::Ref(Ref { ref_location, .. }) if *ref_location == skill);
    for piece in &mut pieces.items {
        if let RefOr::T(Schema::AllOf(parts)) = piece
            && parts.items.iter().any(is_skill)
        {
            let version = ObjectBuilder::new()
                .schema_type(Type::Integer)
                .maximum(Some(Piece::MAX_SKILL_VERSION));
            let bounded = ObjectBuilder::new().property("version", version);
            parts.items.push(bounded.into());
        }
    }
}

/// Requires a request to match one of some alternatives too.
fn restrict(
    components: &mut Components,
    name: &str,
    alternatives: impl FnOnce(&Object) -> Vec<RefOr<Schema>>,
) {
    let Some(RefOr::T(Schema::Object(object))) = components.schemas.remove(name) else {
        return;
    };
    let items = alternatives(&object);
    let any = items
        .into_iter()
        .fold(AnyOfBuilder::new(), AnyOfBuilder::item);
    let both = AllOfBuilder::new().item(object).item(any);
    components.schemas.insert(name.to_owned(), both.into());
}

/// The schema of a value, without `null`.
fn without_null(schema: &RefOr<Schema>) -> RefOr<Schema> {
    let mut schema = schema.clone();
    match &mut schema {
        RefOr::T(Schema::OneOf(either)) => {
            let is_null = |item: &RefOr<Schema>| {
                matches!(item, RefOr::T(Schema::Object(object))
                    if object.schema_type == SchemaType::Type(Type::Null))
            };
            if let Some(given) = either.items.iter().find(|item| !is_null(item)) {
                return given.clone();
            }
        }
        RefOr::T(
            Schema::Object(Object { schema_type, .. }) | Schema::Array(Array { schema_type, .. }),
        ) => {
            if let SchemaType::Array(types) = schema_type {
                types.retain(|kind| *kind != Type::Null);
            }
        }
        _ => {}
    }
    schema
}

fn complete_operation(operation: &mut Operation) {
    let name = operation.operation_id.as_deref().unwrap_or_default();
    if name == CreateSkill::NAME
        && let Some(RefOr::T(body)) = &mut operation.request_body
    {
        body.required = Some(Required::False);
    }
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else {
            continue;
        };
        match parameter.name.as_str() {
            "project_id" if CREATE_PROJECTS.contains(&name) => {
                parameter.schema = Some(new_project_id());
            }
            "project_id" | "trace_id" | "memory_id" | "key_id" | "before" | "after" => {
                parameter.schema = Some(id());
            }
            "since" | "until" => parameter.schema = Some(time()),
            "status" => parameter.schema = Some(listed_status()),
            _ => {}
        }
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
    /// The body is in an encoding other than gzip.
    #[response(status = 415)]
    UnsupportedMediaType(ErrorBody),
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
