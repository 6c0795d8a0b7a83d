use reflexion::{Evaluation, EventKind, HookFns, HookResult, Hooks, RunId, TrialId};

use super::support::{Bench, Log, run};

fn recording(log: &Log<String>, name: &'static str) -> HookFns {
    let (start, reflection, end) = (log.clone(), log.clone(), log.clone());
    HookFns::new()
        .on_trial_start(move |trial| {
            start.add(format!("{name}start{}", trial.number));
        })
        .on_reflection_generated(move |trial, text| {
            assert_eq!(text, format!("lesson {}", trial.number));
            reflection.add(format!("{name}reflection{}", trial.number));
        })
        .on_trial_end(move |trial, evaluation| {
            end.add(format!("{name}end{}:{}", trial.number, evaluation.success));
        })
}

/// The hooks and events of a run, each in order.
async fn seen(good: u32, max_trials: u32) -> (Vec<String>, Vec<String>) {
    let (bench, log) = (Bench::default(), Log::default());
    let builder = bench.builder(good).max_trials(max_trials);
    run(builder.hooks(recording(&log, ""))).await.unwrap();
    let events = bench
        .events
        .all()
        .into_iter()
        .map(|event| match event.kind {
            EventKind::TrialStart { trial_number } => format!("start{trial_number}"),
            EventKind::ReflectionGenerated { trial_number, .. } => {
                format!("reflection{trial_number}")
            }
            EventKind::TrialEnd {
                trial_number,
                success,
                ..
            } => format!("end{trial_number}:{success}"),
            other => panic!("unknown event {other:?}"),
        });
    (log.all(), events.collect())
}

#[tokio::test]
async fn hooks_come_in_the_order_start_reflection_end() {
    assert_eq!(seen(1, 3).await.0, ["start1", "end1:true"]);
    assert_eq!(
        seen(2, 3).await.0,
        ["start1", "reflection1", "end1:false", "start2", "end2:true"]
    );
    assert_eq!(
        seen(9, 2).await.0,
        [
            "start1",
            "reflection1",
            "end1:false",
            "start2",
            "end2:false"
        ]
    );
}

#[tokio::test]
async fn every_trial_has_its_end_event() {
    assert_eq!(seen(1, 3).await.1, ["start1", "end1:true"]);
    assert_eq!(
        seen(2, 3).await.1,
        ["start1", "reflection1", "end1:false", "start2", "end2:true"]
    );
    let (hooks, events) = seen(9, 3).await;
    assert_eq!(hooks, events);
}

#[tokio::test]
async fn events_carry_reflection_and_feedback() {
    let bench = Bench::default();
    let run = bench.run(2).await.run_id;
    let json: Vec<String> = bench
        .events
        .all()
        .iter()
        .map(|event| serde_json::to_string(event).unwrap())
        .collect();
    assert_eq!(
        json,
        [
            format!(r#"{{"run_id":"{run}","kind":"trial_start","data":{{"trial_number":1}}}}"#),
            format!(
                r#"{{"run_id":"{run}","kind":"reflection_generated","data":{{"trial_number":1,"reflection":"lesson 1"}}}}"#
            ),
            format!(
                r#"{{"run_id":"{run}","kind":"trial_end","data":{{"trial_number":1,"success":false,"feedback":"feedback 1"}}}}"#
            ),
            format!(r#"{{"run_id":"{run}","kind":"trial_start","data":{{"trial_number":2}}}}"#),
            format!(
                r#"{{"run_id":"{run}","kind":"trial_end","data":{{"trial_number":2,"success":true}}}}"#
            ),
        ]
    );
}

#[tokio::test]
async fn no_event_follows_a_failed_hook() {
    let bench = Bench::default();
    let hooks = HookFns::new().on_trial_end(|_, _| Err::<(), _>("enough"));
    assert!(run(bench.builder(1).hooks(hooks)).await.is_err());
    let kinds: Vec<EventKind> = bench.events.all().into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [EventKind::TrialStart { trial_number: 1 }]);
}

#[tokio::test]
async fn hooks_are_optional_and_may_be_async() {
    struct OnlyEnds(Log<u32>);
    impl Hooks for OnlyEnds {
        async fn on_trial_end(&self, trial: &TrialId, _: &Evaluation) -> HookResult {
            tokio::task::yield_now().await;
            self.0.add(trial.number);
            Ok(())
        }
    }
    let log = Log::default();
    let builder = Bench::default().builder(2).hooks(OnlyEnds(log.clone()));
    run(builder).await.unwrap();
    assert_eq!(log.all(), [1, 2]);
}

#[tokio::test]
async fn several_hooks_are_called_in_the_order_of_adding() {
    let log = Log::default();
    let builder = Bench::default()
        .builder(1)
        .hooks(recording(&log, "a "))
        .hooks(recording(&log, "b "));
    run(builder).await.unwrap();
    assert_eq!(
        log.all(),
        ["a start1", "b start1", "a end1:true", "b end1:true"]
    );
}

#[tokio::test]
async fn events_hooks_attempts_and_outcome_carry_the_same_run_id() {
    let (bench, hooked) = (Bench::default(), Log::default());
    let (start, reflection, end) = (hooked.clone(), hooked.clone(), hooked.clone());
    let hooks = HookFns::new()
        .on_trial_start(move |trial| {
            start.add(trial.run_id.clone());
        })
        .on_reflection_generated(move |trial, _| {
            reflection.add(trial.run_id.clone());
        })
        .on_trial_end(move |trial, _| {
            end.add(trial.run_id.clone());
        });
    let reflexion = bench.builder(2).hooks(hooks).build().unwrap();
    let (one, two) = tokio::join!(reflexion.run("one"), reflexion.run("two"));
    let (one, two) = (one.unwrap().run_id, two.unwrap().run_id);
    assert_ne!(one, two);
    for run in [&one, &two] {
        let of_run = |ids: Vec<RunId>| ids.iter().filter(|id| *id == run).count();
        assert_eq!(of_run(hooked.all()), 5);
        let events = bench.events.all().into_iter();
        assert_eq!(of_run(events.map(|event| event.run_id).collect()), 5);
        let attempts = bench.attempts.all().into_iter();
        assert_eq!(of_run(attempts.map(|attempt| attempt.run_id).collect()), 2);
    }
}
