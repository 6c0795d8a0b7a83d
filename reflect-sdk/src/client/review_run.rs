use std::sync::Arc;

use reflect_types::{InvalidField, Review, ReviewByKey, ReviewTrace, Trace, Validate};
use tokio::time::timeout_at;

use super::ReflectClient;
use super::call::{Action, Call, CallContext};
use crate::core::{Core, far};
use crate::error::{Error, Result};
use crate::outbox::Delivery;

/// Reviews a run; see [`ReflectClient::review_run`].
#[derive(Clone, Debug)]
pub struct ReviewRun {
    by_key: ReviewByKey,
    /// That of a run of this client.
    delivery: Option<Arc<Delivery>>,
}

impl<M> ReflectClient<M> {
    /// Reviews the run with this ID, which its context [has from the start](crate::TraceContext::run_id).
    ///
    /// The run need not have arrived: one of this client that is open or on its way is waited for, within the
    /// client's [deadline](crate::ClientBuilder::deadline). Do not wait for it within the run itself, which it
    /// would keep open. A run that does not arrive is [`Error::NotArrived`].
    ///
    /// ```no_run
    /// use reflect_sdk::{ReflectClient, Review, TraceContext, reflect_trace};
    ///
    /// /// Shows the answer with the ID of its run, which a thumb sends back.
    /// #[reflect_trace(client = client, task = question)]
    /// async fn answer(ctx: &TraceContext, client: &ReflectClient, question: &str, run: &mut String) -> String {
    ///     *run = ctx.run_id().to_owned();
    ///     my_agent(ctx.augmented_task()).await
    /// }
    ///
    /// async fn thumb_down(client: &ReflectClient, run: &str, comment: &str) -> reflect_sdk::Result<()> {
    ///     client.review_run(run, Review::fail(comment)).await?;
    ///     Ok(())
    /// }
    /// # async fn my_agent(task: &str) -> String { task.to_uppercase() }
    /// ```
    pub fn review_run(
        &self,
        run_id: impl Into<String>,
        review: impl Into<Review>,
    ) -> Call<ReviewRun, M> {
        let by_key = ReviewByKey::new(run_id, review);
        let run_id = by_key.idempotency_key.as_deref();
        self.call(ReviewRun {
            delivery: run_id.and_then(|id| self.handle().delivery_of(id)),
            by_key,
        })
    }
}

impl Action for ReviewRun {
    type Output = Trace;

    fn check(&self) -> Result<(), InvalidField> {
        self.by_key.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Trace> {
        let Self { by_key, delivery } = self;
        if let Some(delivery) = delivery {
            return review_once_arrived(&core, &delivery, by_key.review).await;
        }
        let run_id = by_key.idempotency_key.clone().unwrap_or_default();
        core.call(by_key).await.map_err(|error| match error.status() {
            Some(404) => Error::NotArrived {
                run_id,
                reason: format!(
                    "it is none of this client's runs that are open or on their way, and the server answers: \
                     {error}. Look at the ID, and whether the process of the run has delivered it \
                     (`client.stats()` there), then review it again"
                ),
            },
            _ => error,
        })
    }
}

/// Waits for a run to arrive, and reviews it, within the client's deadline.
pub(crate) async fn review_once_arrived(
    core: &Core,
    delivery: &Delivery,
    review: Review,
) -> Result<Trace> {
    let limit = core.settings.deadline;
    let deadline = far(limit);
    let run_id = delivery.run_id();
    let arrived = timeout_at(deadline, delivery.wait()).await.map_err(|_| {
        Error::timeout(
            format!("waiting for the run `{run_id}`, to review it,"),
            limit,
        )
    })?;
    let receipt = arrived.map_err(|error| Error::NotArrived {
        run_id: run_id.to_string(),
        reason: error.to_string(),
    })?;
    let reviewing = core.call(ReviewTrace::new(receipt.trace_id, review));
    let reviewed = timeout_at(deadline, reviewing).await;
    reviewed.unwrap_or_else(|_| {
        Err(Error::timeout(
            format!("the review of the run `{run_id}`"),
            limit,
        ))
    })
}
