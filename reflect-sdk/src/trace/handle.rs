use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use reflect_types::{Review, Trace, TraceId, TraceReceipt, Validate};
use tokio::time::timeout;

use crate::client::{Handle, review_once_arrived};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::outbox::Delivery;

/// The delivery of a run. It outlives the guard.
///
/// ```no_run
/// use reflect_sdk::{ReflectClient, Review, TraceOutput};
///
/// async fn refund(client: &ReflectClient) -> reflect_sdk::Result<()> {
///     let run = client.trace("Refund order 7").await;
///     let handle = run.handle();
///     run.set_output(TraceOutput::new("Refunded."));
///     drop(run);
///     // Later, with a verdict:
///     handle.review(Review::pass()).await?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct TraceHandle(Arc<Delivery>);

/// A delivery changes in one step, under a lock that survives being poisoned.
impl UnwindSafe for TraceHandle {}
impl RefUnwindSafe for TraceHandle {}

impl TraceHandle {
    pub(super) fn new(delivery: Arc<Delivery>) -> Self {
        Self(delivery)
    }

    /// The handle of all runs of disabled clients.
    pub(super) fn disabled() -> &'static Self {
        static DISABLED: LazyLock<TraceHandle> = LazyLock::new(|| {
            let delivery = Delivery::default();
            delivery.settle(Err(Error::Disabled));
            TraceHandle::new(Arc::new(delivery))
        });
        &DISABLED
    }

    /// The ID of the trace; `None` until it is stored.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.0.trace_id()
    }

    /// Waits until the run has ended and is stored, and, if the run waits for that, until its memory
    /// [exists](super::TraceBuilder::until_learned).
    ///
    /// A run that is not recorded is [`Error::NotRecorded`](crate::Error::NotRecorded). The wait ends
    /// at the latest when the client gives up sending; see
    /// [`background_retry`](crate::ClientBuilder::background_retry).
    pub async fn wait(&self) -> Result<TraceReceipt> {
        self.0.wait().await
    }

    /// Like [`wait`](Self::wait), with a limit kept by the I/O thread, which always has a clock.
    pub(super) async fn wait_within(
        &self,
        client: &Handle,
        limit: Duration,
    ) -> Result<TraceReceipt> {
        if let Some(outcome) = self.0.outcome() {
            return outcome;
        }
        let delivery = Arc::clone(&self.0);
        let waiting = async move { timeout(limit, delivery.wait()).await };
        let waited = client.core().worker().spawn(waiting)?.await?;
        waited.unwrap_or_else(|_| Err(Error::timeout("the memory of the run", limit)))
    }

    /// Reviews the run once it is stored, within the client's [deadline](crate::ClientBuilder::deadline).
    ///
    /// A run that is not stored is [`Error::NotArrived`](crate::Error::NotArrived). The client must still
    /// exist: without its handles use [`review_run`](crate::ReflectClient::review_run) of another one.
    pub fn review(
        &self,
        review: impl Into<Review>,
    ) -> impl Future<Output = Result<Trace>> + Send + 'static {
        let reviewing = self.reviewing(review.into());
        async move {
            let (core, reviewed) = reviewing?;
            core.worker().spawn(reviewed)?.await?
        }
    }

    /// Blocking version of [`review`](Self::review).
    pub fn review_blocking(&self, review: impl Into<Review>) -> Result<Trace> {
        let (core, reviewed) = self.reviewing(review.into())?;
        core.worker().wait(reviewed, core.settings.deadline)
    }

    fn reviewing(
        &self,
        review: Review,
    ) -> Result<(
        Arc<Core>,
        impl Future<Output = Result<Trace>> + Send + use<>,
    )> {
        let delivery = Arc::clone(&self.0);
        let core = match delivery.core() {
            Some(core) => core,
            None if delivery.run_id().is_nil() => return Err(Error::Disabled),
            None => {
                let why = "the client of the run is gone: keep a handle of it, or review the run by another \
                           client with `review_run`";
                return Err(Error::Config(why.to_owned()));
            }
        };
        core.transport()?;
        review.validate()?;
        let reviewing = Arc::clone(&core);
        let reviewed = async move { review_once_arrived(&reviewing, &delivery, review).await };
        Ok((core, reviewed))
    }

    /// Blocking version of [`wait`](Self::wait), which waits for at most `limit`.
    pub fn wait_blocking(&self, limit: Duration) -> Result<TraceReceipt> {
        self.0.wait_blocking(limit)
    }
}
