//! Two examples as people run them: what they are told, and what they then record.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reflect_sdk::{ReflectClient, ReviewStatus, Trace, Verdict};

/// The example as `cargo test` has built it, beside its tests.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let example = folder.join("examples").join(file);
    assert!(
        example.exists(),
        "{}: build it with `cargo build --examples`",
        example.display()
    );
    example
}

/// Runs an example offline, with its own folder for temporary files, and gives what it printed.
fn run(name: &str, folder: &Path, input: &str) -> String {
    let mut command = Command::new(built(name));
    for (variable, _) in std::env::vars() {
        if variable.starts_with("REFLECT_") || variable.starts_with("OPENAI_") {
            command.env_remove(variable);
        }
    }
    for variable in ["TMPDIR", "TMP", "TEMP"] {
        command.env(variable, folder);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    to.write_all(input.as_bytes()).unwrap();
    drop(to);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

/// The runs that the interactive example has recorded, the newest first.
async fn recorded(folder: &Path) -> Vec<Trace> {
    let file = folder.join("reflect-interactive-feedback.db");
    let client = ReflectClient::builder().embedded(file).unwrap();
    client.list_traces().await.unwrap()
}

#[tokio::test]
async fn what_is_said_to_the_interactive_example_is_recorded_and_learned() {
    let folder = tempfile::tempdir().unwrap();
    let run = |input: &str| run("interactive_feedback_cli", folder.path(), input);

    let said = run("n\nShe founded Reflect.\n");
    assert!(said.contains("Retrieved 0 relevant memories."), "{said}");
    assert!(said.contains("Result:   fail"), "{said}");
    assert!(said.contains("Memory created: "), "{said}");
    let traces = recorded(folder.path()).await;
    let review = traces[0].review.as_ref().unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert_eq!(
        review.feedback_text.as_deref(),
        Some("She founded Reflect.")
    );

    let said = run("what?\ny\n");
    assert!(said.contains("Retrieved 1 relevant memories."), "{said}");
    assert!(said.contains("Please enter 'y', 'n', or 'd'."), "{said}");
    assert!(said.contains("I was told: "), "{said}");
    let traces = recorded(folder.path()).await;
    assert_eq!(traces.len(), 2);
    let review = traces[0].review.as_ref().unwrap();
    assert_eq!(
        (review.result, &review.feedback_text),
        (Verdict::Pass, &None)
    );

    let said = run("");
    assert!(said.contains("Result:   defer"), "{said}");
    let traces = recorded(folder.path()).await;
    assert_eq!(traces.len(), 3);
    assert_eq!(traces[0].review_status, ReviewStatus::Pending);
}

#[test]
fn the_pass_rate_of_the_batch_rises() {
    let folder = tempfile::tempdir().unwrap();
    let said = run("batch_eval", folder.path(), "");
    let rates: Vec<u32> = said
        .lines()
        .filter_map(|line| line.strip_suffix('%')?.split_whitespace().last())
        .map(|rate| rate.parse().unwrap())
        .collect();
    let [first, .., last] = rates[..] else {
        panic!("no rates in {said}");
    };
    assert!(first < last, "{said}");
    assert!(rates.is_sorted(), "{said}");
}
