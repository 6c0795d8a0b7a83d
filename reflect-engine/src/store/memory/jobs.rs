use jiff::Timestamp;
use reflect_types::{IngestStatus, ProjectId, Trace, TraceId};

use super::book::Book;
use crate::store::{Claims, Job as Claimed, Lease, Retried, Setback};

#[derive(Debug)]
pub(super) struct Job {
    pub(super) project: ProjectId,
    pub(super) owner: Option<String>,
    /// While the job is held, when its lease ends: in both cases others may take it from then.
    due: Timestamp,
    attempts: u32,
}

impl Job {
    pub(super) fn new(project: ProjectId, due: Timestamp) -> Self {
        Self {
            project,
            owner: None,
            due,
            attempts: 0,
        }
    }

    /// The same after a first attempt that failed elsewhere.
    pub(super) fn after_one(self) -> Self {
        Self {
            attempts: 1,
            ..self
        }
    }
}

impl Book {
    pub(super) fn claim(&mut self, now: Timestamp, lease: &Lease, limit: usize) -> Claims {
        let mut due: Vec<(Timestamp, i64)> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.due <= now)
            .map(|(key, job)| (job.due, *key))
            .collect();
        due.sort_unstable();
        due.truncate(limit);
        let mut jobs = Vec::new();
        for (_, key) in due {
            let Some(job) = self.jobs.get_mut(&key) else {
                continue;
            };
            let shelf = self.projects.get_mut(&job.project);
            let Some(run) = shelf.and_then(|shelf| shelf.runs.get_mut(&key)) else {
                continue;
            };
            let Some(review) = &run.review else { continue };
            job.owner = Some(lease.owner.clone());
            job.due = lease.until;
            job.attempts += 1;
            run.trace.ingest_status = IngestStatus::Processing;
            run.trace.ingest_attempts = job.attempts;
            jobs.push(Claimed {
                project: job.project.clone(),
                trace: run.trace.clone(),
                review: review.clone(),
                attempts: job.attempts,
            });
        }
        Claims {
            jobs,
            next_due: self.jobs.values().map(|job| job.due).min(),
        }
    }

    pub(super) fn renew(&mut self, lease: &Lease, project: &ProjectId, id: &TraceId) -> bool {
        let held = self.held(&lease.owner, project, id);
        held.map(|(_, job)| job.due = lease.until).is_some()
    }

    pub(super) fn fail(
        &mut self,
        owner: &str,
        project: &ProjectId,
        id: &TraceId,
        setback: Setback,
    ) {
        let held = self.held(owner, project, id);
        let Some((key, job)) = held else { return };
        if let Some(at) = setback.next.due() {
            job.owner = None;
            job.due = at;
        } else {
            self.jobs.remove(&key);
        }
        self.mark(project, key, |trace| {
            trace.ingest_status = setback.next.status();
            trace.last_ingest_error = Some(setback.error);
        });
    }

    /// The job of a run, if the owner has it.
    fn held(&mut self, owner: &str, project: &ProjectId, id: &TraceId) -> Option<(i64, &mut Job)> {
        let key = *self.projects.get(project)?.run_keys.get(id)?;
        let job = self.jobs.get_mut(&key)?;
        (job.owner.as_deref() == Some(owner)).then_some((key, job))
    }

    pub(super) fn has_job(&self, project: &ProjectId, id: &TraceId) -> bool {
        let key = self
            .projects
            .get(project)
            .and_then(|shelf| shelf.run_keys.get(id));
        key.is_some_and(|key| self.jobs.contains_key(key))
    }

    pub(super) fn release(&mut self, owner: &str) {
        let mut released = Vec::new();
        for (key, job) in &mut self.jobs {
            let held = job.owner.as_deref();
            if held.is_some_and(|held| held.starts_with(owner)) {
                job.owner = None;
                job.due = Timestamp::UNIX_EPOCH;
                job.attempts -= 1;
                released.push((*key, job.project.clone()));
            }
        }
        for (key, project) in released {
            self.mark(&project, key, |trace| {
                trace.ingest_status = IngestStatus::Queued;
                trace.ingest_attempts -= 1;
            });
        }
    }

    pub(super) fn retry(&mut self, project: &ProjectId, id: &TraceId, now: Timestamp) -> Retried {
        let shelf = self.projects.get_mut(project);
        let key = shelf.and_then(|shelf| shelf.run_keys.get(id).copied());
        let Some(key) = key else {
            return Retried::NoTrace;
        };
        let mut failed = false;
        self.mark(project, key, |trace| {
            failed = trace.ingest_status == IngestStatus::Failed;
            if failed {
                trace.ingest_status = IngestStatus::Queued;
                trace.ingest_attempts = 0;
            }
        });
        if !failed {
            return Retried::NotFailed;
        }
        self.jobs.insert(key, Job::new(project.clone(), now));
        Retried::Done
    }

    fn mark(&mut self, project: &ProjectId, key: i64, change: impl FnOnce(&mut Trace)) {
        let shelf = self.projects.get_mut(project);
        if let Some(run) = shelf.and_then(|shelf| shelf.runs.get_mut(&key)) {
            change(&mut run.trace);
        }
    }
}
