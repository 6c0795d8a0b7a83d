use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use reflexion::{
    Actor, Attempt, Attempted, BoxError, Evaluator, FailedTrial, Llm, Reflexion, SelfReflection,
    Status, Trajectory, evaluator_async, reflection_async,
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
fn dropping_a_run_stops_it_at_once() {
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
    assert_eq!(
        calls.load(Ordering::SeqCst),
        0,
        "a run does nothing until polled"
    );
    let poll = Pin::new(&mut run).poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending());
    assert!(!stopped.load(Ordering::SeqCst));
    drop(run);
    assert!(stopped.load(Ordering::SeqCst));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// An actor that hangs in its first trial.
fn hangs_once() -> impl Actor {
    |attempt: Attempt| async move {
        if attempt.trial == 1 {
            pending::<()>().await;
        }
        "in time"
    }
}

#[tokio::test]
async fn a_trial_that_takes_too_long_has_failed() {
    let reflexion = Reflexion::builder(hangs_once())
        .evaluate_with(|_| true)
        .reflect_with(|failed| failed.evaluation.feedback.clone())
        .trial_timeout(Duration::from_millis(1))
        .build()
        .unwrap();
    let outcome = reflexion.run("the task").await.unwrap();
    assert_eq!(outcome.status, Status::Succeeded);
    assert_eq!(
        outcome.memory[0].reflection,
        "The trial was stopped: it took longer than 1ms."
    );
    assert!(outcome.trials[0].trajectory.halted.is_some());
}

#[test]
fn a_timeout_needs_no_runtime() {
    let reflexion = Reflexion::builder(hangs_once())
        .evaluate_with(|_| true)
        .reflect_with(|_| "faster")
        .trial_timeout(Duration::from_millis(1))
        .build()
        .unwrap();
    let mut run = reflexion.run("the task");
    let (sender, receiver) = std::sync::mpsc::channel();
    let waker = Waker::from(Arc::new(Notify(sender)));
    let outcome = loop {
        match Pin::new(&mut run).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(outcome) => break outcome.unwrap(),
            Poll::Pending => receiver.recv().unwrap(),
        }
    };
    assert_eq!(outcome.trials[1].trajectory.answer(), "in time");
    assert_eq!(outcome.trials[0].trajectory.messages.len(), 1);
}

struct Notify(std::sync::mpsc::Sender<()>);

impl std::task::Wake for Notify {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
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
        async fn evaluate(&self, trial: &Trajectory) -> Result<reflexion::Evaluation, BoxError> {
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
        async fn reflect(&self, failed: FailedTrial<'_>) -> Result<String, BoxError> {
            self.0.complete(failed.trajectory.task.clone()).await
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
    .evaluator(evaluator_async(|trial| async move {
        tokio::task::yield_now().await;
        Ok::<_, BoxError>(trial.answer().contains("HINT"))
    }))
    .self_reflection(reflection_async(|failed| async move {
        tokio::task::yield_now().await;
        format!("HINT for {}", failed.trajectory.task)
    }));
    assert_eq!(run(builder).await.unwrap().trials.len(), 2);
}

#[test]
fn a_run_can_block_without_a_runtime() {
    let outcome = Bench::default()
        .builder(2)
        .build()
        .unwrap()
        .run_blocking("the task");
    assert_eq!(outcome.unwrap().response(), "answer 2");
}

#[test]
fn the_parts_of_a_blocking_run_have_a_runtime() {
    let reflexion = Reflexion::builder(|_: Attempt| async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        "in time"
    })
    .evaluate_with(|_| true)
    .max_trials(1)
    .build()
    .unwrap();
    assert!(reflexion.run_blocking("the task").unwrap().succeeded());
}

#[tokio::test]
async fn a_run_can_block_inside_a_runtime() {
    let outcome = Bench::default()
        .builder(1)
        .build()
        .unwrap()
        .run_blocking("the task");
    assert!(outcome.unwrap().succeeded());
}
