//! User code inside an option of a run: an `Into`, a `Display`, a `Serialize`, an expression. A panic
//! there leaves the option unset, and the run continues.

use super::panic_hook::survive;
use crate::core::{Cause, Core};

/// The value of an option; `None` if it panicked.
pub(super) fn value_of<T>(
    core: &Core,
    option: &'static str,
    value: impl FnOnce() -> T,
) -> Option<T> {
    let value = survive(value);
    value
        .map_err(|message| report(core, &PanickedOption { option, message }))
        .ok()
}

/// An option whose value panicked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PanickedOption {
    pub(super) option: &'static str,
    pub(super) message: String,
}

/// The options of an output whose values panicked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PanickedOptions(pub(super) Vec<PanickedOption>);

/// Counts and logs it.
pub(super) fn report(core: &Core, panicked: &PanickedOption) {
    let PanickedOption { option, message } = panicked;
    core.counters.options_panicked.add_one();
    core.notices.warn(
        Cause::Option,
        format_args!("`{option}` of a run is left out, because it panicked: {message}"),
    );
}
