use serde_json::Value;

use super::parts::{each, list};
use crate::message::Message;
use crate::trajectory::Trajectory;

pub(super) fn convert(json: Value) -> Trajectory {
    match list(json, &["messages", "choices"]) {
        Ok(messages) => Trajectory::Messages(each(messages, |mut fields| {
            // A choice has its message inside.
            match fields.remove("message") {
                Some(Value::Object(message)) if !fields.contains_key("role") => {
                    vec![message.into()]
                }
                Some(message) => {
                    fields.insert("message".to_owned(), message);
                    vec![fields.into()]
                }
                None => vec![Message::from(fields)],
            }
        })),
        Err(Value::Object(message)) => Trajectory::Messages(vec![message.into()]),
        Err(other) => Trajectory::from(other),
    }
}
