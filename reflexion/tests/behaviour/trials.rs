use std::future::ready;
use std::time::{Duration, SystemTime};

use reflexion::{
    Attempt, Attempted, Evaluation, EventKind, Message, Reflexion, ReflexionError, Status,
    TrialContext,
};

use super::support::{Bench, attempt_once, run, scripted_llm};

#[tokio::test]
async fn success_in_the_first_trial_needs_no_reflection() {
    let bench = Bench::default();
    let outcome = bench.run(1).await;
    assert_eq!(outcome.status, Status::Succeeded);
    assert_eq!(outcome.trials.len(), 1);
    assert_eq!(bench.attempts.len(), 1);
    assert_eq!(bench.reflected.len(), 0);
    assert!(outcome.memory.is_empty());
    assert_eq!(outcome.response(), "answer 1");
}

#[tokio::test]
async fn a_failure_is_reflected_on_and_the_next_prompt_is_memory_and_task() {
    let bench = Bench::default();
    let outcome = bench.run(2).await;
    assert_eq!(outcome.status, Status::Succeeded);
    assert_eq!(bench.reflected.len(), 1);
    let second = &bench.attempts.all()[1];
    assert_eq!(second.memory.len(), 1);
    let memory = second.prompt.strip_suffix("the task").unwrap();
    assert!(memory.contains("After trial 1: lesson 1"), "{memory}");
    assert_eq!(second.task, "the task");
}

#[tokio::test]
async fn an_exhausted_run_is_marked_and_keeps_every_attempt() {
    let bench = Bench::default();
    let outcome = bench.run(u32::MAX).await;
    assert_eq!(outcome.status, Status::Exhausted);
    let answers = outcome.trials.iter().map(|trial| trial.trajectory.answer());
    assert!(answers.eq(["answer 1", "answer 2", "answer 3"]));

    let error = outcome.into_success().unwrap_err();
    assert_eq!(error.to_string(), "the task was not done in 3 trials");
    assert!(matches!(&error, ReflexionError::Exhausted(all) if all.trials.len() == 3));
    assert_eq!(error.into_partial().unwrap().response(), "answer 3");
    assert!(bench.run(2).await.into_success().is_ok());
}

#[tokio::test]
async fn the_last_failure_is_reflected_on_only_when_asked() {
    let bench = Bench::default();
    let outcome = bench.run(u32::MAX).await;
    assert!(outcome.reflections().eq(["lesson 1", "lesson 2"]));
    assert_eq!(outcome.trials[2].reflection, None);

    let bench = Bench::default();
    let builder = bench.builder(u32::MAX).reflect_on_last_failure(true);
    let outcome = run(builder).await.unwrap();
    assert_eq!(outcome.trials[2].reflection.as_deref(), Some("lesson 3"));
    assert_eq!(outcome.memory[2].trial, 3);
}

#[tokio::test]
async fn the_response_is_the_last_and_the_best_goes_by_success_then_score() {
    let cases: [(&[_; 3], u32); 5] = [
        (&[(false, Some(0.9)), (false, Some(0.2)), (false, None)], 1),
        (&[(false, Some(0.5)), (false, Some(0.5)), (false, None)], 2),
        (&[(false, None), (false, None), (false, None)], 3),
        (&[(false, Some(-1.0)), (false, None), (false, None)], 1),
        (&[(false, Some(0.9)), (true, Some(0.1)), (true, None)], 2),
    ];
    for (evaluations, best) in cases {
        let evaluations = evaluations.to_vec();
        let exhausted = evaluations.iter().all(|(success, _)| !success);
        let builder = Bench::default().builder(0).evaluate_with(move |trial| {
            let (success, score) = evaluations[trial.trial as usize - 1];
            let evaluation = Evaluation::from(success);
            score.map_or(evaluation.clone(), |score| evaluation.score(score))
        });
        let outcome = run(builder).await.unwrap();
        assert_eq!(outcome.best().unwrap().number(), best);
        assert_eq!(outcome.response() == "answer 3", exhausted);
    }
}

#[tokio::test]
async fn a_score_that_cannot_be_compared_does_not_reach_the_outcome() {
    let builder = Bench::default().builder(0).evaluate_with(|trial| {
        let mut evaluation = Evaluation::from(trial.trial == 2);
        evaluation.score = [Some(f64::NAN), None][trial.trial as usize - 1];
        evaluation
    });
    let outcome = run(builder).await.unwrap();
    assert_eq!(outcome.trials[0].score(), None);
    assert_eq!(outcome.trials[1].score(), None, "not given is not 0");
    let json = serde_json::to_value(&outcome).unwrap();
    let evaluation = &json["trials"][1]["evaluation"];
    assert_eq!(*evaluation, serde_json::json!({"success": true}));
}

