//! Options of a run that do not concern its memories.

use std::time::Duration;

use reflect_types::Metadata;

/// Options of a run, set before it starts.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) blocking: Option<Duration>,
    pub(super) auto_fail: bool,
    pub(super) on_cancel: OnCancel,
    pub(super) reference_context: Option<String>,
    pub(super) alpha: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) metadata: Metadata,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            blocking: None,
            auto_fail: true,
            on_cancel: OnCancel::default(),
            reference_context: None,
            alpha: None,
            model: None,
            metadata: Metadata::new(),
        }
    }
}

/// How to record a run whose future is dropped before it completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnCancel {
    /// Without a verdict: a cancellation proves nothing.
    #[default]
    Record,
    /// As a failed run.
    Fail,
    /// Not at all.
    Skip,
}

/// A value of [`TraceBuilder::blocking`](super::TraceBuilder::blocking): a `bool` or a `Duration`.
#[diagnostic::on_unimplemented(
    message = "`blocking` takes `true`, `false` or a `Duration`, not `{Self}`",
    label = "expected a `bool` or a `std::time::Duration`",
    note = "for a limit in seconds, write `Duration::from_secs(5)`"
)]
pub trait BlockingLimit {
    /// The longest wait; `None` to not wait.
    fn limit(self) -> Option<Duration>;
}

impl BlockingLimit for bool {
    fn limit(self) -> Option<Duration> {
        self.then_some(Duration::from_secs(60))
    }
}

impl BlockingLimit for Duration {
    fn limit(self) -> Option<Duration> {
        Some(self)
    }
}
