//! The parameters of statements, and the texts that PostgreSQL cannot hold as they are.

use std::borrow::Cow;
use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A parameter of a statement.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Int(i64),
    Real(f64),
    Bool(bool),
    Vector(pgvector::Vector),
    Ints(&'a [i64]),
    Texts(Vec<Cow<'a, str>>),
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Int(number) => number.to_sql(ty, out),
            Self::Real(number) => number.to_sql(ty, out),
            Self::Bool(truth) => truth.to_sql(ty, out),
            Self::Vector(vector) => vector.to_sql(ty, out),
            Self::Ints(numbers) => numbers.to_sql(ty, out),
            Self::Texts(texts) => texts.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The parameters of a statement, as [`Value`]s.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::store::postgres::value::ToValue::to_value(&$value)),*]
    };
}

pub(super) use params;

/// What can be a parameter.
pub(super) trait ToValue {
    fn to_value(&self) -> Value<'_>;
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(stored(self))
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        self.as_str().to_value()
    }
}

impl ToValue for i64 {
    fn to_value(&self) -> Value<'_> {
        Value::Int(*self)
    }
}

impl ToValue for u32 {
    fn to_value(&self) -> Value<'_> {
        Value::Int((*self).into())
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl ToValue for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl ToValue for [f32] {
    fn to_value(&self) -> Value<'_> {
        Value::Vector(pgvector::Vector::from(self.to_vec()))
    }
}

impl ToValue for [i64] {
    fn to_value(&self) -> Value<'_> {
        Value::Ints(self)
    }
}

impl ToValue for [String] {
    fn to_value(&self) -> Value<'_> {
        Value::Texts(self.iter().map(|text| stored(text)).collect())
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

/// Begins the two characters that stand for NUL or for itself. Unicode assigns it to nothing.
const ESCAPE: char = '\u{10FFFF}';

/// A text as it is stored: PostgreSQL has no NUL in texts.
fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => escaped.extend([ESCAPE, '0']),
            ESCAPE => escaped.extend([ESCAPE, '1']),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// A stored text as it was.
pub(super) fn original(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return text.into();
    }
    let mut original = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE if chars.next() == Some('0') => original.push('\0'),
            other => original.push(other),
        }
    }
    original.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_nul_is_stored_without_and_comes_back() {
        for text in [
            "",
            "plain",
            "a\0b",
            "\0",
            "\u{10FFFF}",
            "\u{10FFFF}0\0\u{10FFFF}1",
        ] {
            let stored = stored(text);
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(original(&stored), text);
        }
    }
}
