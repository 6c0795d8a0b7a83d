use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use reflect_sdk::ReflectClient;
use serde_json::Value;

use super::server::{Server, reflect};

pub(super) const KEY: &str = "rf_live_test_0123456789abcdef0123456789abcdef";

/// Runs a command on a file, with this input.
pub(super) fn on_file(data: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = reflect()
        .args(arguments)
        .arg("--data")
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

pub(super) fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A file with two runs that wait for a review.
pub(super) fn two_pending(folder: &Path) -> std::path::PathBuf {
    let data = folder.join("reflect.db");
    let server = Server::start(&data, &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&server.url, KEY).unwrap();
    for task in ["Refund order 7", "Water the plants"] {
        client.blocking().create_trace(task, "done").call().unwrap();
    }
    server.terminate();
    assert!(server.ended().success());
    data
}

#[test]
fn a_reviewer_walks_through_the_pending_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    // The newest comes first: defer the plants, then fail the refund with a reason.
    let tally = json(&on_file(
        &data,
        &["review", "--json"],
        "what\nd\nn\nIt was too late\n",
    ));
    assert_eq!(
        tally,
        serde_json::json!({"passed": 0, "failed": 1, "deferred": 1, "refused": 0})
    );
    let traces = json(&on_file(&data, &["traces", "--json"], ""));
    assert_eq!(traces[0]["review_status"], "pending");
    assert_eq!(traces[1]["review"]["feedback_text"], "It was too late");
    // At the end of the input the walk ends, and says so.
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
fn one_run_is_judged_judged_otherwise_and_no_longer_judged() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let traces = json(&on_file(&data, &["traces", "--json"], ""));
    let id = traces[0]["id"].as_str().unwrap();
    let review = |how: &[&str]| on_file(&data, &[&["review", id, "--json"], how].concat(), "");

    let passed = json(&review(&["--pass"]));
    assert_eq!(passed["review"]["result"], "pass");
    let conflict = review(&["--fail", "They are dead"]);
    assert!(!conflict.status.success());
    let said = String::from_utf8_lossy(&conflict.stderr);
    assert!(said.contains("change_review"), "{said}");
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
fn keys_are_made_and_ended_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let create = [
        "keys",
        "create",
        "nightly",
        "--scope",
        "trace:read",
        "--json",
    ];
    let made = json(&on_file(&data, &create, ""));
    let key = made["api_key"].as_str().unwrap();
    let server = Server::start(&data, &["--master-key", KEY]);
    let mine = ReflectClient::builder().http(&server.url, key).unwrap();
    assert_eq!(mine.blocking().list_traces().call().unwrap().len(), 2);
    let other = ReflectClient::builder()
        .project("other")
        .http(&server.url, key)
        .unwrap();
    assert_eq!(
        other.blocking().list_traces().call().unwrap_err().status(),
        Some(403)
    );
    drop(server);

    let ended = on_file(
        &data,
        &["keys", "revoke", made["key"]["id"].as_str().unwrap()],
        "",
    );
    assert!(ended.status.success());
    let listed = json(&on_file(&data, &["keys", "list", "--json"], ""));
    assert_eq!(listed[0]["status"], "revoked");
    let server = Server::start(&data, &["--master-key", KEY]);
    let mine = ReflectClient::builder().http(&server.url, key).unwrap();
    assert_eq!(
        mine.blocking().list_traces().call().unwrap_err().status(),
        Some(401)
    );
}

#[test]
fn the_exit_code_tells_what_kind_of_failure_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let code = |output: Output| output.status.code();
    assert_eq!(
        code(on_file(&data, &["traces", "show", "none"], "")),
        Some(4)
    );
    assert_eq!(
        code(on_file(&folder.path().join("typo.db"), &["traces"], "")),
        Some(2)
    );
    assert!(!folder.path().join("typo.db").exists());
    assert_eq!(code(reflect().args(["traces"]).output().unwrap()), Some(2));
    assert_eq!(
        code(reflect().args(["nonsense"]).output().unwrap()),
        Some(2)
    );
    let nobody = [
        "traces",
        "--url",
        "http://127.0.0.1:1",
        "--key",
        "rf_live_a_b",
    ];
    assert_eq!(code(reflect().args(nobody).output().unwrap()), Some(5));
    let server = Server::start(&data, &["--master-key", KEY]);
    let stranger = ["traces", "--url", &server.url, "--key", "rf_live_a_b"];
    assert_eq!(code(reflect().args(stranger).output().unwrap()), Some(3));
}

