use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use reflect_engine::model::{Error, Judge, JudgeOutcome};
use reflect_types::{Review, Trace};
use tokio::sync::Semaphore;

/// A judge that fails refunds, has no answer to what is garbled, and passes the rest, unless it is
/// planned to do otherwise.
#[derive(Default)]
pub(crate) struct ScriptedJudge {
    plan: Mutex<Vec<JudgeAct>>,
    asked: Mutex<Vec<String>>,
    outcomes: Mutex<Vec<JudgeOutcome>>,
    gate: Mutex<Option<Arc<Semaphore>>>,
}

/// How a judgement ends.
#[derive(Clone, Copy)]
pub(crate) enum JudgeAct {
    /// Without a verdict.
    Unclear,
    /// With an outage.
    Away,
    /// With a refusal.
    Refuse,
    /// With a panic.
    Panic,
}

impl ScriptedJudge {
    /// Sets how the next judgements end, in order.
    pub(crate) fn plan(&self, acts: &[JudgeAct]) {
        *self.plan.lock().unwrap() = acts.iter().rev().copied().collect();
    }

    /// Makes every judgement wait for a permit of the returned semaphore.
    pub(crate) fn hold(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        *self.gate.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }

    /// The number of judgements that began.
    pub(crate) fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The number of judgements of this trace that began.
    pub(crate) fn calls_for(&self, id: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|other| *other == id).count()
    }

    /// The number of judgements that ended so.
    pub(crate) fn count(&self, outcome: JudgeOutcome) -> usize {
        let outcomes = self.outcomes.lock().unwrap();
        outcomes.iter().filter(|other| **other == outcome).count()
    }
}

#[async_trait]
impl Judge for ScriptedJudge {
    fn id(&self) -> &'static str {
        "m"
    }

    async fn judge(&self, trace: &Trace) -> Result<Option<Review>, Error> {
        self.asked.lock().unwrap().push(trace.id.to_string());
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let garbled = trace.task.contains("garbled").then_some(JudgeAct::Away);
        let act = self.plan.lock().unwrap().pop().or(garbled);
        match act {
            None if trace.task.contains("Refund") => Ok(Some(Review::fail("because"))),
            None => Ok(Some(Review::pass())),
            Some(JudgeAct::Unclear) => Ok(None),
            Some(JudgeAct::Panic) => panic!("it fell over"),
            Some(act) => Err(Error {
                message: "the judge is away".to_owned(),
                retryable: matches!(act, JudgeAct::Away),
                source: None,
            }),
        }
    }

    fn observe(&self, outcome: JudgeOutcome) {
        self.outcomes.lock().unwrap().push(outcome);
    }
}
