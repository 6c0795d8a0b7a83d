use reflexion::{Attempt, MemoryEntry};

use super::support::{Bench, run};

fn trials(attempt: &Attempt) -> Vec<u32> {
    attempt.memory.iter().map(|entry| entry.trial).collect()
}

#[tokio::test]
async fn with_memory_size_0_reflections_are_reported_and_never_shown() {
    let bench = Bench::default();
    let outcome = run(bench.builder(u32::MAX).memory_size(0)).await.unwrap();
    assert_eq!(bench.reflected.len(), 2);
    assert_eq!(outcome.reflections().count(), 2);
    assert!(outcome.memory.is_empty());
    for attempt in bench.attempts.all() {
        assert_eq!(attempt.prompt, "the task");
    }
}

#[tokio::test]
async fn a_memory_larger_than_the_trials_is_fine() {
    let bench = Bench::default();
    let outcome = run(bench.builder(u32::MAX).memory_size(usize::MAX)).await;
    assert_eq!(outcome.unwrap().memory.len(), 2);
}

#[tokio::test]
async fn a_full_memory_drops_the_oldest_and_the_outcome_keeps_all() {
    let bench = Bench::default();
    let builder = bench.builder(u32::MAX).max_trials(5).memory_size(2);
    let outcome = run(builder).await.unwrap();
    let shown: Vec<Vec<u32>> = bench.attempts.all().iter().map(trials).collect();
    assert_eq!(shown, [vec![], vec![1], vec![1, 2], vec![2, 3], vec![3, 4]]);
    let last = &bench.attempts.all()[4].prompt;
    let (third, fourth) = (
        last.find("After trial 3: lesson 3"),
        last.find("After trial 4: lesson 4"),
    );
    assert!(third.is_some() && third < fourth, "{last}");
    assert!(!last.contains("lesson 2"));
    assert_eq!(outcome.reflections().count(), 4);
    assert_eq!(outcome.memory.len(), 2);
}

#[tokio::test]
async fn the_first_prompt_is_the_task_byte_for_byte() {
    for task in ["", " \n", "a {{task}} b\r\n", "emoji 🦀"] {
        let bench = Bench::default();
        let reflexion = bench.builder(1).build().unwrap();
        reflexion.run(task).await.unwrap();
        assert_eq!(bench.attempts.all()[0].prompt, task);
        assert_eq!(bench.attempts.all()[0].task, task);
    }
}

#[tokio::test]
async fn a_reflection_is_written_knowing_the_earlier_ones() {
    let bench = Bench::default();
    bench.run(u32::MAX).await;
    let reflected = bench.reflected.all();
    assert!(
        reflected
            .iter()
            .map(|failed| failed.memory.len())
            .eq([0, 1])
    );
    assert_eq!(reflected[1].memory[0].reflection, "lesson 1");
}

#[tokio::test]
async fn memory_is_carried_to_another_run_when_asked() {
    let bench = Bench::default();
    let reflexion = bench.builder(2).memory_size(2).build().unwrap();
    let first = reflexion.run("the task").await.unwrap();
    assert_eq!(first.memory.len(), 1);

    let second = reflexion
        .run_with("another", first.memory.clone())
        .await
        .unwrap();
    let opening = &bench.attempts.all()[2];
    assert_eq!(opening.trial, 1);
    assert_eq!(opening.memory, first.memory);
    assert!(opening.prompt.contains("lesson 1") && opening.prompt.ends_with("\n\nanother"));
    assert_eq!(second.memory.len(), 2);

    // Only the latest entries are kept, as many as the memory holds.
    let many = (1..=9).map(|trial| MemoryEntry {
        trial,
        reflection: format!("old {trial}"),
    });
    reflexion.run_with("third", many).await.unwrap();
    assert_eq!(trials(&bench.attempts.all()[4]), [8, 9]);
}
