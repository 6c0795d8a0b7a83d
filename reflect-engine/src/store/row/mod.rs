//! Rows as records, for every store that has rows.

mod memories;
mod reviews;
mod traces;

use std::borrow::Cow;
use std::fmt::Display;

use jiff::Timestamp;
use reflect_types::{KeyId, MemoryId, ModelVerdict, Reviewer, Verdict};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(in crate::store) use memories::*;
pub(in crate::store) use reviews::*;
pub(in crate::store) use traces::*;

use crate::review::Teacher;
use crate::sketch::{NotASketch, Sketch};

/// A row of a query. Columns are counted from 0.
pub(in crate::store) trait Row {
    /// The error of the store.
    type Fault: From<Unreadable> + From<serde_json::Error>;

    fn text(&self, column: usize) -> Result<Cow<'_, str>, Self::Fault>;
    fn optional_text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Self::Fault>;
    fn integer(&self, column: usize) -> Result<i64, Self::Fault>;
    fn optional_integer(&self, column: usize) -> Result<Option<i64>, Self::Fault>;
    fn real(&self, column: usize) -> Result<f64, Self::Fault>;
    fn optional_real(&self, column: usize) -> Result<Option<f64>, Self::Fault>;
    fn flag(&self, column: usize) -> Result<bool, Self::Fault>;
}

/// A stored value that cannot be read.
#[derive(Debug)]
pub(in crate::store) struct Unreadable(pub(in crate::store) String);

impl Unreadable {
    fn because(problem: impl Display) -> Self {
        Self(problem.to_string())
    }
}

/// The number of columns in a list of them, in which every comma separates two.
pub(in crate::store) const fn columns(list: &str) -> usize {
    let (bytes, mut at, mut count) = (list.as_bytes(), 0, 1);
    while at < bytes.len() {
        if bytes[at] == b',' {
            count += 1;
        }
        at += 1;
    }
    count
}

/// The sketch of a text; `None` where nothing is said.
pub(in crate::store) fn sketch<R: Row, const SLOTS: usize>(
    row: &R,
    column: usize,
) -> Result<Option<Sketch<SLOTS>>, R::Fault> {
    let text = row.optional_text(column)?;
    let sketch = text.as_deref().map(str::parse).transpose();
    Ok(sketch.map_err(|error: NotASketch| Unreadable::because(error))?)
}

/// A text of a user.
pub(in crate::store) fn owned<R: Row>(row: &R, column: usize) -> Result<String, R::Fault> {
    Ok(row.text(column)?.into_owned())
}

/// A text of a user that may be missing.
pub(in crate::store) fn optional<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<String>, R::Fault> {
    Ok(row.optional_text(column)?.map(Cow::into_owned))
}

/// One of the names of an enumeration.
pub(in crate::store) fn name<R: Row, T>(row: &R, column: usize) -> Result<T, R::Fault>
where
    T: for<'a> From<&'a str>,
{
    Ok(T::from(&row.text(column)?))
}

/// One of the names of an enumeration, which may be missing.
pub(in crate::store) fn optional_name<R: Row, T>(
    row: &R,
    column: usize,
) -> Result<Option<T>, R::Fault>
where
    T: for<'a> From<&'a str>,
{
    Ok(row.optional_text(column)?.as_deref().map(T::from))
}

pub(in crate::store) fn verdict<R: Row>(row: &R, column: usize) -> Result<Verdict, R::Fault> {
    Ok(row.text(column)?.parse().map_err(Unreadable::because)?)
}

/// A verdict that may be missing.
pub(in crate::store) fn optional_verdict<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<Verdict>, R::Fault> {
    let text = row.optional_text(column)?;
    let verdict = text.as_deref().map(str::parse).transpose();
    Ok(verdict.map_err(Unreadable::because)?)
}

pub(in crate::store) fn key_id<R: Row>(row: &R, column: usize) -> Result<Option<KeyId>, R::Fault> {
    Ok(optional(row, column)?.map(KeyId::new))
}

pub(in crate::store) fn memory_id<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<MemoryId>, R::Fault> {
    Ok(optional(row, column)?.map(MemoryId::new))
}

/// The reviewer in the column of a review's model.
pub(in crate::store) fn reviewer<R: Row>(row: &R, column: usize) -> Result<Reviewer, R::Fault> {
    let model = optional(row, column)?;
    Ok(model.map_or(Reviewer::Human, Reviewer::Model))
}

/// The key in this column and the reviewer in the next.
pub(in crate::store) fn teacher<R: Row>(row: &R, column: usize) -> Result<Teacher, R::Fault> {
    Ok(Teacher {
        key_id: key_id(row, column)?,
        reviewer: reviewer(row, column + 1)?,
    })
}

/// The verdict of a model in this column and the next.
pub(in crate::store) fn model_verdict<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<ModelVerdict>, R::Fault> {
    let Some(model) = optional(row, column)? else {
        return Ok(None);
    };
    let result = verdict(row, column + 1)?;
    Ok(Some(ModelVerdict { model, result }))
}

pub(in crate::store) fn time<R: Row>(row: &R, column: usize) -> Result<Timestamp, R::Fault> {
    Ok(row.text(column)?.parse().map_err(Unreadable::because)?)
}

/// A time that may be missing.
pub(in crate::store) fn optional_time<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<Timestamp>, R::Fault> {
    let text = row.optional_text(column)?;
    let time = text.as_deref().map(str::parse).transpose();
    Ok(time.map_err(Unreadable::because)?)
}

/// A time in milliseconds that may be missing.
pub(in crate::store) fn optional_milliseconds<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<Timestamp>, R::Fault> {
    let time = row.optional_integer(column)?.map(milliseconds);
    Ok(time.transpose()?)
}

/// A time that is stored in milliseconds.
pub(in crate::store) fn milliseconds(time: i64) -> Result<Timestamp, Unreadable> {
    Timestamp::from_millisecond(time).map_err(Unreadable::because)
}

pub(in crate::store) fn count<R: Row>(row: &R, column: usize) -> Result<u64, R::Fault> {
    Ok(counted(row.integer(column)?)?)
}

/// A count that may be missing.
pub(in crate::store) fn optional_count<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<u64>, R::Fault> {
    Ok(row.optional_integer(column)?.map(counted).transpose()?)
}

fn counted(number: i64) -> Result<u64, Unreadable> {
    u64::try_from(number).map_err(|_| Unreadable(format!("a count is negative: {number}")))
}

/// A count as it is stored.
pub(in crate::store) fn stored_count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(in crate::store) fn limit(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(in crate::store) fn json<R: Row, T: DeserializeOwned>(
    row: &R,
    column: usize,
) -> Result<T, R::Fault> {
    Ok(serde_json::from_str(&row.text(column)?)?)
}

/// JSON that may be missing.
pub(in crate::store) fn optional_json<R: Row, T: DeserializeOwned>(
    row: &R,
    column: usize,
) -> Result<Option<T>, R::Fault> {
    let text = row.optional_text(column)?;
    Ok(text.as_deref().map(serde_json::from_str).transpose()?)
}

pub(in crate::store) fn to_json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value)
}
