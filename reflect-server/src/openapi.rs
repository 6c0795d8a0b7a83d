//! The OpenAPI document: what the handlers and types do not say themselves.

use reflect_types::{ErrorBody, ErrorCode, Method, Piece, ReviewStatus};
use utoipa::openapi::path::HttpMethod;
use utoipa::openapi::schema::{
    AllOfBuilder, AnyOfBuilder, Array, Components, Object, ObjectBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi, Ref, RefOr};
use utoipa::{Modify, OpenApi as _};

use crate::described::Described;
use crate::routes::Endpoint;

/// The document without its paths.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Reflect",
        description = "An agent records its runs, has them reviewed, and gets memories of them. Every \
                       error has the same body; every success has a JSON body."
    ),
    components(schemas(ErrorBody, ErrorCode)),
    modifiers(&Schemes),
)]
struct Description;

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
const OPTIONAL_FIELDS: [&str; 7] = [
    "arm",
    "feedback",
    "judge_error",
    "parent_run_id",
    "run_id",
    "session_id",
    "usage",
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

/// The document of all endpoints.
pub(crate) fn document(endpoints: Vec<Endpoint>) -> OpenApi {
    let mut document = Description::openapi();
    let components = document.components.get_or_insert_default();
    for endpoint in endpoints {
        let described = (endpoint.describe)(Described::new(&endpoint));
        components.schemas.extend(described.schemas);
        let method = match endpoint.method {
            Method::Post => HttpMethod::Post,
            Method::Put => HttpMethod::Put,
            Method::Patch => HttpMethod::Patch,
            Method::Delete => HttpMethod::Delete,
            _ => HttpMethod::Get,
        };
        let paths = &mut document.paths;
        paths.add_path_operation(endpoint.path, vec![method], described.operation);
    }
    complete(components);
    document
}

/// Adds what neither handlers nor types can express.
fn complete(components: &mut Components) {
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

/// The security schemes.
struct Schemes;

impl Modify for Schemes {
    fn modify(&self, document: &mut OpenApi) {
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
