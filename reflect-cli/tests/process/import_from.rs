//! Moving in from another Reflect server.

use std::path::Path;
use std::process::Output;

use reflect_sdk::{Message, ReflectClient, Review};
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::support::{KEY, Server, errors, json, on_file, reflect};

fn pulled(from: &str, data: &Path) -> Output {
    let from = ["import", "--json", "--from", from, "--project", "support"];
    let mut import = reflect();
    import.args(from).arg("--data").arg(data);
    import.env("REFLECT_API_KEY", KEY).output().unwrap()
}

fn listed(data: &Path, what: &str) -> Value {
    json(&on_file(
        data,
        &[what, "--json", "--project", "support"],
        "",
    ))
}

#[test]
fn a_project_of_another_server_is_pulled_once() {
    let folder = tempfile::tempdir().unwrap();
    let there = Server::start(&folder.path().join("there.db"), &["--master-key", KEY]);
    let builder = ReflectClient::builder().project("support");
    let client = builder.http(&there.url, KEY).unwrap().blocking();
    let run = |task: &str| client.create_trace(task, vec![Message::assistant("Done.")]);
    let first = run("Refund order 7")
        .metadata("ticket", "123")
        .call()
        .unwrap();
    let learned = client.review_trace(&first.trace_id, Review::fail("Too late"));
    let memory = learned.call().unwrap().created_memory_id.unwrap();
    let second = run("Refund order 8")
        .retrieved([memory.clone()])
        .call()
        .unwrap();
    let review = client.review_trace(&second.trace_id, Review::pass());
    review.call().unwrap();
    run("Water the plants").call().unwrap();

    let here = folder.path().join("here.db");
    let report = json(&pulled(&there.url, &here));
    let expected =
        json!({"traces": 3, "memories": 2, "skills": 0, "present": 0, "not_carried": []});
    assert_eq!(report, expected);
    let again = json(&pulled(&there.url, &here));
    assert_eq!(
        (&again["traces"], &again["present"]),
        (&json!(0), &json!(3))
    );

    let url = [
        "--url",
        there.url.as_str(),
        "--key",
        KEY,
        "--project",
        "support",
        "--json",
    ];
    let there_listed = |what: &str| json(&reflect().arg(what).args(url).output().unwrap());
    let ids = |traces: &Value| -> Vec<Value> {
        let traces = traces.as_array().unwrap().iter();
        traces.map(|trace| trace["id"].clone()).collect()
    };
    assert_eq!(ids(&listed(&here, "traces")), ids(&there_listed("traces")));
    let utilities = |memories: &Value| -> Vec<(Value, Value, Value)> {
        let memories = memories.as_array().unwrap().iter();
        let fields = |memory: &Value| {
            let [id, q, guidance] = ["id", "q_value", "feedback"].map(|name| memory[name].clone());
            (id, q, guidance)
        };
        memories.map(fields).collect()
    };
    let memories = listed(&here, "memories");
    assert_eq!(utilities(&memories), utilities(&there_listed("memories")));
    // What was carried can be taken back: the pass of the second run moved the first memory.
    let id = second.trace_id.as_str();
    let withdraw = ["review", id, "--withdraw", "--project", "support", "--json"];
    json(&on_file(&here, &withdraw, ""));
    let shown = [
        "memories",
        "show",
        memory.as_str(),
        "--project",
        "support",
        "--json",
    ];
    assert_eq!(json(&on_file(&here, &shown, ""))["q_value"], 0.5);

    let refused = reflect()
        .args([
            "import",
            "--from",
            &there.url,
            "--project",
            "support",
            "--data",
        ])
        .arg(&here)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", errors(&refused));
}

