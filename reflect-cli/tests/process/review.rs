//! Reviews from the command line.

use std::io::Write as _;
use std::process::Stdio;

use reflect_sdk::{Message, ReflectClient, ToolCall};
use serde_json::{Value, json};

use super::support::{KEY, Server, errors, json, on_file, reflect, two_pending};

#[test]
fn reviewer_is_asked_about_every_pending_run() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    // The oldest comes first: fail the refund with a reason, then defer the plants.
    let tally = json(&on_file(
        &data,
        &["review", "--json"],
        "what\nn\nIt was too late\nd\n",
    ));
    assert_eq!(
        tally,
        json!({"passed": 0, "failed": 1, "deferred": 1, "refused": 0})
    );
    let traces = json(&on_file(&data, &["traces", "--json"], ""));
    assert_eq!(traces[0]["review_status"], "pending");
    assert_eq!(traces[1]["review"]["feedback_text"], "It was too late");
    // The end of the input ends the walk.
    let tally = json(&on_file(&data, &["review", "--json"], ""));
    assert_eq!(tally["deferred"], 0);

    let query = ["memories", "query", "Refund order 8", "--json"];
    let found = json(&on_file(&data, &query, ""));
    assert_eq!(found[0]["task"], "Refund order 7");
    let id = found[0]["id"].as_str().unwrap();
    let shown = json(&on_file(&data, &["memories", "show", id, "--json"], ""));
    assert_eq!(shown["q_value"], 0.5);
    let listed = json(&on_file(&data, &["memories", "list", "--json"], ""));
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[test]
fn one_run_is_reviewed_changed_and_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let traces = json(&on_file(&data, &["traces", "--json"], ""));
    let id = traces[0]["id"].as_str().unwrap();
    let review = |how: &[&str]| on_file(&data, &[&["review", id, "--json"], how].concat(), "");

    let passed = json(&review(&["--pass"]));
    assert_eq!(passed["review"]["result"], "pass");
    let conflict = review(&["--fail", "They are dead"]);
    assert!(!conflict.status.success());
    let errors = errors(&conflict);
    assert!(
        errors.contains(&format!("reflect review {id} --change --data")),
        "{errors}"
    );
    assert!(!errors.contains("change_review"), "{errors}");
    let changed = json(&review(&["--change", "--fail", "They are dead"]));
    assert_eq!(changed["review"]["feedback_text"], "They are dead");
    assert_eq!(changed["created_memory_id"], passed["created_memory_id"]);
    let waiting = json(&review(&["--withdraw"]));
    assert_eq!(waiting["review_status"], "pending");

    for nonsense in [&[][..], &["--pass", "--withdraw"], &["--change"]] {
        assert_eq!(review(nonsense).status.code(), Some(2), "{nonsense:?}");
    }
}

#[test]
fn a_pass_has_words_that_stay_until_they_are_changed() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let traces = json(&on_file(&data, &["traces", "--json"], ""));
    let id = traces[0]["id"].as_str().unwrap();
    let passed = json(&on_file(
        &data,
        &["review", id, "--json", "--pass", "Right to ask first"],
        "",
    ));
    assert_eq!(passed["review"]["feedback_text"], "Right to ask first");
    let again = on_file(&data, &["review", id, "--pass", "Polite"], "");
    assert_eq!(again.stdout, b"pass: as before\n");
    assert!(errors(&again).contains("with other feedback"));
    let memory = passed["created_memory_id"].as_str().unwrap();
    let shown = json(&on_file(&data, &["memories", "show", memory, "--json"], ""));
    assert_eq!(shown["feedback"], "Right to ask first");
    let approved = on_file(&data, &["memories", "approve", memory], "");
    let note = errors(&approved);
    assert!(approved.status.success(), "{note}");
    assert!(
        note.contains("did not wait for approval: it was active"),
        "{note}"
    );
    let quarantined = on_file(&data, &["memories", "quarantine", memory], "");
    assert!(quarantined.status.success());
    let approved = on_file(&data, &["memories", "approve", memory], "");
    assert!(!approved.status.success());
    let refusal = errors(&approved);
    assert!(
        refusal.starts_with("error: ") && refusal.contains("it is quarantined"),
        "{refusal}"
    );
}

#[test]
fn refused_reviews_fail_the_walk() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let create = [
        "keys",
        "create",
        "reader",
        "--scope",
        "trace:read",
        "--json",
    ];
    let made = json(&on_file(&data, &create, ""));
    let server = Server::start(&data, &["--master-key", KEY]);
    let mut walk = reflect()
        .args(["review", "--json", "--url", &server.url, "--key"])
        .arg(made["api_key"].as_str().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    walk.stdin.take().unwrap().write_all(b"y\ny\n").unwrap();
    let walked = walk.wait_with_output().unwrap();
    assert_eq!(walked.status.code(), Some(3), "{}", errors(&walked));
    let tally: Value = serde_json::from_slice(&walked.stdout).unwrap();
    assert_eq!(tally["refused"], 2);
}

#[test]
fn walk_goes_from_the_oldest_run_to_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let asked = errors(&on_file(&data, &["review"], "d\nd\n"));
    let mut rest = asked.as_str();
    for expected in ["[1 of 2]", "Refund order 7", "[2 of 2]", "Water the plants"] {
        let position = rest.find(expected);
        assert!(position.is_some(), "{expected} in {asked}");
        rest = &rest[position.unwrap_or_default()..];
    }
    let asked = errors(&on_file(&data, &["review", "--limit", "1"], "d\n"));
    assert!(asked.contains("[1 of 1]"), "{asked}");
    assert!(!asked.contains("Water the plants"), "{asked}");
}

#[test]
fn walk_folds_long_tool_messages_and_show_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let server = Server::start(&data, &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&server.url, KEY).unwrap();
    let note = "old ".repeat(40);
    let arguments = json!({"id": 7, "note": note}).to_string();
    let run = vec![
        Message::tool_calls([ToolCall::new("1", "get_order", arguments)]),
        Message::tool("1", "row\n".repeat(500)),
        Message::assistant("Refunded."),
    ];
    let stored = client.blocking().create_trace("Refund order 7", run).call();
    let id = stored.unwrap().trace_id.to_string();
    drop(server);

    let asked = errors(&on_file(&data, &["review"], "d\n"));
    assert!(asked.contains("→ get_order({\n  \"id\": 7,"), "{asked}");
    assert!(asked.lines().count() < 40, "{asked}");
    assert!(
        asked.contains(&format!("reflect traces show {id}")),
        "{asked}"
    );
    let shown = on_file(&data, &["traces", "show", &id], "").stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert_eq!(shown.lines().filter(|line| *line == "row").count(), 500);
}
