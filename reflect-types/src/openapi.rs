//! The schemas of what reads and writes itself by hand, and of texts with rules: ids, times and names.

use std::ops::RangeInclusive;

use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, Schema,
    SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::{
    AuthoredReflection, Bootstrap, CreateApiKey, CreateTrace, Health, MemoryId, MemoryStatus,
    Message, ProjectId, ReviewByKey, Reviewer, Trajectory, Verdict, text,
};

/// Matches text with a visible character and no control characters.
const VISIBLE_WITHOUT_CONTROLS: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*\
     [^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// Matches an id that fits into a path: not blank, and neither `.` nor `..`.
const ID: &str = r"[^\s.]|\.\s|\s\.|\.{3}";

/// Matches the shape of a time in RFC 3339.
const TIME: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]\
     :[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";

/// An id in a request.
pub fn id() -> RefOr<Schema> {
    id_of(Type::String.into())
}

/// An id in a request, or none.
pub(crate) fn optional_id() -> RefOr<Schema> {
    id_of(nullable_string())
}

/// The ID of a run, or none.
pub(crate) fn run_id() -> RefOr<Schema> {
    let id = ObjectBuilder::new().schema_type(nullable_string());
    let id = id.min_length(Some(1)).pattern(Some("^[!-~]+$"));
    id.max_length(Some(CreateTrace::MAX_IDEMPOTENCY_KEY)).into()
}

/// The ID of a session.
pub fn session_id() -> RefOr<Schema> {
    name(Some(CreateTrace::MAX_SESSION)).into()
}

/// The ID of a session, or none.
pub(crate) fn optional_session_id() -> RefOr<Schema> {
    let id = name(Some(CreateTrace::MAX_SESSION));
    id.schema_type(nullable_string()).into()
}

/// The id of a stored memory.
pub(crate) fn memory_id() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(MemoryId::MAX_LENGTH))
        .pattern(Some(r"^(?!\.{1,2}$)[A-Za-z0-9_.:-]+$"))
        .into()
}

fn id_of(kind: SchemaType) -> RefOr<Schema> {
    let id = ObjectBuilder::new().schema_type(kind);
    id.min_length(Some(1)).pattern(Some(ID)).into()
}

/// The id of a project that a request may create.
///
/// See [`ProjectId::validate_new`].
pub fn new_project_id() -> RefOr<Schema> {
    let hidden = hidden_characters();
    // Spaces are allowed, and not at the ends.
    let pattern = format!("^(?!\\.{{1,2}}$)[^{hidden} ]([^{hidden}]*[^{hidden} ])?$");
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(ProjectId::MAX_LENGTH))
        .pattern(Some(pattern))
        .into()
}

/// The characters that are not printable, as the inside of a character class.
fn hidden_characters() -> String {
    // Escapes reach only the first 65,536 characters; the others stand for themselves.
    let written = |c: char| match u16::try_from(u32::from(c)) {
        Ok(unit) => format!("\\u{unit:04x}"),
        Err(_) => c.to_string(),
    };
    let range = |range: RangeInclusive<char>| match range.into_inner() {
        (only, last) if only == last => written(only),
        (first, last) => format!("{}-{}", written(first), written(last)),
    };
    text::unprintable().map(range).collect()
}

/// A time.
pub fn time() -> RefOr<Schema> {
    time_of(Type::String.into())
}

/// A time, or none.
pub(crate) fn optional_time() -> RefOr<Schema> {
    time_of(nullable_string())
}

fn time_of(kind: SchemaType) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(kind)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .pattern(Some(TIME))
        .into()
}

fn nullable_string() -> SchemaType {
    SchemaType::from_iter([Type::String, Type::Null])
}

/// The name of a model.
pub(crate) fn model_name() -> RefOr<Schema> {
    name(Some(Reviewer::MAX_NAME)).into()
}

/// The label of a key.
pub(crate) fn label() -> RefOr<Schema> {
    name(Some(CreateApiKey::MAX_LABEL)).into()
}

/// The label of the first key of a project.
pub(crate) fn first_label() -> RefOr<Schema> {
    let label = name(Some(CreateApiKey::MAX_LABEL));
    label.default(Some(Bootstrap::DEFAULT_LABEL.into())).into()
}

/// The owner of a key.
pub(crate) fn owner() -> RefOr<Schema> {
    name(None).into()
}

/// A visible text without control characters.
fn name(most: Option<usize>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(most)
        .pattern(Some(VISIBLE_WITHOUT_CONTROLS))
}

