use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::ReflexionBuilder;
use crate::ReflectClient;

/// What is stored of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Persist {
    /// One trace: the last trial, the verdict on the run, and what the failed trials taught.
    #[default]
    Final,
    /// One trace per trial. A failed one brings its reflection along, which becomes a memory word
    /// for word. The memories that were [recalled](ReflexionBuilder::recall) are named in the last
    /// one only, so that a run counts once for them.
    EachTrial,
}

/// Something that was not stored, or not in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PersistError {
    /// The trial it is about, from 1.
    pub trial: u32,
    /// What went wrong.
    pub problem: String,
}

impl fmt::Display for PersistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trial {} was not stored: {}", self.trial, self.problem)
    }
}

impl ReflexionBuilder {
    /// Stores what comes of every run, under the task as it was given to
    /// [`run`](super::Reflexion::run), so that later runs can [`recall`](Self::recall) it.
    ///
    /// Traces are handed to the client's background sender, as those of a guard are: what cannot
    /// be sent at once is tried again, also after the run. The end of a run waits for up to
    /// [`persist_timeout`](Self::persist_timeout) until they are stored. Problems do not decide a
    /// run: they are in [`Outcome::persist_errors`](super::Outcome::persist_errors), unless
    /// [`strict_persist`](Self::strict_persist) is set.
    ///
    /// A run that ends with an error is stored as a failed one. Of a run that is dropped or panics,
    /// only the trials that were handed over before are stored; inside of
    /// [`client.trace(…)`](ReflectClient::trace) a panic is recorded too, and `persist` is not
    /// needed.
    pub fn persist<M>(mut self, client: &ReflectClient<M>, what: Persist) -> Self {
        self.config.persist = Some((Arc::clone(client.handle()), what));
        self
    }

    /// How long the end of a run waits for its traces to be stored; 5 s unless set.
    pub fn persist_timeout(mut self, limit: Duration) -> Self {
        self.config.persist_timeout = limit;
        self
    }

    /// Whether a run whose traces are not stored in time ends with
    /// [`ReflexionError::Persist`](super::ReflexionError::Persist); not unless set.
    pub fn strict_persist(mut self, strict: bool) -> Self {
        self.config.strict_persist = strict;
        self
    }
}
