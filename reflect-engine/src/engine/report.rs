//! Reports on the reviewed runs of a project.

use reflect_types::{GetReport, ProjectId, Report};

use super::handle::Engine;
use super::time;
use crate::error::Result;
use crate::report;
use crate::store::TallyQuery;

impl Engine {
    /// The pass rates of a project, and whether memories help: the runs with memories compared with those
    /// of the control arm.
    pub async fn report(&self, project: &ProjectId, get: &GetReport) -> Result<Report> {
        let core = self.checked(project, get)?;
        let at = |field, text: Option<&str>| text.map(|text| time::parse(field, text)).transpose();
        let query = TallyQuery {
            since: at("since", get.since.as_deref())?,
            until: at("until", get.until.as_deref())?,
            by: get.grouping()?,
        };
        let tallies = core.store.tally_runs(project, &query).await?;
        let mut found = report::of_runs(&tallies, query.by.as_ref());
        found.usage = report::by_model(core.store.tally_usage(project, &query).await?);
        let used = core
            .store
            .given_memories(project, report::CONSIDERED)
            .await?;
        (found.helpful, found.harmful) = report::helpful_and_harmful(used);
        for judge in &mut found.judges {
            // Of all times, as for its next review.
            judge.step = core.store.agreement(project, &judge.judge).await?.step();
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use reflect_types::{Arm, Conclusion, CreateTrace, Review, Reviewer, TraceId, Usage, Verdict};
    use serde_json::json;

    use super::*;

    fn project() -> ProjectId {
        ProjectId::from("support")
    }

    async fn run(engine: &Engine, arm: Option<Arm>, customer: &str) -> TraceId {
        let mut trace = CreateTrace::new("Refund order 7", "done");
        // Memories are read, and save a look.
        trace.usage = match arm {
            Some(Arm::Memories) => Some(Usage::new(120, 30)),
            Some(_) => Some(Usage::new(100, 50)),
            None => None,
        };
        trace.arm = arm;
        trace.model = Some("gpt".to_owned());
        trace.metadata.insert("customer".into(), json!(customer));
        let receipt = engine.create_trace(&project(), trace).await.unwrap();
        receipt.trace_id
    }

    async fn review(engine: &Engine, id: &TraceId, review: Review) {
        engine.review_trace(&project(), id, review).await.unwrap();
    }

    fn verdict(pass: bool) -> Review {
        Review::new(if pass { Verdict::Pass } else { Verdict::Fail })
    }

    #[tokio::test]
    async fn the_arms_are_compared_in_all_and_by_group() {
        let engine = Engine::builder().start().unwrap();
        for n in 0..25 {
            let with = run(&engine, Some(Arm::Memories), "acme").await;
            review(&engine, &with, verdict(n < 22)).await;
            let without = run(&engine, Some(Arm::Control), "acme").await;
            review(&engine, &without, verdict(n < 5)).await;
        }
        run(&engine, None, "other \"one\"").await;
        let get = GetReport {
            by: Some("metadata.customer".to_owned()),
            ..GetReport::default()
        };
        let report = engine.report(&project(), &get).await.unwrap();
        assert_eq!((report.traces, report.waiting), (51, 1));
        assert_eq!(report.people.memories.passed, 22);
        assert_eq!(report.people.control.passed, 5);
        assert_eq!(report.people.conclusion, Conclusion::Helps);
        assert_eq!(report.models.all.rate, None);
        let values: Vec<_> = report.groups.iter().map(|g| g.value.as_deref()).collect();
        assert_eq!(values, [Some("acme"), Some("other \"one\"")]);
        assert_eq!(report.groups[0].people, report.people);
        assert_eq!(report.months.len(), 1);
        let [usage] = &report.usage[..] else {
            panic!("{:?}", report.usage)
        };
        assert_eq!(usage.model.as_deref(), Some("gpt"));
        assert_eq!(usage.all.runs, 50);
        assert_eq!(usage.memories.mean(), Some(Usage::new(120, 30)));
        assert_eq!(usage.control.input_tokens, 25 * 100);

        let get = GetReport {
            since: Some("2999-01-01T00:00:00Z".to_owned()),
            ..GetReport::default()
        };
        let later = engine.report(&project(), &get).await.unwrap();
        assert_eq!((later.traces, later.groups.len()), (0, 0));
        let get = GetReport {
            until: Some("yesterday".to_owned()),
            ..GetReport::default()
        };
        let refused = engine.report(&project(), &get).await.unwrap_err();
        assert!(refused.to_string().contains("RFC 3339"), "{refused}");
    }

    #[tokio::test]
    async fn a_judge_that_disagrees_with_people_learns_in_smaller_steps() {
        let engine = Engine::builder().start().unwrap();
        let judged = |pass| Review {
            reviewer: Reviewer::model("m"),
            ..verdict(pass).alpha(0.2)
        };
        let alpha = async |engine: &Engine| {
            let id = run(engine, None, "acme").await;
            review(engine, &id, judged(true)).await;
            let trace = engine.get_trace(&project(), &id).await.unwrap();
            let memory = trace.created_memory_id.unwrap();
            let memory = engine.get_memory(&project(), &memory).await.unwrap();
            memory.memory.alpha.unwrap()
        };
        assert!((alpha(&engine).await - 0.2).abs() < 1e-9);
        for n in 0..20 {
            let id = run(&engine, None, "acme").await;
            review(&engine, &id, judged(n % 2 == 0)).await;
            let person = verdict(n % 2 == 1);
            engine.change_review(&project(), &id, person).await.unwrap();
        }
        assert!((alpha(&engine).await - 0.02).abs() < 1e-9);
        let report = engine.report(&project(), &GetReport::default()).await;
        let [judge] = &report.unwrap().judges[..] else {
            unreachable!("one model has judged")
        };
        assert_eq!(
            (judge.alone, judge.compared, judge.kappa),
            (2, 20, Some(-1.0))
        );
        assert!((judge.step - 0.1).abs() < 1e-9);
    }
}
