use reflexion::{Attempt, Reflexion, Task};

use super::support::{Bench, scripted_llm};

#[tokio::test]
async fn only_the_actor_sees_the_prompt() {
    let bench = Bench::default();
    let reflexion = bench.builder(2).build().unwrap();
    let task = Task::new("the task").prompt("the task\n\n<relevant_memories>…");
    reflexion.run(task).await.unwrap();

    let attempts = bench.attempts.all();
    assert_eq!(attempts[0].prompt, "the task\n\n<relevant_memories>…");
    let second = &attempts[1].prompt;
    assert!(second.ends_with("\n\nthe task\n\n<relevant_memories>…"));
    assert!(bench.tasks().iter().eq(["the task"]));
}

#[tokio::test]
async fn the_models_that_evaluate_and_reflect_see_no_memories() {
    let (prompts, llm) = scripted_llm(&["FAILURE: no", "Do it.", "SUCCESS"]);
    let reflexion = Reflexion::builder(|_: Attempt| async { "answer" })
        .llm(llm)
        .build()
        .unwrap();
    let task = Task::new("the task").prompt("the task\n\n<relevant_memories>…");
    assert!(reflexion.run(task).await.unwrap().succeeded());
    for prompt in prompts.all() {
        assert!(prompt.contains("<task>\nthe task\n</task>"), "{prompt}");
        assert!(!prompt.contains("relevant_memories"), "{prompt}");
    }
}

#[tokio::test]
async fn a_task_may_have_several_inputs() {
    let bench = Bench::default();
    let reflexion = bench.builder(1).build().unwrap();
    let outcome = reflexion.run(["one", "two"]).await.unwrap();
    let attempt = &bench.attempts.all()[0];
    assert_eq!(attempt.inputs, ["one", "two"]);
    assert_eq!((&*attempt.task, &*attempt.prompt), ("one\ntwo", "one\ntwo"));
    let trajectory = &outcome.trials[0].trajectory;
    assert_eq!(trajectory.inputs, ["one", "two"]);
    assert_eq!(trajectory.task, "one\ntwo");
    let json = serde_json::to_value(trajectory).unwrap();
    assert_eq!(json["inputs"], serde_json::json!(["one", "two"]));
}
