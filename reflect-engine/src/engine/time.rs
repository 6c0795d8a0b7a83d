use jiff::Timestamp;
use reflect_types::InvalidField;

/// The time in a field of a request.
pub(super) fn parse(field: &'static str, text: &str) -> Result<Timestamp, InvalidField> {
    text.parse().map_err(|_| {
        let problem = format!("must be a time such as `2026-11-15T12:00:00Z`, got `{text}`");
        InvalidField::new(field, problem)
    })
}
