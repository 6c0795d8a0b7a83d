use jiff::Timestamp;
use reflect_types::{InvalidField, neutral};

/// The time in a field of a request, in a year that four digits write: later and earlier ones would not be in the
/// order of their texts.
pub(super) fn parse(field: &'static str, text: &str) -> Result<Timestamp, InvalidField> {
    let time = text.parse().ok().filter(|_| !text.starts_with('-'));
    time.ok_or_else(|| {
        let shown = neutral::excerpt(text, 40);
        let problem = format!(
            "must be a time in RFC 3339 such as `2026-11-15T12:00:00Z`, got `{}`",
            neutral::for_prompt(&shown)
        );
        InvalidField::new(field, problem)
    })
}
