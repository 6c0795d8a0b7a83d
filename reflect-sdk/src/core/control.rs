//! The share of runs without memories that a project asks for.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reflect_types::{Arm, GetSettings};
use tokio::time::Instant;

use super::Core;
use crate::error::Result;

/// How long a share that was read is used.
const FRESH: Duration = Duration::from_secs(60);

/// The share that was read last, and when.
#[derive(Debug, Default)]
pub(crate) struct ProjectControl(Mutex<Option<(Instant, f64)>>);

impl ProjectControl {
    fn fresh(&self) -> Option<f64> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.and_then(|(read, share)| (read.elapsed() < FRESH).then_some(share))
    }

    fn set(&self, share: f64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Instant::now(), share));
    }
}

impl Core {
    /// The share of runs that are given no memories: the one that is asked for, that of the client, or
    /// that of the project. A server that does not tell has none; one that does not answer is an error.
    pub(crate) async fn control_share(&self, asked: Option<f64>) -> Result<f64> {
        if let Some(share) = asked.or(self.settings.control_share) {
            return Ok(share);
        }
        if let Some(share) = self.project_control.fresh() {
            return Ok(share);
        }
        let share = match self.call(GetSettings).await {
            Ok(settings) => settings.control,
            Err(error) if error.is_unanswered() => return Err(error),
            Err(_) => None,
        };
        let share = share.filter(|share| Arm::check_share(*share).is_ok());
        let share = share.unwrap_or_default();
        self.project_control.set(share);
        Ok(share)
    }
}
