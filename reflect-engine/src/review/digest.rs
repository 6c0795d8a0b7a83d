//! A digest of what an undo takes back.

use std::hash::{Hash as _, Hasher as _};

use siphasher::sip::SipHasher13;

use super::undo::UndoChanges;
use super::writes::EventWrite;

impl UndoChanges {
    /// A digest of what is taken back. It changes if more, or less, was taught since; the moves of
    /// others do not change it.
    pub fn digest(&self) -> String {
        // Also of two servers, one of which is being upgraded.
        let mut hasher = SipHasher13::new();
        self.removed.hash(&mut hasher);
        for (memory, content) in &self.contents {
            (memory, content.learned.generation).hash(&mut hasher);
        }
        for state in &self.states {
            (state.memory, state.is_rewritten, &state.forget).hash(&mut hasher);
        }
        for utility in &self.utilities {
            let taken_back = utility.events.iter().filter_map(|event| match event {
                EventWrite::Remove(key) => Some(key),
                EventWrite::Update { key, teacher, .. } => teacher.as_ref().map(|_| key),
                EventWrite::Void(_) | EventWrite::Append(_) => None,
            });
            taken_back.collect::<Vec<_>>().hash(&mut hasher);
        }
        for change in &self.traces {
            (change.trace, change.outcome, &change.forget).hash(&mut hasher);
        }
        self.removes_skill.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}
