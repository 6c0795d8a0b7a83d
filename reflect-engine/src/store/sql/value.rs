//! The parameters of statements.

use std::borrow::Cow;

use jiff::Timestamp;
use reflect_types::{
    Approval, Arm, ChangeKind, IngestStatus, KeyId, MemoryId, MemoryStatus, ProjectId, Ranking,
    ReviewMode, Reviewer, TraceId, Verdict,
};

use crate::clock;

/// A parameter of a statement.
#[derive(Clone, Debug)]
pub(in crate::store) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Int(i64),
    Real(f64),
    Bool(bool),
    Vector(&'a [f32]),
    /// A list, which `= ANY` and `unnest` read.
    Ints(&'a [i64]),
    Texts(Vec<&'a str>),
}

/// The parameters of a statement, as [`Value`]s.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$($crate::store::sql::value::ToValue::to_value(&$value)),*]
    };
}

pub(in crate::store) use params;

/// What can be a parameter: references, whose value lives as long as what it is of.
pub(in crate::store) trait ToValue<'v> {
    fn to_value(self) -> Value<'v>;
}

macro_rules! copied {
    ($($type:ty: $this:ident => $value:expr),+ $(,)?) => {$(
        impl<'v> ToValue<'v> for &$type {
            fn to_value(self) -> Value<'v> {
                let $this = *self;
                $value
            }
        }
    )+};
}

copied! {
    i64: number => Value::Int(number),
    u32: number => Value::Int(number.into()),
    // Counts and limits. None is so large.
    u64: number => Value::Int(i64::try_from(number).unwrap_or(i64::MAX)),
    usize: number => Value::Int(i64::try_from(number).unwrap_or(i64::MAX)),
    f64: number => Value::Real(number),
    bool: truth => Value::Bool(truth),
    // As text, which is how all times but those of jobs are stored.
    Timestamp: time => Value::Text(clock::text(time).into()),
    Verdict: verdict => Value::Text(verdict.as_str().to_owned().into()),
}

macro_rules! borrowed {
    ($($type:ty: $this:ident => $value:expr),+ $(,)?) => {$(
        impl<'v> ToValue<'v> for &'v $type {
            fn to_value(self) -> Value<'v> {
                let $this = self;
                $value
            }
        }
    )+};
}

borrowed! {
    str: text => Value::Text(text.into()),
    String: text => Value::Text(text.as_str().into()),
    [f32]: vector => Value::Vector(vector),
    [i64]: numbers => Value::Ints(numbers),
    Vec<i64>: numbers => Value::Ints(numbers),
    ProjectId: id => Value::Text(id.as_str().into()),
    TraceId: id => Value::Text(id.as_str().into()),
    MemoryId: id => Value::Text(id.as_str().into()),
    KeyId: id => Value::Text(id.as_str().into()),
    Approval: name => Value::Text(name.as_str().into()),
    Arm: name => Value::Text(name.as_str().into()),
    ChangeKind: name => Value::Text(name.as_str().into()),
    IngestStatus: name => Value::Text(name.as_str().into()),
    MemoryStatus: name => Value::Text(name.as_str().into()),
    Ranking: name => Value::Text(name.as_str().into()),
    ReviewMode: name => Value::Text(name.as_str().into()),
}

/// A person, which most reviewers are, is `NULL`.
impl<'v> ToValue<'v> for &Reviewer {
    fn to_value(self) -> Value<'v> {
        match self {
            Reviewer::Human => Value::Null,
            other => Value::Text(other.to_string().into()),
        }
    }
}

impl<'v> ToValue<'v> for &Vec<&'v str> {
    fn to_value(self) -> Value<'v> {
        Value::Texts(self.clone())
    }
}

impl<'t, 'v, T> ToValue<'v> for &'t Option<T>
where
    &'t T: ToValue<'v>,
{
    fn to_value(self) -> Value<'v> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<'v, T: ?Sized> ToValue<'v> for &&'v T
where
    &'v T: ToValue<'v>,
{
    fn to_value(self) -> Value<'v> {
        (*self).to_value()
    }
}

/// Rows that one statement reads as the table `{rows}`: many writes in one round trip.
#[derive(Debug)]
pub(in crate::store) struct Rows<'a> {
    /// The names and types of columns.
    columns: Vec<(&'static str, &'static str)>,
    rows: Vec<Vec<Value<'a>>>,
}

impl<'a> Rows<'a> {
    /// No rows yet, with these columns: a name and a type for each, as in `key bigint, q float8`.
    pub(in crate::store) fn new(columns: &'static str) -> Self {
        let columns = columns.split(", ");
        Self {
            columns: columns
                .filter_map(|column| column.split_once(' '))
                .collect(),
            rows: Vec::new(),
        }
    }

    pub(in crate::store) fn push<const N: usize>(&mut self, row: [Value<'a>; N]) {
        debug_assert_eq!(N, self.columns.len(), "a value for each column");
        self.rows.push(row.into());
    }

    pub(in crate::store) fn columns(&self) -> &[(&'static str, &'static str)] {
        &self.columns
    }

    /// The columns, each written in some way, separated by commas.
    pub(in crate::store) fn names(&self, write: impl Fn(&str) -> String) -> String {
        let names = self.columns.iter().map(|(name, _)| write(name));
        names.collect::<Vec<_>>().join(", ")
    }

    pub(in crate::store) fn rows(&self) -> &[Vec<Value<'a>>] {
        &self.rows
    }

    pub(in crate::store) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
