//! Cleaning, splitting and shortening of text written by people or models.

mod clean;
mod list;
mod sentences;
mod shorten;
mod task;
mod verbatim;
mod words;

pub(super) use clean::{clean, head, tail};
pub(super) use sentences::{quote, sentence, sentences};
pub(super) use shorten::{fits, shorten};
pub(super) use task::condense;
pub(super) use verbatim::verbatim;
#[cfg(test)]
pub(super) use words::count_words;
pub(super) use words::{distinct, is_common};
