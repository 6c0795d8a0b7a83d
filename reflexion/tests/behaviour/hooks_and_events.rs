use reflect_sdk::reflexion::{Evaluation, Event, HookFns, HookResult, Hooks};

use super::support::{Bench, Log, run};

fn recording(log: &Log<String>, name: &'static str) -> HookFns {
    let (start, reflection, end) = (log.clone(), log.clone(), log.clone());
    HookFns::new()
        .on_trial_start(move |trial| {
            start.add(format!("{name}start{trial}"));
        })
        .on_reflection_generated(move |trial, text| {
            assert_eq!(text, format!("lesson {trial}"));
            reflection.add(format!("{name}reflection{trial}"));
        })
        .on_trial_end(move |trial, evaluation| {
            end.add(format!("{name}end{trial}:{}", evaluation.success));
        })
}

/// The hooks and events of a run, each in order.
async fn seen(good: u32, max_trials: u32) -> (Vec<String>, Vec<String>) {
    let (bench, log) = (Bench::default(), Log::default());
    let builder = bench.builder(good).max_trials(max_trials);
    run(builder.hooks(recording(&log, ""))).await.unwrap();
    let events = bench.events.all().into_iter().map(|event| match event {
        Event::TrialStart { trial_number } => format!("start{trial_number}"),
        Event::ReflectionGenerated { trial_number, .. } => format!("reflection{trial_number}"),
        Event::TrialEnd {
            trial_number,
            success,
            ..
        } => format!("end{trial_number}:{success}"),
        other => panic!("unknown event {other:?}"),
    });
    (log.all(), events.collect())
}

// Row 27.
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

// Row 28.
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

// Row 29.
#[tokio::test]
async fn events_carry_reflection_and_feedback() {
    let bench = Bench::default();
    bench.run(2).await;
    let json: Vec<String> = bench
        .events
        .all()
        .iter()
        .map(|event| serde_json::to_string(event).unwrap())
        .collect();
    assert_eq!(
        json,
        [
            r#"{"kind":"trial_start","data":{"trial_number":1}}"#,
            r#"{"kind":"reflection_generated","data":{"trial_number":1,"reflection":"lesson 1"}}"#,
            r#"{"kind":"trial_end","data":{"trial_number":1,"success":false,"feedback":"feedback 1"}}"#,
            r#"{"kind":"trial_start","data":{"trial_number":2}}"#,
            r#"{"kind":"trial_end","data":{"trial_number":2,"success":true}}"#,
        ]
    );
}

// Row 25.
#[tokio::test]
async fn no_event_follows_the_hook_that_failed() {
    let bench = Bench::default();
    let hooks = HookFns::new().on_trial_end(|_, _| Err::<(), _>("enough"));
    assert!(run(bench.builder(1).hooks(hooks)).await.is_err());
    assert_eq!(bench.events.all(), [Event::TrialStart { trial_number: 1 }]);
}

// Row 26.
#[tokio::test]
async fn a_hook_may_stand_alone_and_be_async() {
    struct OnlyEnds(Log<u32>);
    impl Hooks for OnlyEnds {
        async fn on_trial_end(&self, trial: u32, _: &Evaluation) -> HookResult {
            tokio::task::yield_now().await;
            self.0.add(trial);
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