#[test]
fn the_doctor_says_what_is_wrong_and_how_to_fix_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let server = Server::start(&data, &["--master-key", KEY]);
    let ask = |more: &[&str]| {
        let output = reflect()
            .args(["doctor", "--json"])
            .args(more)
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), found)
    };
    let (code, found) = ask(&["--url", &server.url, "--key", KEY]);
    assert_eq!(code, Some(0), "{found}");
    for wrong in [
        vec![],
        vec!["--url", &server.url, "--key", "rf_live_a_b"],
        vec!["--url", "http://127.0.0.1:1", "--key", KEY],
        vec!["--data", "/nowhere/reflect.db"],
    ] {
        let (code, found) = ask(&wrong);
        assert_eq!(code, Some(1), "{wrong:?}");
        let bad = found
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["level"] == "bad");
        assert!(bad.unwrap()["fix"].is_string(), "{found}");
    }
    let foreign = folder.path().join("notes.txt");
    std::fs::write(
        &foreign,
        "this is no database, but it is longer than a header",
    )
    .unwrap();
    let (code, found) = ask(&["--data", foreign.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{found}");
}

#[test]
fn secrets_may_come_from_files_but_not_twice() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let file = folder.path().join("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    let file = file.to_str().unwrap();
    let server = Server::start(&data, &["--master-key-file", file]);
    let arguments = ["traces", "--json", "--url", &server.url, "--key-file", file];
    assert_eq!(
        json(&reflect().args(arguments).output().unwrap())
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let twice = reflect()
        .args(arguments)
        .args(["--key", KEY])
        .output()
        .unwrap();
    assert_eq!(twice.status.code(), Some(2));
}

#[test]
fn completions_are_printed_for_a_shell() {
    let bash = reflect().args(["completions", "bash"]).output().unwrap();
    assert!(String::from_utf8(bash.stdout).unwrap().contains("_reflect"));
}

#[test]
fn a_project_is_exported_and_imported_whole() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    on_file(&data, &["review"], "y\nn\nIt was too late\n");
    let bundle = folder.path().join("bundle.jsonl");
    let bundle = bundle.to_str().unwrap();
    let exported = json(&on_file(&data, &["export", bundle, "--json"], ""));
    assert_eq!(
        exported,
        serde_json::json!({"memories": 2, "traces": 2, "skills": 0})
    );
    // Never over something that is there.
    assert_eq!(
        on_file(&data, &["export", bundle], "").status.code(),
        Some(6)
    );

    let copy = folder.path().join("copy.db");
    let imported = json(&on_file(&copy, &["import", bundle, "--json"], ""));
    assert_eq!(imported, serde_json::json!({"stored": 4, "present": 0}));
    let again = json(&on_file(&copy, &["import", bundle, "--json"], ""));
    assert_eq!(again, serde_json::json!({"stored": 0, "present": 4}));
    for command in [&["traces", "--json"][..], &["memories", "list", "--json"]] {
        assert_eq!(
            json(&on_file(&copy, command, "")),
            json(&on_file(&data, command, ""))
        );
    }
    // To the byte, but for the line that says when.
    let second = on_file(&copy, &["export", "-"], "");
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let first = std::fs::read_to_string(bundle).unwrap();
    assert_eq!(
        lines(&String::from_utf8(second.stdout).unwrap()),
        lines(&first)
    );
}

#[test]
fn a_project_travels_between_servers_as_it_does_between_files() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    on_file(&data, &["review"], "y\nn\nIt was too late\n");
    let whole = |output: Output| {
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let at = |server: &Server, arguments: &[&str]| {
        let place = ["--url", &server.url, "--key", KEY];
        reflect().args(arguments).args(place).output().unwrap()
    };
    let first = Server::start(&data, &["--master-key", KEY]);
    let second = Server::start(&folder.path().join("second.db"), &["--master-key", KEY]);

    let bundle = folder.path().join("bundle.jsonl");
    let bundle = bundle.to_str().unwrap();
    let exported = json(&at(&first, &["export", bundle, "--json"]));
    assert_eq!(exported["memories"], 2);
    let imported = json(&at(&second, &["import", bundle, "--json"]));
    assert_eq!(imported, serde_json::json!({"stored": 4, "present": 0}));
    let here = whole(at(&second, &["export", "-"]));
    assert_eq!(here, whole(on_file(&data, &["export", "-"], "")));

    let listed = json(&at(
        &second,
        &["memories", "list", "--limit", "1", "--json"],
    ));
    let id = listed[0]["id"].as_str().unwrap();
    let older = ["memories", "list", "--before", id, "--json"];
    assert_eq!(json(&at(&second, &older)).as_array().unwrap().len(), 1);
    let shown = json(&at(&second, &["memories", "show", id, "--json"]));
    assert_eq!(shown, listed[0]);

    let nothing = at(&second, &["memories", "show", "none"]);
    assert_eq!(nothing.status.code(), Some(4));
    let nobody = reflect()
        .args(["export", "-", "--url", &first.url, "--key", "rf_live_a_b"])
        .output()
        .unwrap();
    assert_eq!(nobody.status.code(), Some(3));
}

#[test]
fn a_run_longer_than_a_request_may_be_travels_too() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(&folder.path().join("first.db"), &["--master-key", KEY]);
    let second = Server::start(&folder.path().join("second.db"), &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&first.url, KEY).unwrap();
    // It stands in the bundle twice: as the trajectory and as the final response.
    let prose = "long ".repeat(1024 * 1024);
    client.blocking().create_trace("t", prose).call().unwrap();
    let bundle = folder.path().join("bundle.jsonl");
    let at = |server: &Server, command: &str| {
        let place = ["--url", &server.url, "--key", KEY, "--json"];
        reflect()
            .arg(command)
            .arg(&bundle)
            .args(place)
            .output()
            .unwrap()
    };
    assert_eq!(json(&at(&first, "export"))["traces"], 1);
    assert_eq!(json(&at(&second, "import"))["stored"], 1);
}

