//! Runs as other libraries write them.

mod anthropic;
mod chat;
mod langchain;
pub(crate) mod parts;
mod responses;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::trajectory::Trajectory;

/// Conversions never fail: what has no counterpart is kept as it came.
impl Trajectory {
    /// The messages of OpenAI's chat completions: a list of messages, a request with `messages`, or a
    /// completion with `choices`.
    ///
    /// ```
    /// use reflect_types::Trajectory;
    /// use serde_json::json;
    ///
    /// let completion = json!({"choices": [{"message": {"role": "assistant", "content": "42"}}]});
    /// assert_eq!(Trajectory::from_openai_chat(completion).final_response(), "42");
    /// ```
    pub fn from_openai_chat(json: Value) -> Self {
        chat::convert(json)
    }

    /// The items of OpenAI's Responses: a list of items, a request with `input`, or a response with
    /// `output`. `to_input_list()` of the OpenAI Agents SDK is such a list.
    ///
    /// ```
    /// use reflect_types::Trajectory;
    /// use serde_json::json;
    ///
    /// let items = json!([
    ///     {"role": "user", "content": "What is the weather in Oslo?"},
    ///     {"type": "function_call", "call_id": "1", "name": "weather", "arguments": "{\"city\":\"Oslo\"}"},
    ///     {"type": "function_call_output", "call_id": "1", "output": "4 degrees, rain"},
    /// ]);
    /// let messages = Trajectory::from_openai_responses(items).into_messages();
    /// assert_eq!(messages[1].calls()[0].function.name, "weather");
    /// assert_eq!(messages[2].text(), "4 degrees, rain");
    /// ```
    pub fn from_openai_responses(json: Value) -> Self {
        responses::convert(json)
    }

    /// Anthropic's messages: a list of messages, a request with `system` and `messages`, or a response
    /// with `content`.
    ///
    /// ```
    /// use reflect_types::Trajectory;
    /// use serde_json::json;
    ///
    /// let messages = json!([
    ///     {"role": "user", "content": "What is the weather in Oslo?"},
    ///     {"role": "assistant", "content": [
    ///         {"type": "text", "text": "I look it up."},
    ///         {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Oslo"}},
    ///     ]},
    ///     {"role": "user", "content": [
    ///         {"type": "tool_result", "tool_use_id": "1", "content": "4 degrees, rain"},
    ///     ]},
    /// ]);
    /// let messages = Trajectory::from_anthropic(messages).into_messages();
    /// assert_eq!(messages[1].text(), "I look it up.");
    /// assert_eq!(messages[1].calls()[0].function.name, "weather");
    /// assert_eq!(messages[2].tool_call_id.as_deref(), Some("1"));
    /// ```
    pub fn from_anthropic(json: Value) -> Self {
        anthropic::convert(json)
    }

    /// The messages of LangChain, LangGraph and Deep Agents, in each of their JSON forms: `model_dump()`,
    /// `messages_to_dict()` and `dumpd()`; or a state with `messages`.
    ///
    /// ```
    /// use reflect_types::Trajectory;
    /// use serde_json::json;
    ///
    /// let state = json!({"messages": [
    ///     {"type": "human", "content": "What is 6 times 7?"},
    ///     {"type": "ai", "content": "42"},
    /// ]});
    /// assert_eq!(Trajectory::from_langchain(state).final_response(), "42");
    /// ```
    pub fn from_langchain(json: Value) -> Self {
        langchain::convert(json)
    }
}
