//! The expiry of a key, as it is typed.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// A time from now such as `90d`, a date such as `2027-01-31`, or a time in RFC 3339.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    parse_at(text, Timestamp::now())
}

fn parse_at(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    let at = text
        .parse::<Timestamp>()
        .or_else(|_| beginning_of_day(text))
        .or_else(|_| after(text, now))
        .map_err(|_| {
            "expected a time from now such as `90d` or `12h`, a date such as `2027-01-31`, or a time \
             such as `2027-01-31T12:00:00Z`"
                .to_owned()
        })?;
    if at <= now {
        return Err(format!("{at} is not in the future"));
    }
    Ok(at)
}

fn beginning_of_day(text: &str) -> Result<Timestamp, jiff::Error> {
    let date: Date = text.parse()?;
    Ok(date.to_zoned(TimeZone::UTC)?.timestamp())
}

fn after(text: &str, now: Timestamp) -> Result<Timestamp, jiff::Error> {
    let span: Span = text.parse()?;
    let later = now.to_zoned(TimeZone::UTC).checked_add(span)?;
    Ok(later.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_is_a_time_from_now_or_a_date() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90d", "2027-02-13T12:00:00Z"),
            ("12h", "2026-11-16T00:00:00Z"),
            ("2w", "2026-11-29T12:00:00Z"),
            ("1y", "2027-11-15T12:00:00Z"),
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T12:00:00+02:00", "2027-01-31T10:00:00Z"),
        ] {
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(parse_at(text, now), Ok(expected), "{text}");
        }
        for wrong in ["", "soon", "90", "-1d", "0s", "2026-11-15", "2026-02-30"] {
            assert!(parse_at(wrong, now).is_err(), "{wrong}");
        }
    }
}
