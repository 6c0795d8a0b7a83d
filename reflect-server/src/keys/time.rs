//! Times of keys: RFC 3339 in UTC with milliseconds, so that texts compare as times.

use jiff::Timestamp;
use reflect_types::{ApiKey, KeyStatus};

pub(super) fn text(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Whether the key is neither revoked nor expired.
pub fn is_valid(key: &ApiKey) -> bool {
    key.status == KeyStatus::Active && !has_expired(key)
}

/// Whether the key's time of expiry has passed. A time that cannot be read has.
pub fn has_expired(key: &ApiKey) -> bool {
    let Some(at) = &key.expires_at else {
        return false;
    };
    at.parse::<Timestamp>()
        .map_or(true, |at| at <= Timestamp::now())
}
