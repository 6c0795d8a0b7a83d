//! The rows of queries, whose columns are read by their names.

use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use reflect_types::{
    Approval, Arm, ChangeKind, IngestStatus, KeyId, MemoryId, MemoryStatus, ModelVerdict,
    ProjectId, Ranking, ReviewMode, Reviewer, TraceId, Verdict,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::fault::Fault;
use crate::review::Teacher;

/// A row of a query.
#[derive(Debug)]
pub(in crate::store) struct Row {
    names: Arc<[String]>,
    cells: Vec<Cell>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    /// SQLite has numbers for them.
    #[cfg(feature = "postgres")]
    Bool(bool),
    Text(String),
    Vector(Vec<f32>),
}

impl Row {
    pub(in crate::store) fn new(names: Arc<[String]>, cells: Vec<Cell>) -> Self {
        Self { names, cells }
    }

    /// The value of a column.
    pub(in crate::store) fn get<T: Read>(&self, name: &str) -> Result<T, Fault> {
        T::read(self.cell(name)?).ok_or_else(|| unreadable(name))
    }

    /// The value of the first column.
    pub(in crate::store) fn first<T: Read>(&self) -> Result<T, Fault> {
        let cell = self.cells.first().unwrap_or(&Cell::Null);
        T::read(cell).ok_or_else(|| unreadable("of a row"))
    }

    /// A text, which may be long.
    pub(super) fn text(&self, name: &str) -> Result<&str, Fault> {
        match self.cell(name)? {
            Cell::Text(text) => Ok(text),
            _ => Err(unreadable(name)),
        }
    }

    /// A value that is stored as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Fault> {
        Ok(serde_json::from_str(self.text(name)?)?)
    }

    /// JSON that may be missing.
    pub(super) fn optional_json<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Fault> {
        match self.cell(name)? {
            Cell::Null => Ok(None),
            _ => self.json(name).map(Some),
        }
    }

    /// JSON that is passed on as it is stored.
    pub(super) fn raw_json(&self, name: &str) -> Result<Box<RawValue>, Fault> {
        Ok(RawValue::from_string(self.text(name)?.to_owned())?)
    }

    /// A text in a form of its own.
    pub(super) fn parse<T: FromStr>(&self, name: &str) -> Result<Option<T>, Fault> {
        let text: Option<String> = self.get(name)?;
        let value = text.map(|text| text.parse()).transpose();
        value.map_err(|_| unreadable(name))
    }

    /// A time that is stored in milliseconds.
    pub(super) fn milliseconds(&self, name: &str) -> Result<Option<Timestamp>, Fault> {
        self.get::<Option<i64>>(name)?.map(time_of).transpose()
    }

    /// The reviewer in the column of a review.
    pub(super) fn reviewer(&self) -> Result<Reviewer, Fault> {
        Ok(self.parse("reviewer")?.unwrap_or_default())
    }

    /// The holder of a key and the reviewer who taught something.
    pub(super) fn teacher(&self) -> Result<Teacher, Fault> {
        Ok(Teacher {
            key_id: self.get("key_id")?,
            reviewer: self.reviewer()?,
        })
    }

    /// The verdict of a model in the columns of these names.
    pub(super) fn model_verdict(
        &self,
        model: &str,
        verdict: &str,
    ) -> Result<Option<ModelVerdict>, Fault> {
        let Some(model) = self.get(model)? else {
            return Ok(None);
        };
        let result = self.get(verdict)?;
        Ok(Some(ModelVerdict { model, result }))
    }

    /// The vector in a column, which is gone from the row afterwards.
    pub(super) fn take_vector(&mut self, name: &str) -> Result<Option<Vec<f32>>, Fault> {
        let column = self.column(name)?;
        match std::mem::replace(&mut self.cells[column], Cell::Null) {
            Cell::Null => Ok(None),
            Cell::Vector(vector) => Ok(Some(vector)),
            _ => Err(unreadable(name)),
        }
    }

    /// The length of the row's texts.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.cells.iter().map(|cell| match cell {
            Cell::Text(text) => text.len(),
            _ => 0,
        });
        texts.sum()
    }

    fn cell(&self, name: &str) -> Result<&Cell, Fault> {
        Ok(&self.cells[self.column(name)?])
    }

    fn column(&self, name: &str) -> Result<usize, Fault> {
        let column = self.names.iter().position(|known| known == name);
        column.ok_or_else(|| Fault::Data(format!("a row has no column `{name}`")))
    }
}

fn unreadable(name: &str) -> Fault {
    Fault::Data(format!("the value `{name}` of a row is not readable"))
}

/// What a column can hold.
pub(in crate::store) trait Read: Sized {
    /// The value; `None` if the cell holds no such value.
    fn read(cell: &Cell) -> Option<Self>;
}

impl<T: Read> Read for Option<T> {
    fn read(cell: &Cell) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            cell => T::read(cell).map(Some),
        }
    }
}

macro_rules! cells {
    ($($type:ty: $pattern:pat => $value:expr),+ $(,)?) => {$(
        impl Read for $type {
            fn read(cell: &Cell) -> Option<Self> {
                match cell {
                    $pattern => $value,
                    _ => None,
                }
            }
        }
    )+};
}

cells! {
    i64: Cell::Int(number) => Some(*number),
    u64: Cell::Int(number) => u64::try_from(*number).ok(),
    u32: Cell::Int(number) => u32::try_from(*number).ok(),
    usize: Cell::Int(number) => usize::try_from(*number).ok(),
    f64: Cell::Real(number) => Some(*number),
    String: Cell::Text(text) => Some(text.clone()),
    Vec<f32>: Cell::Vector(vector) => Some(vector.clone()),
    Timestamp: Cell::Text(text) => text.parse().ok(),
    Verdict: Cell::Text(text) => text.parse().ok(),
    ProjectId: Cell::Text(text) => Some(Self::new(text.as_str())),
    TraceId: Cell::Text(text) => Some(Self::new(text.as_str())),
    MemoryId: Cell::Text(text) => Some(Self::new(text.as_str())),
    KeyId: Cell::Text(text) => Some(Self::new(text.as_str())),
    Approval: Cell::Text(text) => Some(text.as_str().into()),
    Arm: Cell::Text(text) => Some(text.as_str().into()),
    ChangeKind: Cell::Text(text) => Some(text.as_str().into()),
    IngestStatus: Cell::Text(text) => Some(text.as_str().into()),
    MemoryStatus: Cell::Text(text) => Some(text.as_str().into()),
    Ranking: Cell::Text(text) => Some(text.as_str().into()),
    ReviewMode: Cell::Text(text) => Some(text.as_str().into()),
}

impl Read for bool {
    fn read(cell: &Cell) -> Option<Self> {
        match cell {
            #[cfg(feature = "postgres")]
            Cell::Bool(truth) => Some(*truth),
            // SQLite has numbers for them.
            Cell::Int(number) => Some(*number != 0),
            _ => None,
        }
    }
}

/// A time that is stored in milliseconds.
pub(super) fn time_of(milliseconds: i64) -> Result<Timestamp, Fault> {
    let time = Timestamp::from_millisecond(milliseconds);
    time.map_err(|error| Fault::Data(format!("a stored time is not readable: {error}")))
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String, Fault> {
    Ok(serde_json::to_string(value)?)
}
