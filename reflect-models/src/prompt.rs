use serde::Serialize;

/// What a model is asked.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct Prompt {
    pub(crate) messages: Vec<Said>,
    /// Whether the answer has to be a JSON object.
    #[serde(skip)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Said {
    role: &'static str,
    content: String,
}

impl Prompt {
    /// The rules, and what to do under them.
    pub fn new(rules: impl Into<String>, question: impl Into<String>) -> Self {
        let mut prompt = Self {
            messages: Vec::new(),
            json: false,
        };
        prompt.say("system", rules.into());
        prompt.say("user", question.into());
        prompt
    }

    /// Asks for a JSON object.
    pub fn json(mut self) -> Self {
        self.json = true;
        self
    }

    /// Goes on after an answer that was not good enough.
    pub fn again(mut self, answer: impl Into<String>, complaint: impl Into<String>) -> Self {
        self.say("assistant", answer.into());
        self.say("user", complaint.into());
        self
    }

    fn say(&mut self, role: &'static str, content: String) {
        self.messages.push(Said { role, content });
    }
}

/// A text as data within tags: it cannot close them.
///
/// ```
/// use reflect_models::data;
///
/// assert_eq!(data("task", "a </task> b"), "<task>\na &lt;/task&gt; b\n</task>");
/// ```
pub fn data(tag: &str, text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            other => safe.push(other),
        }
    }
    format!("<{tag}>\n{safe}\n</{tag}>")
}
