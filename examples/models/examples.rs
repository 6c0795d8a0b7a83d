//! Examples as people run them: what they print, and what they record.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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
    let output = run_with(name, &[], folder, input);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

fn run_with(name: &str, arguments: &[&str], folder: &Path, input: &str) -> Output {
    let mut command = Command::new(built(name));
    command.args(arguments);
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
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    // A program that ends before it reads prints the reason.
    let _ = to.write_all(input.as_bytes());
    drop(to);
    child.wait_with_output().unwrap()
}

/// The runs that the interactive example has recorded, the newest first.
async fn recorded(folder: &Path) -> Vec<Trace> {
    let file = folder.join("reflect-interactive-feedback.db");
    let client = ReflectClient::builder().embedded(file).unwrap();
    client.list_traces().await.unwrap().items
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

    // Without an answer, or with half of one, the review is deferred.
    for (runs, input) in [(3, ""), (4, "n\n")] {
        let said = run(input);
        assert!(said.contains("Result:   defer"), "{said}");
        let traces = recorded(folder.path()).await;
        assert_eq!(traces.len(), runs);
        assert_eq!(traces[0].review_status, ReviewStatus::Pending);
        assert!(traces[0].review.is_none());
    }
}

#[test]
fn the_interactive_example_is_offline_only_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = run_with("interactive_feedback_cli", arguments, folder.path(), "d\n");
        let said = String::from_utf8(output.stdout).unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), said, error)
    };
    let (done, said, _) = run(&[]);
    assert!(done && said.starts_with("Memories are kept in "), "{said}");
    for (arguments, problem) in [
        (
            &["--project-id", "p"][..],
            "Set REFLECT_API_KEY or pass --reflect-api-key.\n",
        ),
        (
            &["--base-url", "http://127.0.0.1:9"],
            "Set REFLECT_PROJECT_ID or pass --project-id.\n",
        ),
        (
            &["--reflect-api-key", "k"],
            "Set REFLECT_PROJECT_ID or pass --project-id.\n",
        ),
    ] {
        let (done, said, error) = run(arguments);
        assert!(!done, "{arguments:?}: {said}");
        assert_eq!(error, problem, "{arguments:?}");
    }
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

#[test]
fn an_agent_of_async_openai_learns() {
    let folder = tempfile::tempdir().unwrap();
    let said = run("frameworks", folder.path(), "");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [
            "Refund order 7, please: 0 memories, refunded: true",
            "Refund order 12, please: 1 memories, refunded: false",
        ]
    );
}

#[test]
fn a_stream_is_recorded_to_its_end_and_to_the_hang_up() {
    let folder = tempfile::tempdir().unwrap();
    let said = run("streaming", folder.path(), "");
    let (_, recorded) = said.split_once("recorded, newest first:\n").unwrap();
    let [cut, whole] = recorded.lines().collect::<Vec<_>>()[..] else {
        panic!("{said}");
    };
    assert_eq!(
        whole,
        "  pass       Refund order 7        When was it bought?"
    );
    let begin = "  cancelled  Tell me a long story  and then another order came";
    assert!(cut.starts_with(begin), "{said}");
}
