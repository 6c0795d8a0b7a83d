use std::time::Duration;

use reflect_types::{
    IngestStatus, InvalidField, ReviewStatus, Trace, TraceId, Trajectory, Validate,
};
use tokio::time::{Instant, sleep, timeout};

use super::call::{Call, CallContext, Operation};
use super::record::Record;
use super::{Core, ReflectClient};
use crate::error::{Error, Result};
use crate::worker::retry::far;

/// Waits for a run; see [`ReflectClient::wait_for_trace`].
#[derive(Clone, Debug)]
pub struct WaitForRecord {
    id: TraceId,
    require_reviewed: bool,
    patience: Patience,
}

/// Records a run and waits for it; see [`ReflectClient::create_trace_and_wait`].
#[derive(Clone, Debug)]
pub struct RecordAndWait {
    record: Record,
    patience: Patience,
}

/// How often is asked, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The shortest pause. They grow with the time that was waited, up to the interval.
    first_pause: Duration,
    poll_interval: Duration,
    timeout: Duration,
}

impl Patience {
    /// Looks again quickly at first, for a run whose end holds somebody up.
    pub(crate) fn eager(timeout: Duration) -> Self {
        Self {
            first_pause: Duration::from_millis(2),
            timeout,
            ..Self::default()
        }
    }

    /// How long to pause after that much was waited. What is waited for is then seen late by a
    /// sixteenth of the time it took, whether that is little or much.
    fn pause(&self, waited: Duration) -> Duration {
        (waited / 16).max(self.first_pause).min(self.poll_interval)
    }
}

impl Default for Patience {
    fn default() -> Self {
        let poll_interval = Duration::from_millis(250);
        Self {
            first_pause: poll_interval,
            poll_interval,
            timeout: Duration::from_secs(60),
        }
    }
}

impl<M> ReflectClient<M> {
    /// Records a run and waits until its memory exists, or, without a verdict, until it is stored.
    ///
    /// The same as [`create_trace`](Self::create_trace) followed by [`wait`](Call::wait), with all
    /// options of both.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let trace = client.create_trace_and_wait("Refund order 7", "Done.").pass().await?;
    /// println!("learned {:?}", trace.created_memory_id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_trace_and_wait(
        &self,
        task: impl Into<String>,
        trajectory: impl Into<Trajectory>,
    ) -> Call<RecordAndWait, M> {
        self.create_trace(task, trajectory).wait()
    }

    /// Waits until a run is there, or, with [`require_reviewed`](Call::require_reviewed), until
    /// its memory exists.
    ///
    /// A run that is not there yet is waited for. One whose ingestion failed is
    /// [`Error::IngestFailed`] with the server's reason. After the timeout, but never before it
    /// has looked once, it is [`Error::Timeout`].
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let receipt = client.create_trace("Refund order 7", "Done.").pass().await?;
    /// let trace = client.wait_for_trace(&receipt.trace_id).require_reviewed().await?;
    /// println!("learned {:?}", trace.created_memory_id);
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for_trace(&self, trace: impl Into<TraceId>) -> Call<WaitForRecord, M> {
        let patience = Patience::default();
        self.call(WaitForRecord {
            id: trace.into(),
            require_reviewed: false,
            patience,
        })
    }
}

impl<M> Call<Record, M> {
    /// Waits until the memory exists, or, without a verdict, until the run is stored.
    pub fn wait(self) -> Call<RecordAndWait, M> {
        self.map(|record| RecordAndWait {
            record,
            patience: Patience::default(),
        })
    }
}

impl<M> Call<WaitForRecord, M> {
    /// Waits until the run is reviewed and its memory exists.
    pub fn require_reviewed(self) -> Self {
        self.set(|operation| operation.require_reviewed = true)
    }
}

/// How long to wait; the same for [`ReflectClient::wait_for_trace`] and
/// [`ReflectClient::create_trace_and_wait`].
impl<O: AsMut<Patience>, M> Call<O, M> {
    /// How often to look: every 250 ms unless set.
    pub fn poll_interval(self, interval: Duration) -> Self {
        self.set(|operation| {
            let patience = operation.as_mut();
            (patience.first_pause, patience.poll_interval) = (interval, interval);
        })
    }

