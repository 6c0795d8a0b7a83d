use reflexion::{Event, EventKind, HookResult, Hooks, RunId, TrialId};
use serde_json::json;

use super::support::{Bench, Log, LoggingHooks, run};

fn names(log: &Log<(TrialId, String)>) -> Vec<String> {
    log.all().into_iter().map(|(_, call)| call).collect()
}

#[tokio::test]
async fn every_trial_has_start_reflection_and_end_for_hooks_and_events() {
    let retried = ["start1", "reflection1", "end1:false", "start2"];
    for (good, max_trials, expected) in [
        (1, 3, vec!["start1", "end1:true"]),
        (2, 3, [&retried[..], &["end2:true"]].concat()),
        (9, 2, [&retried[..], &["end2:false"]].concat()),
    ] {
        let (bench, hooks) = (Bench::default(), LoggingHooks::default());
        let log = hooks.log.clone();
        let builder = bench.builder(good).max_trials(max_trials);
        run(builder.hooks(hooks)).await.unwrap();
        assert_eq!(names(&log), expected);
        let events = bench.events.all().into_iter();
        let events: Vec<String> = events.map(|event| name(&event)).collect();
        assert_eq!(events, expected);
    }
}

fn name(event: &Event) -> String {
    match &event.kind {
        EventKind::TrialStart { trial_number } => format!("start{trial_number}"),
        EventKind::ReflectionGenerated { trial_number, .. } => format!("reflection{trial_number}"),
        EventKind::TrialEnd {
            trial_number,
            success,
            ..
        } => format!("end{trial_number}:{success}"),
        other => panic!("unknown event {other:?}"),
    }
}

#[tokio::test]
async fn events_have_stable_json_with_reflection_and_feedback() {
    let bench = Bench::default();
    let run = bench.run(2).await.run_id;
    let expected = [
        ("trial_start", json!({"trial_number": 1})),
        (
            "reflection_generated",
            json!({"trial_number": 1, "reflection": "lesson 1"}),
        ),
        (
            "trial_end",
            json!({"trial_number": 1, "success": false, "feedback": "feedback 1"}),
        ),
        ("trial_start", json!({"trial_number": 2})),
        ("trial_end", json!({"trial_number": 2, "success": true})),
    ];
    let events = bench.events.all();
    assert_eq!(events.len(), expected.len());
    for (event, (kind, data)) in events.into_iter().zip(expected) {
        let json = json!({"run_id": run, "kind": kind, "data": data});
        assert_eq!(json!(event), json);
        assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
    }
}

#[tokio::test]
async fn no_event_follows_a_failed_hook() {
    let (bench, fails_at) = (Bench::default(), "end1:true");
    let hooks = LoggingHooks {
        fails_at,
        ..LoggingHooks::default()
    };
    assert!(run(bench.builder(1).hooks(hooks)).await.is_err());
    let kinds: Vec<EventKind> = bench.events.all().into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [EventKind::TrialStart { trial_number: 1 }]);
}

#[tokio::test]
async fn hooks_are_optional_and_may_be_async() {
    struct OnlyStarts(Log<u32>);
    impl Hooks for OnlyStarts {
        async fn on_trial_start(&self, trial: &TrialId) -> HookResult {
            tokio::task::yield_now().await;
            self.0.add(trial.number);
            Ok(())
        }
    }
    let log = Log::default();
    let builder = Bench::default().builder(2).hooks(OnlyStarts(log.clone()));
    run(builder).await.unwrap();
    assert_eq!(log.all(), [1, 2]);
}

#[tokio::test]
async fn several_hooks_are_called_in_the_order_of_adding() {
    let log = Log::default();
    let mut builder = Bench::default().builder(1);
    for name in ["a ", "b "] {
        let log = log.clone();
        builder = builder.hooks(LoggingHooks {
            name,
            log,
            fails_at: "",
        });
    }
    run(builder).await.unwrap();
    let expected = ["a start1", "b start1", "a end1:true", "b end1:true"];
    assert_eq!(names(&log), expected);
}

#[tokio::test]
async fn events_hooks_attempts_and_outcome_carry_the_same_run_id() {
    let (bench, hooks) = (Bench::default(), LoggingHooks::default());
    let hooked = hooks.log.clone();
    let reflexion = bench.builder(2).hooks(hooks).build().unwrap();
    let (one, two) = tokio::join!(reflexion.run("one"), reflexion.run("two"));
    let (one, two) = (one.unwrap().run_id, two.unwrap().run_id);
    assert_ne!(one, two);
    for run in [&one, &two] {
        let of_run = |ids: Vec<RunId>| ids.iter().filter(|id| *id == run).count();
        let hooked = hooked.all().into_iter();
        assert_eq!(of_run(hooked.map(|(trial, _)| trial.run_id).collect()), 5);
        let events = bench.events.all().into_iter();
        assert_eq!(of_run(events.map(|event| event.run_id).collect()), 5);
        let attempts = bench.attempts.all().into_iter();
        assert_eq!(of_run(attempts.map(|attempt| attempt.run_id).collect()), 2);
    }
}
