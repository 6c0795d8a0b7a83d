//! The judge: a background task in which a model reviews pending traces.
//!
//! The store is the work list: a judged trace is no longer pending, and the engine refuses the judge's
//! review of a trace that a person reviewed meanwhile. So no review counts twice, after a crash or with
//! several servers on one store.

mod backlog;
mod judgement;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::time::Duration;

use reflect_engine::Engine;
use reflect_models::Judge;
use reflect_types::{ListTraces, Page, ProjectId, ReviewStatus, Trace, TraceId};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::backlog::{Backlog, ProjectBacklog, Scan};
use self::judgement::{JudgeOutcome, is_unreviewed, judge_trace};
use crate::metrics::Metrics;

/// Interval between rounds.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Traces judged at once.
const CONCURRENCY: usize = 4;
/// Traces per page. Traces may be large.
const PAGE: u32 = 20;

/// Judges pending traces until `stopping` is true.
pub(crate) async fn run(
    engine: Engine,
    judge: Judge,
    metrics: &Metrics,
    mut stopping: watch::Receiver<bool>,
) {
    let mut backlog = Backlog::default();
    while !*stopping.borrow() {
        let work = async {
            round(&engine, &judge, metrics, &mut backlog).await;
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        tokio::select! {
            // Unfinished judgements are dropped. Their traces stay pending.
            _ = stopping.wait_for(|stop| *stop) => return,
            () = work => {}
        }
    }
}

/// Judges the due traces of every project once, unless the model is paused.
async fn round(engine: &Engine, judge: &Judge, metrics: &Metrics, backlog: &mut Backlog) {
    if backlog.is_paused() {
        return;
    }
    let projects = match engine.list_projects().await {
        Ok(projects) => projects,
        Err(error) => return tracing::warn!(%error, "the judge cannot list projects"),
    };
    backlog
        .projects
        .retain(|project, _| projects.contains(project));
    for project in projects {
        let mut pending = backlog.projects.remove(&project).unwrap_or_default();
        let round = ProjectRound {
            engine,
            judge,
            metrics,
            project: &project,
        };
        if let Err(error) = round.run(&mut pending, backlog).await {
            tracing::warn!(%project, %error, "the judge cannot list traces");
            pending.full_scan_at = None;
        }
        backlog.projects.insert(project, pending);
        if backlog.is_paused() {
            return;
        }
    }
}

/// One round in one project.
struct ProjectRound<'a> {
    engine: &'a Engine,
    judge: &'a Judge,
    metrics: &'a Metrics,
    project: &'a ProjectId,
}

impl ProjectRound<'_> {
    /// Judges the due traces. Traces are large, so pages are read only as far as needed.
    async fn run(
        &self,
        pending: &mut ProjectBacklog,
        backlog: &mut Backlog,
    ) -> reflect_engine::Result<()> {
        let newest = self.page(1, None).await?.into_iter().next();
        let scan = pending.scan(newest.as_ref().map(|trace| &trace.id));
        if scan == Scan::Nothing {
            return Ok(());
        }
        let (mut still_pending, mut settled) = (HashSet::new(), HashSet::new());
        let mut newest = None;
        let mut before = None;
        loop {
            let page = self.page(PAGE, before.take()).await?;
            let ids: Vec<TraceId> = page.items.iter().map(|trace| trace.id.clone()).collect();
            let next = page.cursor().map(|trace| trace.id.clone());
            let due = page.into_iter().filter(|trace| {
                is_unreviewed(trace) && pending.is_due(&trace.id) && !backlog.has_judged(&trace.id)
            });
            let outcomes = self.judge_all(due.collect()).await;
            backlog.observe(outcomes.iter().map(|(_, outcome)| outcome));
            for (id, outcome) in outcomes {
                self.metrics.judged(outcome.as_str());
                match outcome {
                    JudgeOutcome::Passed | JudgeOutcome::Failed | JudgeOutcome::Overtaken => {
                        pending.failures.remove(&id);
                        backlog.mark_judged(&id);
                        settled.insert(id);
                    }
                    JudgeOutcome::Unclear | JudgeOutcome::Error | JudgeOutcome::Unavailable(_) => {
                        pending.record_failure(id, outcome);
                    }
                }
            }
            if backlog.is_paused() {
                // The model is unavailable for the remaining traces too.
                pending.full_scan_at = None;
                return Ok(());
            }
            if newest.is_none() {
                newest = ids.iter().find(|id| !settled.contains(*id)).cloned();
            }
            let known = pending.newest.as_ref().is_some_and(|id| ids.contains(id));
            still_pending.extend(ids);
            match next {
                Some(_) if scan == Scan::New && known => break,
                Some(next) => before = Some(next),
                None => break,
            }
        }
        pending.newest = newest;
        if scan == Scan::All {
            // Bounded by the number of pending traces.
            pending.failures.retain(|id, _| still_pending.contains(id));
            pending.scanned_all();
        } else {
            pending.scanned_new();
        }
        Ok(())
    }

    async fn page(
        &self,
        limit: u32,
        before: Option<TraceId>,
    ) -> reflect_engine::Result<Page<Trace>> {
        let list = ListTraces {
            review_status: Some(ReviewStatus::Pending),
            limit: Some(limit),
            before,
            ..ListTraces::default()
        };
        self.engine.list_traces(self.project, &list).await
    }

    async fn judge_all(&self, traces: Vec<Trace>) -> Vec<(TraceId, JudgeOutcome)> {
        let mut outcomes = Vec::new();
        let mut judging = JoinSet::new();
        for trace in traces {
            if judging.len() >= CONCURRENCY
                && let Some(Ok(done)) = judging.join_next().await
            {
                outcomes.push(done);
            }
            let (engine, judge) = (self.engine.clone(), self.judge.clone());
            let project = self.project.clone();
            judging.spawn(async move {
                let outcome = judge_trace(&engine, &judge, &project, &trace).await;
                (trace.id, outcome)
            });
        }
        while let Some(done) = judging.join_next().await {
            outcomes.extend(done.ok());
        }
        outcomes
    }
}
