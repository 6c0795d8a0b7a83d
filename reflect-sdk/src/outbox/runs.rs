use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use uuid::Uuid;

use super::delivery::Delivery;
use crate::core::Core;

/// The runs of a client that are open or on their way, by their IDs.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    deliveries: HashMap<Uuid, Weak<Delivery>>,
    /// The number of deliveries at which those that are gone are removed.
    sweep_at: usize,
}

impl Runs {
    /// The delivery of a run, which is found for as long as someone holds it.
    pub(crate) fn add(&self, run_id: &str, core: &Arc<Core>) -> Arc<Delivery> {
        let id = Uuid::try_parse(run_id).unwrap_or_default();
        let delivery = Arc::new(Delivery::new(id, core));
        if !id.is_nil() {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.deliveries.len() >= known.sweep_at {
                known.deliveries.retain(|_, run| run.strong_count() > 0);
                // Twice as many, so that a sweep costs each run little.
                known.sweep_at = (2 * known.deliveries.len()).max(64);
            }
            known.deliveries.insert(id, Arc::downgrade(&delivery));
        }
        delivery
    }

    pub(crate) fn find(&self, run_id: &str) -> Option<Arc<Delivery>> {
        let id = Uuid::try_parse(run_id).ok()?;
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.deliveries.get(&id)?.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::idempotency_key;

    #[test]
    fn runs_that_are_gone_take_no_room() {
        let (runs, core) = (Runs::default(), Arc::new(Core::disabled()));
        let held = idempotency_key();
        let delivery = runs.add(&held, &core);
        for _ in 0..1_000 {
            let id = idempotency_key();
            drop(runs.add(&id, &core));
            assert!(runs.find(&id).is_none());
        }
        assert!(Arc::ptr_eq(&runs.find(&held).unwrap(), &delivery));
        assert!(runs.0.lock().unwrap().deliveries.len() <= 64);
    }
}
