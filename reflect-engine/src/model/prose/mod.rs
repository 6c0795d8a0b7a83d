//! Cleaning, splitting and shortening of text written by people or models.

mod clean;
mod list;
mod sentences;
mod shorten;
mod tags;
mod task;
mod words;

pub(super) use clean::{blocks, clean, head, tail};
pub(super) use sentences::{quote, sentence, sentences};
pub(super) use shorten::{fits, shorten};
pub(super) use tags::without_tags;
pub(super) use task::{condense, conditions, restricts};
pub(super) use words::{count_words, has_word, is_common};
