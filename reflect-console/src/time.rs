//! Times as people read them.

use jiff::Timestamp;

/// A time: how long ago it was, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct When {
    /// Such as `4 min ago`.
    pub(crate) ago: String,
    /// RFC 3339, for machines and for the hint.
    pub(crate) exact: String,
}

impl When {
    /// A stored time as it is seen at `now`. One that cannot be read is shown as it is.
    pub(crate) fn at(text: &str, now: Timestamp) -> Self {
        let ago = match text.parse::<Timestamp>() {
            Ok(time) => ago(now.as_second() - time.as_second(), time),
            Err(_) => text.to_owned(),
        };
        Self {
            ago,
            exact: text.to_owned(),
        }
    }
}

fn ago(seconds: i64, time: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;

    match seconds {
        ..0 => future(-seconds, time),
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ if seconds < 14 * DAY => format!("{} d ago", seconds / DAY),
        _ => date(time),
    }
}

fn future(seconds: i64, time: Timestamp) -> String {
    if seconds < 60 {
        // The clocks of two computers differ.
        return "just now".to_owned();
    }
    date(time)
}

/// Such as `3 Oct 2026`.
fn date(time: Timestamp) -> String {
    time.strftime("%-d %b %Y").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recent_time_is_a_distance_and_an_old_one_a_date() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        for (text, ago) in [
            ("2026-11-16T11:59:30Z", "just now"),
            ("2026-11-16T12:00:05Z", "just now"),
            ("2026-11-16T11:56:00Z", "4 min ago"),
            ("2026-11-16T10:30:00Z", "1 h ago"),
            ("2026-11-13T10:30:00Z", "3 d ago"),
            ("2026-10-03T10:30:00Z", "3 Oct 2026"),
            ("2027-01-01T00:00:00Z", "1 Jan 2027"),
            ("soon", "soon"),
        ] {
            assert_eq!(When::at(text, now).ago, ago, "{text}");
        }
    }
}
