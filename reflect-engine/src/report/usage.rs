use std::cmp::Reverse;
use std::collections::BTreeMap;

use reflect_types::{Arm, ModelUsage};

use super::GROUPS;
use crate::store::UsageTally;

/// The tokens of each model, most runs first.
pub(crate) fn by_model(tallies: Vec<UsageTally>) -> Vec<ModelUsage> {
    let mut models: BTreeMap<Option<String>, ModelUsage> = BTreeMap::new();
    for UsageTally { model, arm, sum } in tallies {
        let usage = models.entry(model.clone()).or_default();
        usage.model = model;
        usage.all.add(sum);
        match arm {
            Some(Arm::Memories) => usage.memories.add(sum),
            Some(Arm::Control) => usage.control.add(sum),
            _ => {}
        }
    }
    let mut models: Vec<_> = models.into_values().collect();
    models.sort_by_key(|usage| Reverse(usage.all.runs));
    models.truncate(GROUPS);
    models
}
