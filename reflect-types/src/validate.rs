use std::fmt;

/// A request that can check itself before it is sent.
pub trait Validate {
    /// Returns the first invalid field, with the fix.
    fn validate(&self) -> Result<(), InvalidField>;
}

/// An invalid field and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// The name of the field in JSON, such as `limit` or `review.alpha`.
    pub field: &'static str,
    /// What is wrong and what is right, to be read after the field's name.
    pub problem: String,
}

impl InvalidField {
    /// An invalid `field` and its problem.
    pub fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self {
            field,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.problem)
    }
}

impl std::error::Error for InvalidField {}

pub(crate) fn not_blank(field: &'static str, text: &str, fix: &str) -> Result<(), InvalidField> {
    if text.trim().is_empty() {
        return Err(InvalidField::new(field, format!("is empty: {fix}")));
    }
    Ok(())
}

pub(crate) fn at_most(field: &'static str, text: &str, most: usize) -> Result<(), InvalidField> {
    let length = text.chars().count();
    if length > most {
        return Err(InvalidField::new(
            field,
            format!("must have at most {most} characters, got {length}"),
        ));
    }
    Ok(())
}

/// A name is shown in lists and logs, and no database of ours stores a NUL.
pub(crate) fn without_controls(field: &'static str, text: &str) -> Result<(), InvalidField> {
    if text.chars().any(char::is_control) {
        let problem = "must not have control characters";
        return Err(InvalidField::new(field, problem));
    }
    Ok(())
}

pub(crate) fn small(
    field: &'static str,
    object: &crate::Metadata,
    most: usize,
) -> Result<(), InvalidField> {
    let bytes = if object.is_empty() {
        0
    } else {
        serde_json::to_vec(object).map_or(0, |json| json.len())
    };
    if bytes > most {
        return Err(InvalidField::new(
            field,
            format!("must have at most {most} bytes as JSON, got {bytes}"),
        ));
    }
    Ok(())
}

pub(crate) fn within(
    field: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
) -> Result<(), InvalidField> {
    // NaN is in no range, so it is refused here too.
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = range.into_inner();
    Err(InvalidField::new(
        field,
        format!("must be from {low} to {high}, got {value}"),
    ))
}

pub(crate) fn page_limit(limit: Option<u32>, most: u32) -> Result<(), InvalidField> {
    match limit {
        Some(limit) if !(1..=most).contains(&limit) => Err(InvalidField::new(
            "limit",
            format!("must be from 1 to {most}, got {limit}"),
        )),
        _ => Ok(()),
    }
}
