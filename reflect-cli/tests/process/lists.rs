//! Lists of traces and memories, and the skill.

use reflect_sdk::{ReflectClient, Verdict};
use serde_json::{Value, json};

use super::support::{KEY, Server, errors, json, on_file, two_pending};

#[test]
fn failed_retry_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    // The state after a model failed for both.
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
    assert_eq!(retried.status.code(), Some(4), "{}", errors(&retried));
    assert!(errors(&retried).contains("none"), "{}", errors(&retried));
    let receipts: Value = serde_json::from_slice(&retried.stdout).unwrap();
    let queued = |id: &str| json!({"trace_id": id, "ingest_status": "queued"});
    assert_eq!(receipts, json!([queued(&ids[0]), queued(&ids[1])]));
}

#[test]
fn reading_a_file_leaves_its_queue_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let bundle = folder.path().join("bundle.jsonl");
    on_file(&data, &["export", bundle.to_str().unwrap()], "");
    // The state after a server was killed with reviews in its queue.
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
fn traces_and_memories_are_listed_without_a_subcommand() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    on_file(&data, &["review"], "y\ny\n");
    for list in ["traces", "memories"] {
        let newest = json(&on_file(
            &data,
            &[list, "list", "--limit", "1", "--json"],
            "",
        ));
        assert_eq!(newest.as_array().unwrap().len(), 1);
        for same in [
            &[list, "--limit", "1", "--json"][..],
            &[list, "--limit", "1", "--json", "list"],
        ] {
            assert_eq!(json(&on_file(&data, same, "")), newest, "{same:?}");
        }
        let id = newest[0]["id"].as_str().unwrap();
        let older = json(&on_file(&data, &[list, "--before", id, "--json"], ""));
        assert_eq!(older.as_array().unwrap().len(), 1);
        let misplaced = on_file(&data, &[list, "--limit", "1", "show", id], "");
        assert_eq!(misplaced.status.code(), Some(2), "{misplaced:?}");
    }
}

#[test]
fn a_run_is_shown_within_the_others_and_listed_by_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let server = Server::start(&data, &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&server.url, KEY).unwrap();
    let client = client.blocking();
    let record = |task: &str, id: &str| client.create_trace(task, "done").idempotency_key(id);
    let plan = record("Plan", "run-1").session("ticket 7").pass();
    let plan = plan.usage(1_240, 310).model("m");
    let plan = plan.wait().call().unwrap().id;
    let step = record("Search", "run-2").parent_run("run-1");
    let step = step.session("ticket 7").call().unwrap().trace_id;
    record("Other", "run-3").parent_run("run-0").call().unwrap();
    drop(server);
    let shown = |id: &str| {
        let shown = on_file(&data, &["traces", "show", id], "");
        String::from_utf8(shown.stdout).unwrap()
    };
    for shown in [shown(plan.as_str()), shown(step.as_str())] {
        let (_, runs) = shown.split_once("\n[runs]\n").unwrap();
        let tasks: Vec<_> = runs
            .lines()
            .map(|line| line.replace(" (this run)", ""))
            .collect();
        assert_eq!(
            tasks,
            [
                format!("pass        Plan  {plan}"),
                format!("pending       Search  {step}"),
            ]
        );
        assert!(shown.contains("session  ticket 7"), "{shown}");
    }
    let tokens = "1,240 in, 310 out";
    assert!(shown(plan.as_str()).contains(&format!("tokens   {tokens}\n")));
    let report = String::from_utf8(on_file(&data, &["report"], "").stdout).unwrap();
    assert!(report.contains(&format!("{tokens} of 1")), "{report}");
    let session = ["traces", "--session", "ticket 7", "--json"];
    let listed = json(&on_file(&data, &session, ""));
    let tasks: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|trace| &trace["task"])
        .collect();
    assert_eq!(tasks, ["Search", "Plan"]);
    let all = json(&on_file(&data, &["traces", "--json"], ""));
    let alone = shown(all[0]["id"].as_str().unwrap());
    assert!(
        alone.contains("within the run run-0, which has not arrived"),
        "{alone}"
    );
}

#[test]
fn list_that_stops_early_says_how_to_continue() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    on_file(&data, &["review"], "y\ny\n");
    for list in ["traces", "memories"] {
        let as_json = on_file(&data, &[list, "--limit", "1", "--json"], "");
        let hint = format!("--before {}", json(&as_json)[0]["id"].as_str().unwrap());
        let as_table = on_file(&data, &[list, "--limit", "1"], "");
        for cut in [as_json, as_table].map(|output| errors(&output)) {
            assert!(cut.contains(&hint), "{cut}");
        }
        assert_eq!(errors(&on_file(&data, &[list, "--limit", "2"], "")), "");
    }
}

#[test]
fn query_shows_the_rank_and_the_rank_by_score() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let server = Server::start(&data, &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&server.url, KEY).unwrap();
    for task in ["Refund order 7", "Refund order 9", "Refund the water bill"] {
        let blocking = client.blocking();
        let stored = blocking.create_memory(task, "Too old", "Check the date", Verdict::Fail);
        stored.call().unwrap();
    }
    drop(server);
    let query = ["memories", "query", "Refund order 7", "--mmr-lambda", "0.1"];
    let shown = String::from_utf8(on_file(&data, &query, "").stdout).unwrap();
    let ranks = |line: &str| {
        line.split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let ranks: Vec<_> = shown.lines().skip(1).map(ranks).collect();
    assert_eq!(ranks, ["1 1", "2 3", "3 2"], "{shown}");

    let explain = [
        "memories",
        "query",
        "Refund order 7",
        "--limit",
        "1",
        "--explain",
    ];
    let shown = String::from_utf8(on_file(&data, &explain, "").stdout).unwrap();
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].contains("LEFT OUT BY"), "{shown}");
    assert!(lines[1].starts_with('1'), "{shown}");
    assert!(lines[2].contains(" limit "), "{shown}");
    assert!(
        lines[4].starts_with("1 in the answer, 3 of 3 memories shown, by the learned ranking"),
        "{shown}"
    );
    let explained = json(&on_file(&data, &[&explain[..], &["--json"]].concat(), ""));
    assert_eq!(explained["considered"], 3);
}

#[test]
fn skill_is_created_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    assert_eq!(on_file(&data, &["skill"], "").status.code(), Some(4));
    on_file(&data, &["review"], "y\nn\nThey are dead\n");
    let created = json(&on_file(&data, &["skill", "create", "--json"], ""));
    assert_eq!(created["version"], 1);
    assert_eq!(json(&on_file(&data, &["skill", "--json"], "")), created);
    let shown = String::from_utf8(on_file(&data, &["skill"], "").stdout).unwrap();
    assert_eq!(shown.trim(), created["content"].as_str().unwrap().trim());
    let fewer = ["skill", "create", "--passed", "0", "--json"];
    let failed_only = json(&on_file(&data, &fewer, ""));
    assert_eq!(
        failed_only["source_memory_ids"].as_array().unwrap().len(),
        1
    );
}