#[tokio::test]
async fn each_trial_starts_fresh_unless_the_last_attempt_is_configured() {
    let bench = Bench::default();
    let outcome = bench.run(3).await;
    for attempt in bench.attempts.all() {
        assert_eq!(attempt.previous, None);
        assert!(!attempt.prompt.contains("answer"), "{}", attempt.prompt);
    }
    // A trial's messages are its own: the task and one answer.
    for trial in &outcome.trials {
        assert_eq!(trial.trajectory.messages.len(), 2);
    }

    let bench = Bench::default();
    let builder = bench.builder(3).trial_context(TrialContext::LastAttempt);
    run(builder.memory_size(0)).await.unwrap();
    let attempts = bench.attempts.all();
    assert_eq!(attempts[0].prompt, "the task");
    assert_eq!(attempts[1].previous.as_ref().unwrap().answer(), "answer 1");
    assert!(attempts[2].prompt.contains("answer 2"));
    assert!(!attempts[2].prompt.contains("answer 1"));
    assert!(attempts[2].prompt.ends_with("\n\nthe task"));
}

#[tokio::test]
async fn a_blank_reflection_is_replaced_by_the_feedback_or_not_stored() {
    let bench = Bench::default();
    let outcome = run(bench.builder(2).reflect_with(|_| " \n "))
        .await
        .unwrap();
    assert_eq!(outcome.memory[0].reflection, "feedback 1");

    let bench = Bench::default();
    let builder = bench
        .builder(0)
        .evaluate_with(|trial| trial.trial == 2)
        .reflect_with(|_| "");
    let outcome = run(builder).await.unwrap();
    assert!(outcome.succeeded());
    assert!(outcome.memory.is_empty());
    assert_eq!(outcome.trials[0].reflection, None);
    assert_eq!(bench.attempts.all()[1].prompt, "the task");
    for event in bench.events.all() {
        assert!(!matches!(event.kind, EventKind::ReflectionGenerated { .. }));
    }
}

#[tokio::test]
async fn every_trial_has_a_beginning_and_an_end() {
    let before = SystemTime::now();
    let outcome = Bench::default().run(3).await;
    for trial in &outcome.trials {
        let trajectory = &trial.trajectory;
        assert!(trajectory.started_at >= before - Duration::from_millis(1));
        assert!(trajectory.started_at <= trajectory.ended_at);
    }
    let json = serde_json::to_value(&outcome).unwrap();
    assert!(json["trials"][0]["trajectory"]["started_at"].is_u64());
    assert_eq!(json["status"], "succeeded");
    assert_eq!(json["trials"][0]["evaluation"]["feedback"], "feedback 1");
    assert_eq!(json["memory"][0]["trial"], 1);
}

#[tokio::test]
async fn a_halted_trial_fails_without_an_evaluation() {
    let bench = Bench::default();
    let attempt = |attempt: Attempt| async move {
        if attempt.trial == 1 {
            let steps = vec![Message::assistant("still searching")];
            return Attempted::halted("out of steps").messages(steps);
        }
        Attempted::from("found")
    };
    let judged = bench.judged.clone();
    let reflexion = Reflexion::builder(attempt)
        .evaluate_with(move |trial| {
            judged.add(trial.clone());
            true
        })
        .reflect_with(|failed| format!("because {}", failed.evaluation.feedback))
        .build()
        .unwrap();
    let outcome = reflexion.run("search").await.unwrap();
    assert!(outcome.succeeded());
    assert_eq!(bench.judged.len(), 1);
    let halted = &outcome.trials[0];
    assert_eq!(halted.trajectory.halted.as_deref(), Some("out of steps"));
    assert_eq!(halted.evaluation, Some(Evaluation::fail("out of steps")));
    assert_eq!(outcome.memory[0].reflection, "because out of steps");
}

#[tokio::test]
async fn an_answer_may_have_no_text_or_several() {
    for texts in [vec![], vec!["one", "two"]] {
        let expected = texts.join("\n");
        let actor = move |_: Attempt| ready(Attempted::default().response(texts.clone()));
        let outcome = attempt_once(actor).await.unwrap();
        assert_eq!(outcome.response(), expected);
    }
}

#[tokio::test]
async fn one_model_can_act_judge_and_reflect() {
    let replies = &[
        "first",
        "FAILURE: short",
        "Write more.",
        "second",
        "SUCCESS",
    ];
    let (prompts, llm) = scripted_llm(replies);
    let outcome = Reflexion::new(llm).run("write").await.unwrap();
    assert!(outcome.succeeded());
    assert_eq!(outcome.response(), "second");
    let prompts = prompts.all();
    assert_eq!(prompts[0], "write");
    assert!(prompts[3].contains("After trial 1: Write more."));
    let messages = &outcome.trials[1].trajectory.messages;
    assert_eq!(messages[0].text(), prompts[3]);
    assert_eq!(messages[1], Message::assistant("second"));
}

#[tokio::test]
async fn one_model_for_everything_takes_options() {
    let (prompts, llm) = scripted_llm(&["first", "FAILURE: too short"]);
    let reflexion = Reflexion::with_llm(llm).max_trials(1).build().unwrap();
    let outcome = reflexion.run("write").await.unwrap();
    assert_eq!(outcome.status, Status::Exhausted);
    assert_eq!(prompts.len(), 2);
}

#[test]
fn the_defaults_are_three_trials_and_three_reflections() {
    assert_eq!(reflexion::DEFAULT_MAX_TRIALS, 3);
    assert_eq!(reflexion::DEFAULT_MEMORY_SIZE, 3);
}
