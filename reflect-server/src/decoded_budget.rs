//! A limit on the memory of all decoded requests of OTLP.
//!
//! The limit of bodies is none of what they become: an empty span has two bytes in a body and hundreds in
//! memory.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::ApiError;

/// The unit of the limit, in bytes.
const UNIT: usize = 1024;

/// The memory that further requests may take.
#[derive(Debug)]
pub(crate) struct DecodedBudget(Semaphore);

impl DecodedBudget {
    /// The most bytes of a decoded request.
    pub(crate) const REQUEST: usize = 64 * 1024 * 1024;
    /// The requests of that size that fit.
    const REQUESTS: usize = 4;

    /// Waits for so many bytes, which are free again when the permit is dropped. The timeout of the request
    /// bounds the wait.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<SemaphorePermit<'_>, ApiError> {
        if bytes > Self::REQUEST {
            return Err(ApiError::too_many_spans());
        }
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let held = self.0.acquire_many(units).await;
        held.map_err(|_| ApiError::overloaded())
    }
}

impl Default for DecodedBudget {
    fn default() -> Self {
        Self(Semaphore::new(Self::REQUESTS * Self::REQUEST / UNIT))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn a_request_waits_until_others_are_done() {
        let budget = DecodedBudget::default();
        assert!(budget.hold(DecodedBudget::REQUEST + 1).await.is_err());
        let mut held = Vec::new();
        for _ in 0..DecodedBudget::REQUESTS {
            held.push(budget.hold(DecodedBudget::REQUEST).await.unwrap());
        }
        let mut next = pin!(budget.hold(1));
        let mut context = Context::from_waker(Waker::noop());
        assert!(next.as_mut().poll(&mut context).is_pending());
        held.pop();
        assert!(next.await.is_ok());
    }
}
