use std::sync::Arc;

use reflect_sdk::ReflectClient;
use reflect_types::{CreateTrace, Verdict};

use crate::LIMIT;
use crate::script::{Script, client};

/// A client and the transport that records what it sends.
pub(crate) struct World {
    pub(crate) client: ReflectClient,
    pub(crate) script: Arc<Script>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of(Script::default())
    }

    pub(crate) fn of(script: Script) -> Self {
        let script = Arc::new(script);
        Self {
            client: client(&script),
            script,
        }
    }

    /// All traces so far.
    pub(crate) fn recorded(&self) -> Vec<CreateTrace> {
        self.client.blocking().flush(LIMIT);
        self.script.taken()
    }

    /// The only trace so far.
    #[track_caller]
    pub(crate) fn only(&self) -> CreateTrace {
        let mut recorded = self.recorded();
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        recorded.remove(0)
    }

    /// The tasks of all traces so far.
    pub(crate) fn tasks(&self) -> Vec<String> {
        self.recorded()
            .into_iter()
            .map(|trace| trace.task)
            .collect()
    }
}

/// The verdict and the feedback of a trace.
pub(crate) fn review(trace: &CreateTrace) -> Option<(Verdict, &str)> {
    let review = trace.review.as_ref()?;
    Some((review.result, review.feedback_text.as_deref().unwrap_or("")))
}
