//! What the operations and the background work share.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, OnceCell, oneshot, watch};

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::model::{self, Embedder, ReflectionWriter, SkillWriter};
use crate::recall::Recall;
use crate::store::Store;

pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) reflector: Arc<dyn ReflectionWriter>,
    /// `None` where guides are extracted.
    pub(crate) skill_writer: Option<Arc<dyn SkillWriter>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) recall: Recall,
    /// How far a review moves the memories when it does not say.
    pub(crate) alpha: f64,
    /// The similarity below which a memory does not count when a query does not say.
    pub(crate) floor: f64,
    /// How many jobs are worked on at once.
    pub(crate) concurrency: usize,
    /// How long a job is held before others may take it over.
    pub(crate) lease: Duration,
    /// Rings when a job is queued.
    pub(crate) work: Notify,
    /// Whether this engine works off the queue and decides what the store is embedded by.
    pub(crate) background: bool,
    /// Set once the store knows this engine's embedder.
    pub(crate) claimed: OnceCell<()>,
    /// Whether the engine is shutting down.
    pub(crate) stopping: watch::Sender<bool>,
    /// How many calls are under way that are seen to their end.
    pub(crate) under_way: watch::Sender<usize>,
}

impl Core {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Refuses to begin anything new while shutting down.
    pub(crate) fn open(&self) -> Result<()> {
        if *self.stopping.borrow() {
            return Err(Error::unavailable(
                "the engine is shutting down: try again when it is back",
            ));
        }
        Ok(())
    }

    /// Refuses where the store's memories are `embedded_by` another embedder than this engine's. The
    /// engine that was started last decides.
    pub(crate) fn same_space(&self, embedded_by: Option<&str>) -> Result<()> {
        match embedded_by.filter(|&other| other != self.embedder.id()) {
            Some(other) => Err(Error::unavailable(format!(
                "the memories are embedded by `{other}`, this engine embeds by `{}`: use the same \
                 embedder here, or start again to change over to this one",
                self.embedder.id()
            ))),
            None => Ok(()),
        }
    }

    /// Makes this engine's embedder the store's, once.
    pub(crate) async fn claim_embedder(&self) -> Result<()> {
        if !self.background {
            return Ok(());
        }
        let claim = async || {
            let mine = self.embedder.id();
            // Where it stands already, a store that cannot be written now will do.
            if self.store.embedder().await?.as_deref() == Some(mine) {
                return Ok(());
            }
            self.store.claim_embedder(mine).await
        };
        self.claimed.get_or_try_init(claim).await?;
        Ok(())
    }

    /// One vector per text, checked: what the embedder gets wrong must not reach the store.
    pub(crate) async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, model::Error> {
        let embedder = &self.embedder;
        let vectors = embedder.embed(texts).await?;
        let wrong = |problem: String| model::Error {
            message: format!("the embedder `{}` {problem}", embedder.id()),
            // No text is to blame for it, so none may be given up over it.
            retryable: true,
            source: None,
        };
        if vectors.len() != texts.len() {
            let (asked, got) = (texts.len(), vectors.len());
            return Err(wrong(format!("answered {asked} texts with {got} vectors")));
        }
        for vector in &vectors {
            if vector.len() != embedder.dims() {
                let (declared, got) = (embedder.dims(), vector.len());
                return Err(wrong(format!(
                    "declares {declared} dimensions and gave {got}"
                )));
            }
            if vector.iter().any(|x| !x.is_finite()) {
                return Err(wrong(
                    "gave a vector with a component that is no number".to_owned(),
                ));
            }
        }
        Ok(vectors)
    }
}

/// Runs the work in a task of its own, so that a panic in a model ends the task and not the engine,
/// and a caller that goes away does not end it halfway.
pub(crate) async fn contained<T, E>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
    E: Into<Error> + Send + 'static,
{
    match tokio::spawn(work).await {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(error) => Err(ended(error)),
    }
}

/// Counts as under way while it lives.
struct UnderWay(Arc<Core>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.send_modify(|count| *count -= 1);
    }
}

/// Sees the work to its end, whether or not the caller stays, and has a shutdown wait for it. What
/// nobody is there to hear is logged.
pub(crate) async fn seen_through<T: std::fmt::Debug + Send + 'static>(
    core: &Arc<Core>,
    what: String,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    core.under_way.send_modify(|count| *count += 1);
    let under_way = UnderWay(Arc::clone(core));
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let outcome = contained(work).await;
        match tell.send(outcome) {
            Ok(()) => {}
            Err(Ok(done)) => tracing::info!(what, ?done, "done, though the caller has gone"),
            Err(Err(error)) => tracing::warn!(what, %error, "failed, and the caller has gone"),
        }
        drop(under_way);
    });
    let ended = || Error::unavailable("the runtime is shutting down: try again when it is back");
    told.await.map_err(|_| ended())?
}

/// Runs arithmetic where it blocks nobody.
pub(crate) async fn computed<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.map_err(|error| match panicked(error) {
        Some(said) => Error::Internal {
            message: format!("the engine panicked{said}"),
            source: None,
        },
        None => stopping(),
    })
}

/// What a task with a model in it that did not finish means.
pub(crate) fn ended(error: tokio::task::JoinError) -> Error {
    match panicked(error) {
        Some(said) => Error::Model(model::Error {
            message: format!("the embedder or the reflector panicked{said}"),
            // Whatever it stumbled over may be gone the next time.
            retryable: true,
            source: None,
        }),
        None => stopping(),
    }
}

/// What a panic said, to be put behind that there was one; `None` where the task was cancelled.
fn panicked(error: tokio::task::JoinError) -> Option<String> {
    let panic = error.try_into_panic().ok()?;
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    Some(said.map_or_else(String::new, |said| format!(": {said}")))
}

fn stopping() -> Error {
    Error::unavailable("the runtime is shutting down: try again when it is back")
}
