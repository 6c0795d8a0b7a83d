use reflect_types::{markup, neutral};
use serde::Serialize;
use serde_json::Value;

/// The messages of a chat request.
#[derive(Clone, Debug)]
#[must_use]
pub struct Prompt {
    messages: Vec<ChatMessage>,
    json: bool,
    schema: Option<Value>,
}

/// A message of a [`Prompt`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`.
    pub role: &'static str,
    /// The text.
    pub content: String,
}

impl Prompt {
    /// A system message with the rules and a user message with the question.
    pub fn new(rules: impl Into<String>, question: impl Into<String>) -> Self {
        let mut prompt = Self {
            messages: Vec::new(),
            json: false,
            schema: None,
        };
        prompt.push("system", rules.into());
        prompt.push("user", question.into());
        prompt
    }

    /// Requests a JSON object.
    pub fn json(mut self) -> Self {
        self.json = true;
        self
    }

    /// Requests a JSON object of this schema, from servers that accept one. OpenAI requires every
    /// property in `required` and `additionalProperties: false`.
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self.json()
    }

    /// Appends an answer that was not usable and the complaint about it.
    pub fn again(mut self, answer: impl Into<String>, complaint: impl Into<String>) -> Self {
        self.push("assistant", answer.into());
        self.push("user", complaint.into());
        self
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Whether the answer has to be a JSON object.
    pub fn is_json(&self) -> bool {
        self.json
    }

    #[cfg(feature = "client")]
    pub(crate) fn wanted_schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    fn push(&mut self, role: &'static str, content: String) {
        self.messages.push(ChatMessage { role, content });
    }
}

/// The text between tags, escaped so that it cannot close them, and without hidden characters.
///
/// ```
/// use reflect_models::data;
///
/// assert_eq!(data("task", "a </task> b"), "<task>\na &lt;/task&gt; b\n</task>");
/// ```
pub fn data(tag: &str, text: &str) -> String {
    let text = markup::escape(&neutral::for_terminal(text));
    format!("<{tag}>\n{text}\n</{tag}>")
}
