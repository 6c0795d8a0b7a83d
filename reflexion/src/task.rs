/// A task for [`Reflexion::run`](crate::Reflexion::run): what the agent is asked to do, and,
/// where that differs, the prompt that asks it.
///
/// The evaluator, the self-reflection and stored traces see the task. Only the actor sees the
/// prompt. Text converts into a task, and so does a list of texts.
///
/// ```
/// use reflexion::Task;
///
/// let plain = Task::from("Refund order 7");
/// let listed = Task::from(["Summarize these notes.", "Note 1: …"]);
/// let augmented = Task::new("Refund order 7").prompt("Refund order 7\n\n<hints>…</hints>");
/// assert_eq!(listed.text(), "Summarize these notes.\nNote 1: …");
/// assert_eq!(augmented.text(), plain.text());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// The inputs, in order; usually one.
    pub inputs: Vec<String>,
    /// The text for the actor instead of the inputs, such as a task with retrieved memories
    /// appended.
    pub prompt: Option<String>,
}

impl Task {
    /// A task with one input.
    pub fn new(input: impl Into<String>) -> Self {
        Self {
            inputs: vec![input.into()],
            prompt: None,
        }
    }

    /// Sets the text that the actor gets instead of the inputs.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// The inputs, joined by newlines.
    pub fn text(&self) -> String {
        self.inputs.join("\n")
    }
}

impl From<String> for Task {
    fn from(input: String) -> Self {
        Self::new(input)
    }
}

impl From<&String> for Task {
    fn from(input: &String) -> Self {
        Self::new(input)
    }
}

impl From<&str> for Task {
    fn from(input: &str) -> Self {
        Self::new(input)
    }
}

impl<T: Into<String>> From<Vec<T>> for Task {
    fn from(inputs: Vec<T>) -> Self {
        inputs.into_iter().collect()
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Task {
    fn from(inputs: [T; N]) -> Self {
        inputs.into_iter().collect()
    }
}

impl<T: Into<String>> FromIterator<T> for Task {
    fn from_iter<I: IntoIterator<Item = T>>(inputs: I) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            prompt: None,
        }
    }
}
