//! Evaluations of a command.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::support::{errors, json, on_file, reflect};

/// `reflect eval` of these tasks with a shell command.
fn eval(folder: &Path, tasks: &str, options: &[&str], script: &str) -> Command {
    let file = folder.join("tasks.txt");
    std::fs::write(&file, tasks).unwrap();
    let mut eval = reflect();
    eval.arg("eval").arg(file).args(options).arg("--data");
    eval.arg(folder.join("reflect.db"))
        .args(["--", "sh", "-c", script]);
    eval
}

fn listed(folder: &Path, what: &str) -> Value {
    json(&on_file(&folder.join("reflect.db"), &[what, "--json"], ""))
}

#[test]
fn each_task_is_recorded_and_reviewed_by_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = "Refund order 7\n{\"task\": \"Refund order 8\", \"metadata\": {\"set\": \"b\"}}\n";
    // It fails until it is given what the first failure taught.
    let script = r#"cat >/dev/null; echo "did $REFLECT_TASK"
        case "$REFLECT_PROMPT" in *"check the date"*) exit 0;; esac
        echo "check the date" >&2; exit 3"#;
    let options = ["--control", "0", "--metadata", "eval=e", "--json"];
    let output = eval(folder.path(), tasks, &options, script)
        .output()
        .unwrap();
    let progress = errors(&output);
    assert!(
        progress
            .contains("fail with 0 memories: Refund order 7\npass with 1 memory: Refund order 8\n"),
        "{progress}"
    );
    let summary = json(&output);
    assert_eq!(
        (&summary["tasks"], &summary["done"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(summary["all"]["passed"], 1);
    let traces = listed(folder.path(), "traces");
    assert_eq!(traces[0]["review"]["result"], "pass");
    assert_eq!(traces[0]["metadata"], json!({"eval": "e", "set": "b"}));
    assert_eq!(traces[0]["final_response"], "did Refund order 8");
    assert_eq!(
        traces[0]["retrieved_memory_ids"][0],
        traces[1]["created_memory_id"]
    );
    let feedback = traces[1]["review"]["feedback_text"].as_str().unwrap();
    assert!(feedback.starts_with("check the date\n"), "{feedback}");
}

#[test]
fn a_share_of_the_tasks_gets_no_memories() {
    let folder = tempfile::tempdir().unwrap();
    let script = "test -z \"$REFLECT_MEMORIES\" && test \"$(cat)\" = \"$REFLECT_TASK\"";
    let options = ["--control", "1", "--json"];
    let summary = json(
        &eval(folder.path(), "Pay\nPay\n", &options, script)
            .output()
            .unwrap(),
    );
    assert_eq!(summary["control"]["passed"], 2, "{summary}");
    assert_eq!(listed(folder.path(), "traces")[0]["arm"], "control");
    let table = eval(folder.path(), "Pay\n", &[], "true").output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(
        table.contains("1 of 1 task run") && table.contains("WITH MEMORIES"),
        "{table}"
    );
}

#[test]
fn a_task_over_its_time_is_a_fail_with_what_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--timeout", "1", "--control", "0", "--json"];
    let script = "echo begun; sleep 60";
    let summary = json(
        &eval(folder.path(), "Pay\n", &options, script)
            .output()
            .unwrap(),
    );
    assert_eq!(summary["all"]["failed"], 1);
    let trace = &listed(folder.path(), "traces")[0];
    assert_eq!(trace["final_response"], "begun");
    let feedback = trace["review"]["feedback_text"].as_str().unwrap();
    assert!(feedback.contains("longer than 1 s"), "{feedback}");
}

#[test]
fn a_signal_ends_the_command_and_shows_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("running");
    let script = format!(
        "test \"$REFLECT_TASK\" = Pay || {{ touch {}; sleep 60; }}",
        marker.display()
    );
    let options = ["--control", "0", "--json"];
    let mut eval = eval(folder.path(), "Pay\nWait\nPay\n", &options, &script);
    let eval = eval
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !marker.exists() {
        std::thread::yield_now();
    }
    let id = eval.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let ended = eval.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(
        errors(&ended).contains("stopped after 1 task;"),
        "{}",
        errors(&ended)
    );
    let summary: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(
        (&summary["done"], &summary["all"]["passed"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(listed(folder.path(), "traces").as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_run_records_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (tasks, script, said) in [
        ("", "true", "no tasks"),
        ("{\"task\": 1}", "true", "line 1"),
        ("Pay", "no-such-agent", "cannot be run"),
    ] {
        let refused = eval(folder.path(), tasks, &[], script).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(errors(&refused).contains(said), "{}", errors(&refused));
    }
    assert_eq!(listed(folder.path(), "traces"), json!([]));
}
