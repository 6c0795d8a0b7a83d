//! The text of a run, as the items of its stream make it.

use std::fmt::Display;

use reflect_types::CreateTrace;

use super::output::{TraceRecord, TraceReturn};

/// The text of an item, or the record of its error.
type Read<'a> = Result<&'a str, Box<TraceRecord>>;

/// An item of a stream that is a text, or `Ok` of a text. `Shape` says which, and is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a text, so a stream of it does not say what the answer is",
    label = "not a text, nor a `Result` of a text and an error that implements `Display`",
    note = "say what an item adds to the text: `#[reflect_trace(fold = |text, item| text.push_str(&item.delta))]`",
    note = "of a guard, use `record_stream(stream, |text, item| …)` or `record_try_stream(stream, |text, item| …)`"
)]
pub trait StreamText<Shape> {
    /// The text, or the record of the error.
    fn read(&self) -> Read<'_>;
}

/// The shape of an item that is a text.
#[derive(Debug)]
pub enum Plain {}

/// The shape of an item that is a `Result` of a text.
#[derive(Debug)]
pub enum Fallible {}

#[diagnostic::do_not_recommend]
impl<T: AsRef<str>> StreamText<Plain> for T {
    fn read(&self) -> Read<'_> {
        Ok(self.as_ref())
    }
}

#[diagnostic::do_not_recommend]
impl<T: AsRef<str>, E: Display> StreamText<Fallible> for Result<T, E> {
    fn read(&self) -> Read<'_> {
        self.as_ref().map(T::as_ref).map_err(record_of)
    }
}

fn record_of<E: Display>(error: &E) -> Box<TraceRecord> {
    Box::new(Err::<String, _>(error).record())
}

/// Adds the items of a stream to the text of its run.
pub trait Fold<I> {
    /// Adds an item, or returns the record of its error.
    fn add(&mut self, text: &mut String, item: &I) -> Result<(), Box<TraceRecord>>;
}

/// Joins items that are texts.
#[derive(Debug)]
pub struct Joined<I>(fn(&I) -> Read<'_>);

/// Joins items that are texts.
pub fn joined<I: StreamText<Shape>, Shape>() -> Joined<I> {
    Joined(I::read)
}

impl<I> Fold<I> for Joined<I> {
    fn add(&mut self, text: &mut String, item: &I) -> Result<(), Box<TraceRecord>> {
        (self.0)(item).map(|part| push(text, part))
    }
}

/// Adds each item as a closure says.
#[derive(Debug)]
pub struct Each<F>(pub(super) F);

impl<I, F: FnMut(&mut String, &I)> Fold<I> for Each<F> {
    fn add(&mut self, text: &mut String, item: &I) -> Result<(), Box<TraceRecord>> {
        (self.0)(text, item);
        cut(text);
        Ok(())
    }
}

/// Adds the `Ok` of each item as a closure says.
#[derive(Debug)]
pub struct EachOk<F, E> {
    fold: Each<F>,
    record_of: fn(&E) -> Box<TraceRecord>,
}

impl<F, E: Display> EachOk<F, E> {
    pub(super) fn new(fold: F) -> Self {
        let fold = Each(fold);
        Self { fold, record_of }
    }
}

impl<T, E, F: FnMut(&mut String, &T)> Fold<Result<T, E>> for EachOk<F, E> {
    fn add(&mut self, text: &mut String, item: &Result<T, E>) -> Result<(), Box<TraceRecord>> {
        let value = item.as_ref().map_err(self.record_of)?;
        self.fold.add(text, value)
    }
}

/// The most bytes of a text that is not cut.
const MAX: usize = CreateTrace::MAX_STREAMED_TEXT;

/// Appends a part, and cuts the text at its limit.
fn push(text: &mut String, part: &str) {
    // One character more than fits, so that the cut is seen.
    text.push_str(&part[..boundary(part, MAX + 4)]);
    cut(text);
}

/// Cuts a text that is longer than its limit, with `…` as the mark. A text that is cut stays as it is.
fn cut(text: &mut String) {
    if is_cut(text) {
        text.truncate(boundary(text, MAX));
        text.push('…');
        text.shrink_to(2 * MAX);
    }
}

/// Whether the text is longer than its limit, as one that was cut is by its mark.
pub(super) fn is_cut(text: &str) -> bool {
    boundary(text, MAX) < text.len()
}

/// The end of the character at this byte, or of the text.
fn boundary(text: &str, at: usize) -> usize {
    let mut later = at..text.len();
    later
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_once_at_its_limit() {
        for character in ["a", "ä", "…", "😀"] {
            let mut text = String::new();
            let part = character.repeat(1000);
            while text.len() + part.len() <= MAX {
                push(&mut text, &part);
                assert!(!is_cut(&text));
            }
            let whole = text.clone();
            push(&mut text, &character.repeat(MAX));
            let first = text.clone();
            assert!(first.starts_with(&whole) && first.ends_with('…') && is_cut(&first));
            assert!(first.len() <= MAX + 6, "{}", first.len());
            for more in ["", "b", &part] {
                push(&mut text, more);
                assert_eq!(text, first);
            }
        }
    }

    #[test]
    fn a_fold_may_replace_a_text_that_was_cut_and_holds_no_more_memory() {
        let mut text = String::new();
        let mut fold = Each(|text: &mut String, item: &&str| text.push_str(&item.repeat(8 * MAX)));
        fold.add(&mut text, &"x").unwrap();
        assert!(is_cut(&text) && text.capacity() <= 2 * MAX);
        let mut replace = Each(|text: &mut String, item: &&str| (*item).clone_into(text));
        replace.add(&mut text, &"done").unwrap();
        assert_eq!(text, "done");
    }

    #[test]
    fn texts_of_all_kinds_are_joined() {
        fn join<I: StreamText<Shape>, Shape>(items: &[I]) -> String {
            let mut text = String::new();
            let mut fold = joined();
            for item in items {
                let _ = fold.add(&mut text, item);
            }
            text
        }
        assert_eq!(join(&["a", "b"]), "ab");
        assert_eq!(join(&[Box::<str>::from("a")]), "a");
        assert_eq!(
            join(&[Ok("a".to_owned()), Err(7), Ok("b".to_owned())]),
            "ab"
        );
    }

    #[test]
    fn an_error_is_recorded_as_that_of_a_function() {
        let item = Err::<String, _>("no rule");
        let record = joined().add(&mut String::new(), &item).unwrap_err();
        assert_eq!(*record, TraceRecord::Error("no rule".into()));
        let mut fold = EachOk::new(|_: &mut String, _: &String| {});
        assert!(fold.add(&mut String::new(), &item).is_err());
    }
}
