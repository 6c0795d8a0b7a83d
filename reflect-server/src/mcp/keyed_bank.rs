//! The bank of a caller with an API key.

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_types::{
    CreateTrace, Memory, ProjectId, QueryMemories, Review, Scope, Skill, Trace, TraceId,
};

use super::bank::{Bank, Recorded};
use crate::access::{engine, may_create, require};
use crate::app::App;
use crate::error::ApiError;
use crate::keys::Caller;

/// A project of the server, with the scopes and limits of a key.
#[derive(Clone, Debug)]
pub(super) struct KeyedBank {
    pub(super) app: App,
    pub(super) caller: Caller,
    pub(super) project: ProjectId,
}

#[async_trait]
impl Bank for KeyedBank {
    async fn query(&self, query: QueryMemories) -> Result<Vec<Memory>, String> {
        let found = async {
            require(&self.caller, Scope::MemoryRead)?;
            let engine = self.app.engine();
            Ok(engine.query_memories(&self.project, &query).await?)
        };
        told(found.await)
    }

    async fn record(&self, mut run: CreateTrace) -> Result<Recorded, String> {
        let recorded = async {
            let engine = self.engine();
            if let Some(review) = &mut run.review {
                self.lower_alpha(&engine, review).await?;
            }
            may_create(&self.caller, &self.project, &self.app, &mut run).await?;
            let stored = engine.create_trace(&self.project, run).await?;
            let trace = engine.get_trace(&self.project, &stored.trace_id).await?;
            Ok(Recorded {
                trace_id: stored.trace_id,
                ingest_status: stored.ingest_status,
                memory_id: trace.created_memory_id,
            })
        };
        told(recorded.await)
    }

    async fn review(&self, run: &TraceId, mut review: Review) -> Result<Trace, String> {
        let reviewed = async {
            require(&self.caller, Scope::ReviewWrite)?;
            let engine = self.engine();
            self.lower_alpha(&engine, &mut review).await?;
            Ok(engine.review_trace(&self.project, run, review).await?)
        };
        told(reviewed.await)
    }

    async fn skill(&self) -> Result<Option<Skill>, String> {
        let skill = async {
            require(&self.caller, Scope::SkillRead)?;
            Ok(self.app.engine().get_skill(&self.project).await?)
        };
        told(skill.await)
    }
}

impl KeyedBank {
    fn engine(&self) -> Engine {
        engine(&self.caller, &self.app)
    }

    /// Lowers the `alpha` of a review to the limits of the key and the project.
    async fn lower_alpha(&self, engine: &Engine, review: &mut Review) -> Result<(), ApiError> {
        let limits = [
            self.caller.max_alpha(),
            engine.settings(&self.project).await?.max_alpha,
        ];
        let alpha = review.alpha.unwrap_or(engine.default_alpha());
        review.alpha = Some(limits.into_iter().flatten().fold(alpha, f64::min));
        Ok(())
    }
}

/// The error as the agent reads it. Its cause is logged.
fn told<T>(reply: Result<T, ApiError>) -> Result<T, String> {
    reply.map_err(|error| {
        error.log();
        error.detail().to_owned()
    })
}
