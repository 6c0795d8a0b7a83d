use std::time::Duration;

use reflect_types::{GetTrace, IngestStatus, ReviewStatus, Trace, TraceId};
use tokio::time::{Instant, sleep, timeout};

use super::Core;
use super::retry::far;
use crate::error::{Error, Result};

/// The interval and the time limit of polling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polling {
    /// The shortest pause. Pauses grow with the time waited, up to the interval.
    first_pause: Duration,
    interval: Duration,
    pub(crate) timeout: Duration,
}

impl Polling {
    /// Short pauses at first, for a caller who is blocked until the memory exists.
    pub(crate) fn eager(timeout: Duration) -> Self {
        Self {
            first_pause: Duration::from_millis(2),
            timeout,
            ..Self::default()
        }
    }

    /// The same pause every time.
    pub(crate) fn set_interval(&mut self, interval: Duration) {
        (self.first_pause, self.interval) = (interval, interval);
    }

    /// The pause after this time: a sixteenth of it, so that the delay is in proportion to the time
    /// waited.
    fn pause(&self, waited: Duration) -> Duration {
        (waited / 16).max(self.first_pause).min(self.interval)
    }
}

impl Default for Polling {
    fn default() -> Self {
        let interval = Duration::from_millis(250);
        Self {
            first_pause: interval,
            interval,
            timeout: Duration::from_secs(60),
        }
    }
}

/// Polls a trace until it is stored or, with `require_reviewed`, until its memory exists.
pub(crate) async fn wait_for(
    core: &Core,
    id: &TraceId,
    require_reviewed: bool,
    polling: Polling,
) -> Result<Trace> {
    /// The time that every look gets, however short the timeout is.
    const ONE_LOOK: Duration = Duration::from_secs(1);

    let late = || {
        let what = if require_reviewed {
            "the review of trace"
        } else {
            "trace"
        };
        Error::timeout(format!("{what} {id}"), polling.timeout)
    };
    let deadline = far(polling.timeout);
    let start = Instant::now();
    loop {
        let look = core.call(GetTrace::new(id));
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
        // The last look is at the deadline, however long the interval.
        let pause = polling.pause(start.elapsed());
        sleep(pause.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delay with which something is seen that exists after so long.
    fn late(polling: Polling, there: Duration) -> Duration {
        let mut now = Duration::ZERO;
        while now < there {
            now += polling.pause(now);
        }
        now.saturating_sub(there)
    }

    #[test]
    fn a_memory_is_seen_soon_after_it_exists() {
        let polling = Polling::eager(Duration::from_secs(60));
        for there in (0..800).map(Duration::from_millis) {
            let late = late(polling, there);
            assert!(late < Duration::from_millis(50), "{there:?}: {late:?}");
        }
        for there in (1..60).map(Duration::from_secs) {
            let late = late(polling, there);
            assert!(late <= Duration::from_millis(250), "{there:?}: {late:?}");
        }
    }

    #[test]
    fn an_interval_is_kept() {
        let polling = Polling::default();
        for waited in [0, 1, 10_000] {
            let pause = polling.pause(Duration::from_millis(waited));
            assert_eq!(pause, Duration::from_millis(250));
        }
    }
}
