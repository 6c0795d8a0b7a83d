//! Times as other servers write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A time in RFC 3339, or without a zone, which is UTC.
pub(super) fn parsed(text: Option<&str>) -> Option<Timestamp> {
    let text = text?;
    let zoned = text.parse::<Timestamp>().ok();
    zoned.or_else(|| {
        let local: DateTime = text.parse().ok()?;
        Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })
}

/// The time in RFC 3339; `now` where there is none.
pub(super) fn normal(text: Option<&str>, now: &str) -> String {
    parsed(text).map_or_else(|| now.to_owned(), |at| format!("{at:.3}"))
}
