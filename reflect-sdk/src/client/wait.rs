use std::time::Duration;

use reflect_types::{CreateTrace, InvalidField, Trace, TraceId, Trajectory, Validate};

use super::ReflectClient;
use super::call::{Action, Call, CallContext};
use super::create_trace::HasTrace;
use crate::core::{Polling, wait_for};
use crate::error::Result;

/// Waits for a trace; see [`ReflectClient::wait_for_trace`].
#[derive(Clone, Debug)]
pub struct WaitForTrace {
    id: TraceId,
    require_reviewed: bool,
    polling: Polling,
}

/// Stores a run and waits for it; see [`ReflectClient::create_trace_and_wait`].
#[derive(Clone, Debug)]
pub struct CreateTraceAndWait {
    trace: CreateTrace,
    polling: Polling,
}

impl<M> ReflectClient<M> {
    /// Stores a run and waits until its memory exists or, without a review, until it is stored.
    ///
    /// The same as [`create_trace`](Self::create_trace) followed by [`wait`](Call::wait), with the
    /// options of both.
    pub fn create_trace_and_wait(
        &self,
        task: impl Into<String>,
        trajectory: impl Into<Trajectory>,
    ) -> Call<CreateTraceAndWait, M> {
        self.create_trace(task, trajectory).wait()
    }

    /// Waits until a trace is stored or, with [`require_reviewed`](Call::require_reviewed), until its
    /// memory exists.
    ///
    /// A trace that is not stored yet is waited for. One whose ingestion failed is
    /// [`Error::IngestFailed`](crate::Error::IngestFailed) with the server's reason. After the
    /// timeout, and at least one check, it is [`Error::Timeout`](crate::Error::Timeout).
    pub fn wait_for_trace(&self, trace: impl Into<TraceId>) -> Call<WaitForTrace, M> {
        self.call(WaitForTrace {
            id: trace.into(),
            require_reviewed: false,
            polling: Polling::default(),
        })
    }
}

impl<M> Call<CreateTrace, M> {
    /// Waits until the memory exists or, without a review, until the run is stored.
    pub fn wait(self) -> Call<CreateTraceAndWait, M> {
        self.map(|trace| CreateTraceAndWait {
            trace,
            polling: Polling::default(),
        })
    }
}

impl<M> Call<WaitForTrace, M> {
    /// Waits until the trace is reviewed and its memory exists.
    pub fn require_reviewed(self) -> Self {
        self.set(|wait| wait.require_reviewed = true)
    }
}

/// A call that polls a trace.
pub trait Polls {
    #[doc(hidden)]
    fn set_interval(&mut self, interval: Duration);
    #[doc(hidden)]
    fn set_timeout(&mut self, timeout: Duration);
}

macro_rules! polls {
    ($($action:ident),+) => {$(
        impl Polls for $action {
            fn set_interval(&mut self, interval: Duration) {
                self.polling.set_interval(interval);
            }

            fn set_timeout(&mut self, timeout: Duration) {
                self.polling.timeout = timeout;
            }
        }
    )+};
}

polls!(WaitForTrace, CreateTraceAndWait);

/// The options of [`ReflectClient::wait_for_trace`] and [`ReflectClient::create_trace_and_wait`].
impl<A: Polls, M> Call<A, M> {
    /// The pause between two checks; 250 ms by default.
    pub fn poll_interval(self, interval: Duration) -> Self {
        self.set(|action| action.set_interval(interval))
    }

    /// The time limit; 60 s by default.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|action| action.set_timeout(timeout))
    }
}

impl HasTrace for CreateTraceAndWait {
    fn trace(&mut self) -> &mut CreateTrace {
        &mut self.trace
    }
}

impl Action for WaitForTrace {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.id.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        wait_for(&core, &self.id, self.require_reviewed, self.polling).await
    }

    fn extra_time(&self) -> Duration {
        self.polling.timeout
    }
}

impl Action for CreateTraceAndWait {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.trace.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        let reviewed = self.trace.review.is_some();
        let receipt = core.call(self.trace).await?;
        wait_for(&core, &receipt.trace_id, reviewed, self.polling).await
    }

    fn extra_time(&self) -> Duration {
        self.polling.timeout
    }
}