/// The names of tools.
pub(crate) fn tools() -> RefOr<Schema> {
    tools_of(Type::Array.into())
}

/// The names of tools, or none.
pub(crate) fn optional_tools() -> RefOr<Schema> {
    tools_of(SchemaType::from_iter([Type::Array, Type::Null]))
}

fn tools_of(kind: SchemaType) -> RefOr<Schema> {
    let name = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(AuthoredReflection::MAX_TOOL_NAME));
    ArrayBuilder::new()
        .schema_type(kind)
        .items(name)
        .max_items(Some(AuthoredReflection::MAX_TOOLS))
        .into()
}

/// A string that is one of these.
pub(crate) fn one_of<'a>(values: impl Iterator<Item = &'a str>) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(values))
        .into()
}

/// The status of a memory that a request may set, or none.
pub(crate) fn optional_settable_status() -> RefOr<Schema> {
    let settable = MemoryStatus::KNOWN
        .iter()
        .filter(|status| status.is_settable());
    let settable = one_of(settable.map(MemoryStatus::as_str));
    let null = ObjectBuilder::new().schema_type(Type::Null);
    OneOfBuilder::new().item(null).item(settable).into()
}

/// The status of a memory that a list may have.
pub fn listed_status() -> RefOr<Schema> {
    let listed = MemoryStatus::KNOWN
        .iter()
        .filter(|status| status.is_listed());
    one_of(listed.map(MemoryStatus::as_str))
}

/// A verdict in a request, where other words are taken too; an answer has `pass` and `fail` alone.
pub(crate) fn verdict_to_give() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "Pass or fail; `success` and `failure` are taken for the same.",
        ))
        .enum_values(Some(["pass", "fail", "success", "failure"]))
        .into()
}

/// The ids in a request, which are bounded; those in an answer may be of an older version.
pub(crate) fn retrieved_memory_ids() -> RefOr<Schema> {
    let id = ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(MemoryId::MAX_LENGTH));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(id)
        .max_items(Some(CreateTrace::MAX_RETRIEVED))
        .into()
}

/// The metadata that names a run.
pub(crate) fn metadata_to_match() -> RefOr<Schema> {
    let scalar = [Type::String, Type::Number, Type::Boolean];
    let scalar = ObjectBuilder::new().schema_type(SchemaType::from_iter(scalar));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(scalar.into()))))
        .max_properties(Some(ReviewByKey::MAX_MATCH))
        .into()
}

impl PartialSchema for Verdict {
    fn schema() -> RefOr<Schema> {
        one_of(
            [Self::Pass, Self::Fail]
                .iter()
                .map(|verdict| verdict.as_str()),
        )
    }
}

impl ToSchema for Verdict {}

impl PartialSchema for Reviewer {
    fn schema() -> RefOr<Schema> {
        let model = ObjectBuilder::new()
            .property("model", model_name())
            .required("model")
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        OneOfBuilder::new()
            .description(Some(
                "Who gives a review: a person, the program that ran the agent, or the model of a name.",
            ))
            .item(one_of(["human", "program"].into_iter()))
            .item(model)
            .into()
    }
}

impl ToSchema for Reviewer {}

impl PartialSchema for Health {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .additional_properties(Some(AdditionalProperties::RefOr(String::schema())))
            .into()
    }
}

impl ToSchema for Health {}

impl PartialSchema for Message {
    fn schema() -> RefOr<Schema> {
        // No property is typed: any object is kept as it came.
        ObjectBuilder::new()
            .description(Some(
                "One step of a run: `role`, `content`, and for tools `tool_calls`, \
                 `tool_call_id` and `name`. Any other field is kept as it came.",
            ))
            .property("role", anything())
            .property("content", anything())
            .property("tool_calls", anything())
            .property("tool_call_id", anything())
            .property("name", anything())
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl ToSchema for Message {}

impl PartialSchema for Trajectory {
    fn schema() -> RefOr<Schema> {
        let messages = ArrayBuilder::new().items(Ref::from_schema_name("Message"));
        OneOfBuilder::new()
            .description(Some(
                "The messages in order, the JSON text of such a list, or plain prose.",
            ))
            .item(messages)
            .item(String::schema())
            .into()
    }
}

impl ToSchema for Trajectory {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("Message".to_owned(), Message::schema()));
    }
}

fn anything() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(SchemaType::AnyValue)
        .into()
}
