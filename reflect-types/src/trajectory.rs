use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::message::{Message, Role};

/// All that was said and done in a run, in whichever form the agent has it.
///
/// ```
/// use reflect_types::{Message, Trajectory};
///
/// let forms: [Trajectory; 3] = [
///     vec![Message::assistant("42")].into(),
///     r#"[{"role": "assistant", "content": "42"}]"#.into(),
///     "42".into(),
/// ];
/// for form in forms {
///     assert_eq!(form.into_messages(), [Message::assistant("42")]);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Trajectory {
    /// The messages, in order.
    Messages(Vec<Message>),
    /// The JSON text of such a list, or plain prose.
    Text(String),
}

impl Trajectory {
    /// The one form that is stored: JSON text is parsed, prose becomes one assistant message.
    pub fn into_messages(self) -> Vec<Message> {
        match self {
            Self::Messages(messages) => messages,
            Self::Text(text) => {
                parse_messages(&text).unwrap_or_else(|| vec![Message::assistant(text)])
            }
        }
    }

    /// The text of the last assistant message, or `""`.
    pub fn final_response(&self) -> String {
        match self {
            Self::Messages(messages) => Message::final_response(messages),
            Self::Text(_) => Message::final_response(&self.clone().into_messages()),
        }
    }
}

impl Message {
    /// The text of the last assistant message of a run, or `""`.
    pub fn final_response(run: &[Self]) -> String {
        let last = run
            .iter()
            .rev()
            .find(|message| message.is(&Role::Assistant));
        last.map(|message| message.text().into_owned())
            .unwrap_or_default()
    }
}

impl Default for Trajectory {
    fn default() -> Self {
        Self::Messages(Vec::new())
    }
}

// By hand, because an untagged enum would answer a bad message with "did not match any variant".
impl<'de> Deserialize<'de> for Trajectory {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(text) => Ok(Self::Text(text)),
            list => serde_json::from_value(list)
                .map(Self::Messages)
                .map_err(|error| {
                    serde::de::Error::custom(format!(
                        "a trajectory must be a list of messages or a string: {error}"
                    ))
                }),
        }
    }
}

impl From<Vec<Message>> for Trajectory {
    fn from(messages: Vec<Message>) -> Self {
        Self::Messages(messages)
    }
}

impl From<&[Message]> for Trajectory {
    fn from(messages: &[Message]) -> Self {
        Self::Messages(messages.to_vec())
    }
}

impl<const N: usize> From<[Message; N]> for Trajectory {
    fn from(messages: [Message; N]) -> Self {
        Self::Messages(messages.into())
    }
}

impl From<String> for Trajectory {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Trajectory {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A list of message objects is taken as such; any other value is kept as its JSON text.
impl From<Value> for Trajectory {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            other => match serde_json::from_value(other.clone()) {
                Ok(messages) => Self::Messages(messages),
                Err(_) => Self::Text(other.to_string()),
            },
        }
    }
}

/// Reads a list of message objects, or one object that names a role; anything else is prose.
fn parse_messages(text: &str) -> Option<Vec<Message>> {
    match serde_json::from_str(text.trim()).ok()? {
        Value::Object(message) if message.get("role").is_some_and(Value::is_string) => {
            Some(vec![message.into()])
        }
        Value::Array(list) => list
            .into_iter()
            .map(|item| match item {
                Value::Object(message) => Some(message.into()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::message::{Content, ToolCall};

    #[test]
    fn json_that_is_not_a_list_of_messages_is_prose() {
        for text in ["[1, 2]", "42", r#"{"answer": 42}"#, "[not json", ""] {
            assert_eq!(
                Trajectory::from(text).into_messages(),
                [Message::assistant(text)]
            );
        }
    }

    #[test]
    fn final_response_is_the_last_assistant_text_or_empty() {
        let run = [
            Message::assistant("first"),
            Message::assistant("last"),
            Message::user("thanks"),
        ];
        assert_eq!(Trajectory::from(run).final_response(), "last");
        assert_eq!(
            Trajectory::from([Message::user("hello")]).final_response(),
            ""
        );
        assert_eq!(
            Trajectory::from([Message::assistant(Content::Null)]).final_response(),
            ""
        );
        assert_eq!(Trajectory::from("prose").final_response(), "prose");
    }

    #[test]
    fn a_trajectory_of_the_wrong_shape_is_refused_with_the_right_one() {
        let error = serde_json::from_value::<Trajectory>(json!([1]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("list of messages or a string"), "{error}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Objects that use the known keys often, with values that fit and values that do not.
    fn any_message_object() -> impl Strategy<Value = Value> {
        let key = prop_oneof![
            4 => prop::sample::select(vec!["role", "content", "tool_calls", "tool_call_id", "name"])
                .prop_map(str::to_owned),
            1 => any::<String>(),
        ];
        let call = prop_oneof![
            Just(
                json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}})
            ),
            Just(json!({"function": {"name": "f", "strict": true}})),
            Just(json!({"function": {}})),
        ];
        let value = prop_oneof![
            any_json(),
            prop::collection::vec(call, 0..3).prop_map(Value::from),
            prop::sample::select(vec!["user", "assistant", "critic"]).prop_map(Value::from),
        ];
        prop::collection::hash_map(key, value, 0..6)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let content = prop_oneof![
            any::<String>().prop_map(Content::Text),
            prop::collection::vec(any_json(), 0..3).prop_map(Content::Parts),
            Just(Content::Null),
        ];
        let call = (any::<String>(), any::<String>(), any_json())
            .prop_map(|(id, name, arguments)| ToolCall::new(id, name, arguments));
        (
            any::<String>(),
            content,
            prop::option::of(prop::collection::vec(call, 0..3)),
            prop::option::of(any::<String>()),
        )
            .prop_map(|(role, content, tool_calls, name)| Message {
                tool_calls,
                name,
                ..Message::new(Role::from(role.as_str()), content)
            })
    }

    proptest! {
        #[test]
        fn any_list_of_objects_is_read_and_written_back_as_it_came(
            list in prop::collection::vec(any_message_object(), 0..5)
        ) {
            let list = Value::from(list);
            let read: Trajectory = serde_json::from_value(list.clone()).unwrap();
            prop_assert_eq!(serde_json::to_value(&read).unwrap(), list);
        }

        #[test]
        fn any_trajectory_round_trips(messages in prop::collection::vec(any_message(), 0..5)) {
            let trajectory = Trajectory::Messages(messages);
            let text = serde_json::to_string(&trajectory).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Trajectory>(&text).unwrap(), &trajectory);
            // The same as JSON text inside a string, unless it is the empty list.
            prop_assert_eq!(Trajectory::Text(text).into_messages(), trajectory.into_messages());
        }

        #[test]
        fn any_prose_is_kept(text in any::<String>()) {
            let json = serde_json::to_string(&Trajectory::Text(text.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Trajectory>(&json).unwrap(), Trajectory::Text(text));
        }
    }
}
