//! The error or the panic that ended a run.

use std::any::type_name;
use std::error::Error as StdError;
use std::fmt::{Display, Write as _};
#[cfg(feature = "macros")]
use std::ops::Deref;

use reflect_types::{Interruption, Verdict, neutral};

use super::output::TraceOutput;
use super::panics::Panic;
use super::transient::{is_transient, says_so};

/// An error that ended a run: its text, those of its causes, and its type.
///
/// It fails the run, unless it [is transient](crate::is_transient).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    message: String,
    /// Its type, where the name says something.
    kind: Option<&'static str>,
    /// `src/agent.rs:7:9`, of a panic.
    location: Option<String>,
    /// Whether the run failed, and was not merely ended.
    fails: bool,
}

impl Failure {
    /// The error with its causes as far as its text names them, as that of an `anyhow::Error` does.
    pub fn of<E: Display + ?Sized>(error: &E) -> Self {
        let message = format!("{error:#}");
        Self {
            fails: !says_so(&message),
            kind: name_of::<E>(),
            location: None,
            message,
        }
    }

    /// The error with its causes.
    pub fn of_error<E: StdError + ?Sized>(error: &E) -> Self {
        let mut message = error.to_string();
        let mut is_passing = says_so(&message) || error.source().is_some_and(is_transient);
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors repeat their cause.
            if !message.contains(&text) {
                // Writing to a `String` cannot fail.
                let _ = write!(message, ": {text}");
            }
            source = cause.source();
        }
        is_passing |= says_so(&message);
        Self {
            fails: !is_passing,
            kind: name_of::<E>(),
            location: None,
            message,
        }
    }

    /// Sets whether the error fails the run.
    #[must_use]
    pub fn fails(mut self, fails: bool) -> Self {
        self.fails = fails;
        self
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The output of a run that ended like this, with what it had as an output.
    pub(super) fn output(self, mut output: TraceOutput, auto_fail: bool) -> TraceOutput {
        /// Longer texts are shortened, because the memory of a later review inherits them.
        const MAX_NOTED: usize = 2_000;

        let mut note = |key: &str, value: &str| {
            output.metadata.insert(key.to_owned(), value.into());
        };
        if let Some(kind) = self.kind {
            note("error_type", kind);
        }
        if let Some(location) = &self.location {
            note("panicked_at", location);
        }
        let is_judged = output.verdict == Some(Verdict::Fail)
            && output
                .feedback
                .as_ref()
                .is_some_and(|text| !text.is_empty());
        let fails = auto_fail && self.fails;
        if is_judged || !fails {
            note("error", &neutral::excerpt(&self.message, MAX_NOTED));
        }
        if is_judged {
            return output;
        }
        // Another verdict did not know of the error.
        Interruption::Error.note_in(&mut output.metadata);
        output.verdict = fails.then_some(Verdict::Fail);
        output.feedback = Some(self.message);
        output.reviewer = None;
        output.reflection = None;
        output
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::of(&text)
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self::of(text)
    }
}

/// A panic fails the run, also with the words of a transient error.
impl From<Panic> for Failure {
    fn from(panic: Panic) -> Self {
        Self {
            message: panic.message,
            kind: None,
            location: panic.location,
            fails: true,
        }
    }
}

/// The end of a run as its guard knows it so far.
#[derive(Debug, Default)]
pub(super) struct Conclusion {
    pub(super) output: Option<TraceOutput>,
    pub(super) error: Option<Failure>,
}

/// The name of a type of errors, but for texts and boxes.
fn name_of<E: ?Sized>() -> Option<&'static str> {
    let name = type_name::<E>();
    let mut texts_and_boxes = ["&", "alloc::", "dyn "].iter();
    let says_nothing = name == "str" || texts_and_boxes.any(|start| name.starts_with(start));
    (!says_nothing).then_some(name)
}

/// Finds what a value says about the error that it may be; `None` leaves it to the value's record.
pub type Inspect<R> = fn(&R) -> Option<Failure>;

/// A value whose error is asked for its causes, if it has any.
///
/// Method resolution takes `failure` of this type for a `Result` whose error implements `Error`, that of
/// [`ByReport`] for one whose error dereferences to such an error, and else that of [`ByRecord`].
#[cfg(feature = "macros")]
#[derive(Debug)]
pub struct ByError<'a, R>(ByReport<'a, R>);

/// See [`ByError`].
#[cfg(feature = "macros")]
#[derive(Debug)]
pub struct ByReport<'a, R>(ByRecord<'a, R>);

/// See [`ByError`].
#[cfg(feature = "macros")]
#[derive(Debug)]
pub struct ByRecord<'a, R>(&'a R);

/// Wraps the value to call `failure` on it.
#[cfg(feature = "macros")]
pub fn inspect<R>(value: &R) -> ByError<'_, R> {
    ByError(ByReport(ByRecord(value)))
}

#[cfg(feature = "macros")]
impl<T, E: StdError> ByError<'_, Result<T, E>> {
    /// The error, if it is one.
    pub fn failure(&self) -> Option<Failure> {
        let value = self.0.0.0.as_ref();
        value.err().map(Failure::of_error)
    }
}

#[cfg(feature = "macros")]
impl<T, E: Deref<Target: StdError>> ByReport<'_, Result<T, E>> {
    /// The error, if it is one.
    pub fn failure(&self) -> Option<Failure> {
        let error = self.0.0.as_ref().err()?;
        Some(Failure {
            kind: name_of::<E>(),
            ..Failure::of_error(&**error)
        })
    }
}

#[cfg(feature = "macros")]
impl<R> ByRecord<'_, R> {
    /// Nothing but what its record says.
    pub fn failure(&self) -> Option<Failure> {
        None
    }
}

#[cfg(feature = "macros")]
impl<'a, R> Deref for ByError<'a, R> {
    type Target = ByReport<'a, R>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

#[cfg(feature = "macros")]
impl<'a, R> Deref for ByReport<'a, R> {
    type Target = ByRecord<'a, R>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// The error of a run, with what the rule says of it.
#[cfg(feature = "macros")]
pub fn ruled<T, E: Display>(
    known: Option<Failure>,
    value: &Result<T, E>,
    rule: impl FnOnce(&E) -> bool,
) -> Option<Failure> {
    let error = value.as_ref().err()?;
    let failure = known.unwrap_or_else(|| Failure::of(error));
    Some(failure.fails(rule(error)))
}