#[test]
fn a_bundle_that_was_cut_off_is_told_from_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let bundle = folder.path().join("bundle.jsonl");
    on_file(&data, &["export", bundle.to_str().unwrap()], "");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = bundle.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let whole = std::fs::read_to_string(&bundle).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 4);
    for missing in [&lines[..3], &lines[..2], &[lines[0], lines[1], lines[3]]] {
        let copy = folder.path().join("copy.db");
        let refused = on_file(&copy, &["import", "-"], &missing.join("\n"));
        assert_eq!(refused.status.code(), Some(1));
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("cut off"), "{said}");
    }
}

#[test]
fn what_was_typed_counts_for_more_than_a_variable() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let server = Server::start(&folder.path().join("other.db"), &["--master-key", KEY]);
    let listed = |set_up: &dyn Fn(&mut std::process::Command)| {
        let mut command = reflect();
        command.args(["traces", "--json", "--key", KEY]);
        set_up(&mut command);
        command.output().unwrap()
    };
    let count = |output: Output| json(&output).as_array().unwrap().len();
    let typed_url = listed(&|c| {
        c.env("REFLECT_DATA", &data).args(["--url", &server.url]);
    });
    assert_eq!(count(typed_url), 0);
    let typed_data = listed(&|c| {
        c.env("REFLECT_BASE_URL", &server.url)
            .arg("--data")
            .arg(&data);
    });
    assert_eq!(count(typed_data), 2);
    let neither = listed(&|c| {
        c.env("REFLECT_BASE_URL", &server.url)
            .env("REFLECT_DATA", &data);
    });
    assert_eq!(neither.status.code(), Some(2));

    let bundle = folder.path().join("bundle.jsonl");
    on_file(&data, &["export", bundle.to_str().unwrap()], "");
    let import = |arguments: &[&str]| {
        let mut command = reflect();
        command
            .env("REFLECT_PROJECT_ID", "prod")
            .arg("import")
            .arg(&bundle);
        command.arg("--data").arg(folder.path().join("new.db"));
        command.args(arguments).output().unwrap().status.code()
    };
    assert_eq!(import(&[]), Some(2));
    assert_eq!(import(&["--project", "default"]), Some(0));
    // What the variable says too, but typed: it is meant.
    assert_eq!(import(&["--project=prod"]), Some(0));
}

#[test]
fn looking_at_a_file_leaves_its_queue_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let bundle = folder.path().join("bundle.jsonl");
    on_file(&data, &["export", bundle.to_str().unwrap()], "");
    // As if a server had been killed with reviews in its queue.
    let queued = std::fs::read_to_string(&bundle).unwrap().replace(
        r#""review":null"#,
        r#""review":{"id":"r","trace_id":"t","result":"pass","mode":"inline"}"#,
    );
    let queued = queued.replace(
        r#""ingest_status":"completed""#,
        r#""ingest_status":"queued""#,
    );
    let copy = folder.path().join("copy.db");
    let imported = on_file(&copy, &["import", "-", "--json"], &queued);
    assert_eq!(json(&imported)["stored"], 2);
    for _ in 0..2 {
        let traces = json(&on_file(&copy, &["traces", "--json"], ""));
        assert_eq!(traces[0]["ingest_status"], "queued", "{traces}");
        assert_eq!(traces[0]["ingest_attempts"], 0);
    }
}

#[test]
fn a_bundle_that_is_none_is_refused_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let header = r#"{"kind":"bundle","version":1,"project":"default"}"#;
    for (text, said) in [
        ("", "line 1"),
        ("nonsense", "line 1"),
        (
            r#"{"kind":"bundle","version":2,"project":"p"}"#,
            "version 2",
        ),
        (&format!("{header}\n{{\"kind\":\"trace\"}}"), "line 2"),
        (&format!("{header}\n\n{{"), "line 3"),
    ] {
        let refused = on_file(&data, &["import", "-"], text);
        assert_eq!(refused.status.code(), Some(1), "{text}");
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(error.contains(said), "{text}: {error}");
    }
}
