use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The wait that a reply asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let milliseconds = header("retry-after-ms").and_then(|text| text.trim().parse().ok());
    if let Some(milliseconds) = milliseconds {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = header(RETRY_AFTER.as_str())?.trim();
    if let Ok(seconds) = text.parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> Option<Duration> {
        let headers = [(name.parse().unwrap(), value.parse().unwrap())];
        // Sun, 06 Nov 1994 08:49:30 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        retry_after(&headers.into_iter().collect(), now)
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        assert_eq!(read("retry-after", " 3 "), Some(Duration::from_secs(3)));
        assert_eq!(read("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(
            read("retry-after-ms", "20"),
            Some(Duration::from_millis(20))
        );
        assert_eq!(
            read("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            read("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"),
            Some(Duration::ZERO)
        );
        for nonsense in ["soon", "-1", "NaN", "inf", "1e300"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }
}
