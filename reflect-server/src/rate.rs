//! Rate limits per caller.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::error::ApiError;

/// A token bucket per caller, with the capacity of one second.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: Option<NonZeroU32>,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Rate {
    /// A limit of requests per second and caller; `None` is unlimited.
    pub(crate) fn new(per_second: Option<NonZeroU32>) -> Self {
        Self {
            per_second,
            buckets: Mutex::default(),
        }
    }

    /// Admits a request, or refuses it with a `Retry-After`.
    pub(crate) fn admit(&self, caller: &str) -> Result<(), ApiError> {
        self.admit_at(caller, Instant::now())
    }

    fn admit_at(&self, caller: &str, now: Instant) -> Result<(), ApiError> {
        let Some(per_second) = self.per_second else {
            return Ok(());
        };
        let full = f64::from(per_second.get());
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(caller) {
            // A full bucket is the same as none.
            buckets.retain(|_, bucket| bucket.at(now, full) < full);
        }
        let bucket = buckets.entry(caller.to_owned()).or_insert(Bucket {
            tokens: full,
            filled: now,
        });
        bucket.tokens = bucket.at(now, full);
        bucket.filled = now;
        if bucket.tokens < 1.0 {
            // At one token per second or more, the next one is at most a second away.
            return Err(ApiError::rate_limited(1));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }
}

impl Bucket {
    fn at(&self, now: Instant, full: f64) -> f64 {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        (self.tokens + passed * full).min(full)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn limit_applies_to_each_caller() {
        let rate = Rate::new(NonZeroU32::new(2));
        let now = Instant::now();
        assert!(rate.admit_at("a", now).is_ok());
        assert!(rate.admit_at("a", now).is_ok());
        assert!(rate.admit_at("a", now).is_err());
        assert!(rate.admit_at("b", now).is_ok());
        let later = now + Duration::from_millis(500);
        assert!(rate.admit_at("a", later).is_ok());
        assert!(rate.admit_at("a", later).is_err());
    }

    #[test]
    fn idle_callers_are_forgotten() {
        let rate = Rate::new(NonZeroU32::new(1));
        let now = Instant::now();
        for caller in 0..100 {
            rate.admit_at(&caller.to_string(), now).unwrap();
        }
        rate.admit_at("late", now + Duration::from_secs(2)).unwrap();
        assert_eq!(rate.buckets.lock().unwrap().len(), 1);
    }
}