    /// How long to wait: 60 s unless set.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.set(|operation| operation.as_mut().timeout = timeout)
    }
}

impl AsMut<Patience> for WaitForRecord {
    fn as_mut(&mut self) -> &mut Patience {
        &mut self.patience
    }
}

impl AsMut<Patience> for RecordAndWait {
    fn as_mut(&mut self) -> &mut Patience {
        &mut self.patience
    }
}

impl AsMut<Record> for RecordAndWait {
    fn as_mut(&mut self) -> &mut Record {
        &mut self.record
    }
}

impl Operation for WaitForRecord {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.id.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        wait_for(&core, &self.id, self.require_reviewed, self.patience).await
    }

    fn patience(&self) -> Duration {
        self.patience.timeout
    }
}

impl Operation for RecordAndWait {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.record.check()
    }

    async fn run(self, context: CallContext) -> Result<Trace> {
        let reviewed = self.record.is_reviewed();
        let receipt = self.record.run(context.clone()).await?;
        wait_for(&context.0, &receipt.trace_id, reviewed, self.patience).await
    }

    fn patience(&self) -> Duration {
        self.patience.timeout
    }
}

pub(crate) async fn wait_for(
    core: &Core,
    id: &TraceId,
    require_reviewed: bool,
    patience: Patience,
) -> Result<Trace> {
    /// The first look is worth this much, however short the timeout is.
    const ONE_LOOK: Duration = Duration::from_secs(1);

    let late = || {
        let what = if require_reviewed {
            "the review of trace"
        } else {
            "trace"
        };
        Error::Timeout {
            what: format!("{what} {id}"),
            after: patience.timeout,
        }
    };
    let deadline = far(patience.timeout);
    let start = Instant::now();
    loop {
        let look = core.send(|| core.transport().get_trace(&core.project, id));
        let left = deadline.saturating_duration_since(Instant::now());
        match timeout(left.max(ONE_LOOK), look)
            .await
            .map_err(|_| late())?
        {
            // Not there yet: the submission may still be on its way.
            Err(error) if error.status() == Some(404) => {}
            Err(error) => return Err(error),
            Ok(trace) if trace.ingest_status == IngestStatus::Failed => {
                let reason = trace.last_ingest_error;
                let reason = reason.unwrap_or_else(|| "the server gave no reason".to_owned());
                return Err(Error::IngestFailed {
                    trace_id: trace.id,
                    reason,
                });
            }
            Ok(trace) if !require_reviewed || trace.review_status == ReviewStatus::Reviewed => {
                return Ok(trace);
            }
            Ok(_) => {}
        }
        if Instant::now() >= deadline {
            return Err(late());
        }
        // The last look is at the deadline, however rarely is looked.
        let pause = patience.pause(start.elapsed());
        sleep(pause.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How late something is seen that is there after so long.
    fn late(patience: Patience, there: Duration) -> Duration {
        let mut now = Duration::ZERO;
        while now < there {
            now += patience.pause(now);
        }
        now.saturating_sub(there)
    }

    #[test]
    fn a_memory_that_somebody_waits_for_is_seen_soon_after_it_is_there() {
        let patience = Patience::eager(Duration::from_secs(60));
        for there in (0..800).map(Duration::from_millis) {
            let late = late(patience, there);
            assert!(late < Duration::from_millis(50), "{there:?}: {late:?}");
        }
        for there in (1..60).map(Duration::from_secs) {
            let late = late(patience, there);
            assert!(late <= Duration::from_millis(250), "{there:?}: {late:?}");
        }
    }

    #[test]
    fn an_interval_is_kept_to() {
        let patience = Patience::default();
        for waited in [0, 1, 10_000] {
            let pause = patience.pause(Duration::from_millis(waited));
            assert_eq!(pause, Duration::from_millis(250));
        }
    }
}
