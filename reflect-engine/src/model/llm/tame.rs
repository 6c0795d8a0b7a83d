use crate::model::prose::{clean, shorten, without_tags};

/// Text of a model as it may be stored: on one line, without control characters and tags, in at most
/// `words` words.
pub(super) fn tamed(text: &str, words: usize) -> String {
    without_tags(&shorten(&clean(text), words))
}