#[test]
fn runs_that_a_server_refuses_are_listed_and_the_others_carried() {
    let folder = tempfile::tempdir().unwrap();
    let there = Server::start(&folder.path().join("there.db"), &["--master-key", KEY]);
    let small = ["--master-key", KEY, "--body-limit", "10000"];
    let here = Server::start(&folder.path().join("here.db"), &small);
    let builder = ReflectClient::builder().project("support");
    let client = builder.http(&there.url, KEY).unwrap().blocking();
    let run = |text: String| client.create_trace("Refund order 7", text).call().unwrap();
    run("Refunded.".to_owned());
    // Longer than an import of that server may be.
    let long = run("x".repeat(50_000)).trace_id;
    run("Not refunded.".to_owned());

    let mut import = reflect();
    import.args([
        "import",
        "--json",
        "--from",
        &there.url,
        "--project",
        "support",
    ]);
    import.args(["--url", &here.url]);
    let keys = [("REFLECT_FROM_KEY", KEY), ("REFLECT_API_KEY", KEY)];
    let report = json(&import.envs(keys).output().unwrap());
    assert_eq!(report["traces"], 2, "{report}");
    let left = &report["not_carried"][0];
    assert_eq!(left["what"], format!("run {long}"));
    let reason = left["reason"].as_str().unwrap();
    assert!(reason.contains("limit of 40000 bytes"), "{reason}");
}

/// The answers of the original server, which has no pages, no times and, in its older versions, one text a
/// memory.
#[tokio::test(flavor = "multi_thread")]
async fn the_answers_of_the_original_are_understood() {
    let original = MockServer::start().await;
    let trace = |id: &str, review: Value, memory: Value| {
        json!({
            "id": id, "task": format!("Refund {id}"), "final_response": "Done.",
            "trajectory": [{"role": "assistant", "content": "Done."}],
            "retrieved_memory_ids": [], "review_status": if review.is_null() { "pending" } else { "reviewed" },
            "ingest_status": "completed", "ingest_attempts": 0, "last_ingest_error": null,
            "model": null, "metadata": {}, "created_memory_id": memory, "review": review,
        })
    };
    let review = |id: &str| {
        json!({
            "id": format!("r-{id}"), "trace_id": id, "result": "fail", "feedback_text": "Too late",
            "mode": "deferred"
        })
    };
    let traces = [
        trace("c", Value::Null, Value::Null),
        trace("b", review("b"), json!("gone")),
        trace("a", review("a"), json!("m-a")),
    ];
    let base = "/v1/projects/support";
    let answers = |value: &Value| ResponseTemplate::new(200).set_body_json(value);
    let bearer = format!("Bearer {KEY}");
    for trace in &traces {
        let one = format!("{base}/traces/{}", trace["id"].as_str().unwrap());
        let get = Mock::given(method("GET")).and(path(one));
        get.respond_with(answers(trace)).mount(&original).await;
    }
    let list = Mock::given(method("GET")).and(path(format!("{base}/traces")));
    let list = list.and(header("authorization", bearer.as_str()));
    list.respond_with(answers(&json!(traces)))
        .mount(&original)
        .await;
    let memories = json!([{
        "id": "m-a", "task": "Refund a", "reflection": "Check the date first.", "q_value": 0.71,
        "similarity": 1.0, "score": 1.0, "success": false
    }]);
    let query = Mock::given(method("POST")).and(path(format!("{base}/memory/query")));
    query
        .respond_with(answers(&memories))
        .mount(&original)
        .await;
    let skill = Mock::given(method("GET")).and(path(format!("{base}/skill")));
    let text = json!({"content": "# Refunds"});
    skill.respond_with(answers(&text)).mount(&original).await;

    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("here.db");
    let (url, data) = (original.uri(), here.clone());
    let report = tokio::task::spawn_blocking(move || json(&pulled(&url, &data)));
    let report = report.await.unwrap();
    assert_eq!(
        (&report["traces"], &report["memories"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(report["skills"], 1);
    assert_eq!(report["not_carried"][0]["what"], "memory gone");
    let traces = listed(&here, "traces");
    let statuses: Vec<_> = (0..3)
        .map(|n| {
            (
                traces[n]["id"].as_str().unwrap(),
                traces[n]["ingest_status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        statuses,
        [("c", "completed"), ("b", "queued"), ("a", "completed")]
    );
    let memory = &listed(&here, "memories")[0];
    assert_eq!(memory["summary"], "Check the date first.");
    let utility = memory["q_value"].as_f64().unwrap();
    assert!((utility - 0.71).abs() < 1e-9, "{memory}");
}
