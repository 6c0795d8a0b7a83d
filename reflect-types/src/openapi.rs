//! The schemas of what reads and writes itself by hand.

use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::{CreateTrace, Health, MemoryId, Message, Reviewer, Trajectory, Verdict};

/// Matches text with a visible character and no control characters.
const VISIBLE_WITHOUT_CONTROLS: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*\
     [^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// A string that is one of these.
pub(crate) fn one_of<'a>(values: impl Iterator<Item = &'a str>) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(values))
        .into()
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
        let name = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(Self::MAX_NAME))
            .pattern(Some(VISIBLE_WITHOUT_CONTROLS));
        let model = ObjectBuilder::new()
            .property("model", name)
            .required("model")
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        OneOfBuilder::new()
            .description(Some(
                "Who gives a review: a person, or the model of a name.",
            ))
            .item(one_of(["human"].into_iter()))
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
