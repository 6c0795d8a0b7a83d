//! Integers as JSON Schema defines them: `38.0` is one.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads an integer, also as a number with a zero fraction.
pub(crate) fn read<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    // Inside a tagged enum, a request for an integer would refuse `38.0` before it gets here.
    from.deserialize_any(Integer(PhantomData))
}

/// Reads an integer or `null`.
pub(crate) fn read_optional<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    struct Read<T>(T);

    impl<'de, T: TryFrom<u64>> Deserialize<'de> for Read<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            read(from).map(Self)
        }
    }

    let number = Option::<Read<T>>::deserialize(from)?;
    Ok(number.map(|Read(number)| number))
}

struct Integer<T>(PhantomData<T>);

impl<T: TryFrom<u64>> Visitor<'_> for Integer<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a non-negative integer")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let out_of_range = || E::invalid_value(Unexpected::Unsigned(number), &self);
        T::try_from(number).map_err(|_| out_of_range())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked"
    )]
    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        /// Beyond it, not every integer is a float.
        const EXACT: f64 = 9_007_199_254_740_992.0;

        if number.fract() == 0.0 && (0.0..=EXACT).contains(&number) {
            return self.visit_u64(number as u64);
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use crate::{CreateSkill, QueryMemories};

    fn limit(json: &str) -> Result<u32, serde_json::Error> {
        let query = format!(r#"{{"task": "t", "limit": {json}}}"#);
        serde_json::from_str::<QueryMemories>(&query).map(|query| query.limit)
    }

    #[test]
    fn number_with_a_zero_fraction_is_an_integer() {
        for json in ["38", "38.0", "3.8e1"] {
            assert_eq!(limit(json).unwrap(), 38, "{json}");
        }
        assert_eq!(limit("-0.0").unwrap(), 0);
        for json in [
            "38.5",
            "-1",
            "-1.0",
            "4294967296",
            "4294967296.0",
            "1e300",
            "null",
            "\"1\"",
        ] {
            assert!(limit(json).is_err(), "{json}");
        }
    }

    #[test]
    fn optional_integer_may_be_null() {
        let skill: CreateSkill =
            serde_json::from_str(r#"{"n_passed": null, "n_failed": 2.0}"#).unwrap();
        assert_eq!((skill.n_passed, skill.n_failed), (None, Some(2)));
    }
}
