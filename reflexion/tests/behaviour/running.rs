use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use reflexion::{
    Actor, Attempt, Attempted, BoxError, Evaluation, Evaluator, FailedTrial, Llm, Reflexion,
    SelfReflection, Status, Trajectory,
};

use super::support::{Bench, run};

#[tokio::test]
async fn a_loop_can_be_run_again_and_starts_clean() {
    let bench = Bench::default();
    let reflexion = bench.builder(2).build().unwrap();
    for _ in 0..2 {
        let outcome = reflexion.run("the task").await.unwrap();
        assert_eq!(outcome.trials.len(), 2);
    }
    let attempts = bench.attempts.all();
    assert_eq!(attempts[2].trial, 1);
    assert_eq!(attempts[2].prompt, "the task");
    let (first, second) = attempts.split_at(2);
    for (before, after) in first.iter().zip(second) {
        assert_ne!(before.run_id, after.run_id);
        let mut after = after.clone();
        after.run_id = before.run_id.clone();
        assert_eq!(*before, after);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_concurrent_and_share_nothing() {
    fn assert_shareable<T: Clone + Send + Sync + 'static>(_: &T) {}
    let reflexion = Reflexion::builder(|attempt: Attempt| async move {
        tokio::task::yield_now().await;
        attempt.prompt
    })
    .evaluate_with(|trial| {
        // Passes once the run's own lesson is in its own prompt, and no other is.
        let answer = trial.answer();
        answer.contains(&format!("lesson of {}", trial.task))
            && answer.matches("lesson").count() == 1
    })
    .reflect_with(|failed| format!("lesson of {}", failed.trajectory.task))
    .build()
    .unwrap();
    assert_shareable(&reflexion);

    // All at the first trial before any goes on to its second.
    let runs: Vec<_> = (0..64)
        .map(|i| tokio::spawn(reflexion.run(format!("task-{i}-"))))
        .collect();
    for (i, run) in runs.into_iter().enumerate() {
        let outcome = run.await.unwrap().unwrap();
        assert!(outcome.succeeded());
        assert_eq!(outcome.trials.len(), 2);
        assert_eq!(outcome.trials[0].trajectory.task, format!("task-{i}-"));
    }
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_run_does_nothing_until_polled_and_dropping_it_stops_it() {
    let (stopped, calls) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (guard, counter) = (Arc::clone(&stopped), Arc::clone(&calls));
    let reflexion = Reflexion::builder(move |_: Attempt| {
        counter.fetch_add(1, Ordering::SeqCst);
        let guard = SetOnDrop(Arc::clone(&guard));
        async move {
            let _guard = guard;
            pending::<String>().await
        }
    })
    .evaluate_with(|_| true)
    .max_trials(1)
    .build()
    .unwrap();

    let mut run = reflexion.run("wait for ever");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    let poll = Pin::new(&mut run).poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending());
    assert!(!stopped.load(Ordering::SeqCst));
    drop(run);
    assert!(stopped.load(Ordering::SeqCst));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// A run whose first trial never ends by itself.
async fn run_with_timeout() {
    let reflexion = Reflexion::builder(|attempt: Attempt| async move {
        if attempt.trial == 1 {
            pending::<()>().await;
        }
        "in time"
    })
    .evaluate_with(|_| true)
    .reflect_with(|failed| failed.evaluation.feedback)
    .trial_timeout(Duration::from_millis(1))
    .build()
    .unwrap();
    let outcome = reflexion.run("the task").await.unwrap();
    assert_eq!(outcome.status, Status::Succeeded);
    let reason = "The trial was stopped: it took longer than 1ms.";
    assert_eq!(outcome.memory[0].reflection, reason);
    let trials = &outcome.trials;
    assert_eq!(trials[0].trajectory.halted.as_deref(), Some(reason));
    assert_eq!(trials[0].trajectory.messages.len(), 1);
    assert_eq!(trials[1].trajectory.answer(), "in time");
}

#[tokio::test]
async fn a_trial_that_takes_too_long_has_failed() {
    run_with_timeout().await;
}

#[test]
fn a_timeout_needs_no_runtime() {
    pollster::block_on(run_with_timeout());
}

#[tokio::test]
async fn every_part_can_be_a_type_with_plain_async_methods() {
    struct Agent;
    impl Actor for Agent {
        async fn attempt(&self, attempt: Attempt) -> Result<Attempted, BoxError> {
            tokio::task::yield_now().await;
            Ok(attempt.prompt.into())
        }
    }
    struct Judge;
    impl Evaluator for Judge {
        async fn evaluate(&self, trial: Trajectory) -> Result<Evaluation, BoxError> {
            tokio::task::yield_now().await;
            Ok(trial.answer().contains("HINT").into())
        }
    }
    struct Model;
    impl Llm for Model {
        async fn complete(&self, _: String) -> Result<String, BoxError> {
            Ok("HINT".to_owned())
        }
    }
    struct Coach(Model);
    impl SelfReflection for Coach {
        async fn reflect(&self, failed: FailedTrial) -> Result<String, BoxError> {
            self.0.complete(failed.trajectory.task).await
        }
    }
    let builder = Reflexion::builder(Agent).evaluator(Judge);
    let outcome = run(builder.self_reflection(Coach(Model))).await.unwrap();
    assert_eq!(outcome.trials.len(), 2);
}

#[tokio::test]
async fn every_part_can_be_an_async_closure() {
    let builder = Reflexion::builder(|attempt: Attempt| async move {
        tokio::task::yield_now().await;
        Ok::<_, std::io::Error>(attempt.prompt)
    })
    .evaluator(|trial: Trajectory| async move {
        tokio::task::yield_now().await;
        Ok::<_, BoxError>(trial.answer().contains("HINT"))
    })
    .self_reflection(|failed: FailedTrial| async move {
        tokio::task::yield_now().await;
        format!("HINT for {}", failed.trajectory.task)
    });
    assert_eq!(run(builder).await.unwrap().trials.len(), 2);
}

#[test]
fn a_run_can_block_inside_and_outside_a_runtime_and_its_parts_have_one() {
    let run = || {
        let reflexion = Reflexion::builder(|_: Attempt| async {
            let never = tokio::time::timeout(Duration::ZERO, pending::<()>());
            assert!(never.await.is_err());
            "in time"
        });
        let reflexion = reflexion.evaluate_with(|_| true).max_trials(1);
        let outcome = reflexion.build().unwrap().run_blocking("the task");
        assert_eq!(outcome.unwrap().response(), "in time");
    };
    run();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { run() });
}
