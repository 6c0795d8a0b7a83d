use reflect_types::neutral;

use crate::model::prose::{clean, shorten};

/// Text of a model as it may be stored: on one line, neutral, in at most `words` words.
pub(super) fn tamed(text: &str, words: usize) -> String {
    neutral::for_prompt(&shorten(&clean(text), words)).into_owned()
}
