//! Signals that end the program.

use std::future::Future;

use tokio::sync::watch;

use crate::failure::Failure;

/// Counts termination signals: the first one starts a graceful shutdown, the second one ends it.
pub(crate) struct Signalled(watch::Receiver<u32>);

impl Signalled {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let mut signals = Signals::listen()?;
        let (count, counted) = watch::channel(0);
        tokio::spawn(async move {
            while signals.next().await {
                count.send_modify(|count| *count += 1);
            }
        });
        Ok(Self(counted))
    }

    /// Waits for as many signals since the beginning.
    pub(crate) fn times(&self, times: u32) -> impl Future<Output = ()> + Send + use<> {
        let mut signals = self.0.clone();
        async move {
            // The sender is gone, so no signal will come.
            if signals.wait_for(|count| *count >= times).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal; `false` if none can come.
    async fn next(&mut self) -> bool {
        let received = tokio::select! {
            received = self.interrupt.recv() => received,
            received = self.terminate.recv() => received,
        };
        received.is_some()
    }
}

/// Ctrl-C, the only signal.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
    fn listen() -> Result<Self, Failure> {
        Ok(Self)
    }

    /// Waits for the next signal; `false` if none can come.
    async fn next(&mut self) -> bool {
        tokio::signal::ctrl_c().await.is_ok()
    }
}
