//! Commands that are used wrongly, or that cannot do all they were asked.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::commands::{KEY, json, on_file, two_pending};
use super::server::{Server, reflect};

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_makes_no_sense_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    for wrong in [
        &["traces", "list", "--limit", "0"][..],
        &["traces", "list", "--before", "none"],
        &["memories", "list", "--limit", "0"],
        &["memories", "query", "x", "--lambda", "3"],
        &["memories", "query", ""],
        &["keys", "create", " ", "--all"],
        &["keys", "create", " ", "--master"],
    ] {
        let refused = on_file(&data, wrong, "");
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}: {refused:?}");
    }
    let serve = |set_up: &dyn Fn(&mut std::process::Command)| {
        let mut command = reflect();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("new.db"));
        set_up(&mut command);
        command.output().unwrap()
    };
    for wrong in [
        &["--alpha", "2"][..],
        &["--body-limit", "0"],
        &["--master-key", "hush hush hush hush"],
        &["--bootstrap-token", "tökenhush"],
    ] {
        let refused = serve(&|command| {
            command.args(wrong);
        });
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}: {refused:?}");
        assert!(!told(&refused).contains("hush"), "{}", told(&refused));
    }
    let refused = serve(&|command| {
        command.env("Q_LEARNING_ALPHA", "7");
    });
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn a_master_key_may_end_in_a_line_break() {
    let folder = tempfile::tempdir().unwrap();
    let key = format!(" {KEY}\n");
    let server = Server::start(&folder.path().join("reflect.db"), &["--master-key", &key]);
    let listed = reflect()
        .args(["traces", "--url", &server.url, "--key", KEY])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", told(&listed));
}

#[test]
fn a_walk_whose_judgements_are_refused_fails() {
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
    assert_eq!(walked.status.code(), Some(3), "{}", told(&walked));
    let tally: Value = serde_json::from_slice(&walked.stdout).unwrap();
    assert_eq!(tally["refused"], 2);
}

#[test]
fn a_run_that_cannot_be_retried_does_not_keep_others_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    // As if a model had failed for both.
    let bundle = String::from_utf8(on_file(&data, &["export", "-"], "").stdout).unwrap();
    let failed = bundle
        .replace(
            r#""review":null"#,
            r#""review":{"id":"r","trace_id":"t","result":"pass","mode":"inline"}"#,
        )
        .replace(
            r#""ingest_status":"completed""#,
            r#""ingest_status":"failed""#,
        );
    let copy = folder.path().join("copy.db");
    assert_eq!(
        json(&on_file(&copy, &["import", "-", "--json"], &failed))["stored"],
        2
    );
    let traces = json(&on_file(&copy, &["traces", "--json"], ""));
    let ids = [0, 1].map(|n: usize| traces[n]["id"].as_str().unwrap().to_owned());
    let retry = ["traces", "retry", &ids[0], "none", &ids[1], "--json"];
    let retried = on_file(&copy, &retry, "");
    assert_eq!(retried.status.code(), Some(4), "{}", told(&retried));
    assert!(told(&retried).contains("none"), "{}", told(&retried));
    let receipts: Value = serde_json::from_slice(&retried.stdout).unwrap();
    let queued = |id: &str| json!({"trace_id": id, "ingest_status": "queued"});
    assert_eq!(receipts, json!([queued(&ids[0]), queued(&ids[1])]));
}

#[test]
fn the_doctor_tells_a_new_file_from_one_that_lost_its_master_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let doctor = |more: &[&str]| {
        let asked = [&["doctor", "--json"], more].concat();
        let output = on_file(&data, &asked, "");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let found = doctor(&[]).to_string();
    assert!(found.contains("only a new database"), "{found}");
    let found = doctor(&["--project", ""]);
    assert!(
        found[0]["fix"].as_str().unwrap().contains("--project"),
        "{found}"
    );
}

#[test]
fn master_keys_are_not_made_in_a_file_that_is_not_meant() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    for action in [
        &["keys", "create", "root", "--master"][..],
        &["keys", "list", "--master"],
        &["keys", "revoke", "none", "--master"],
    ] {
        let refused = reflect()
            .env("REFLECT_DATA", &data)
            .args(action)
            .args(["--url", "http://127.0.0.1:1", "--key", KEY])
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(2), "{action:?}: {refused:?}");
        assert!(told(&refused).contains("--data"), "{}", told(&refused));
    }
    let masters = json(&on_file(&data, &["keys", "list", "--master", "--json"], ""));
    assert_eq!(masters, json!([]));
}

#[test]
fn a_project_that_is_not_there_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let bundle = folder.path().join("bundle.jsonl");
    let bundle = bundle.to_str().unwrap();
    let server = Server::start(&data, &["--master-key", KEY]);
    let at_server = |key: &str, more: &[&str]| {
        let place = ["export", bundle, "--url", &server.url, "--key", key];
        reflect().args(place).args(more).output().unwrap()
    };
    for missing in [
        on_file(&data, &["export", bundle, "--project", "typo"], ""),
        at_server(KEY, &["--project", "typo"]),
    ] {
        assert_eq!(missing.status.code(), Some(4), "{}", told(&missing));
        assert!(!std::path::Path::new(bundle).exists());
    }
    // What the README says it needs is enough.
    let create = [
        "keys",
        "create",
        "mover",
        "--scope",
        "project:admin",
        "--json",
    ];
    let made = json(&on_file(&data, &create, ""));
    let key = made["api_key"].as_str().unwrap();
    assert_eq!(json(&at_server(key, &["--json"]))["traces"], 2);
}

#[test]
fn a_label_cannot_move_the_cursor() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let create = ["keys", "create", "a\u{1b}[2Jb", "--all", "--json"];
    let made = json(&on_file(&data, &create, ""));
    let id = made["key"]["id"].as_str().unwrap();
    let ended = on_file(&data, &["keys", "revoke", id], "");
    assert_eq!(
        String::from_utf8(ended.stdout).unwrap(),
        "a [2Jb is revoked\n"
    );
}
