//! Reviews by test reports, and by names of others.

use std::path::Path;

use reflect_sdk::{Message, ReflectClient};
use serde_json::json;

use super::support::{KEY, Server, errors, json, on_file};

/// A file with runs of the tests `t.refund`, twice, and `t.plants`, and one with the key `job-7`.
fn recorded(folder: &Path) -> std::path::PathBuf {
    let data = folder.join("reflect.db");
    let server = Server::start(&data, &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&server.url, KEY).unwrap();
    let run = |task: &str| {
        let client = client.blocking();
        client.create_trace(task, vec![Message::assistant("Done.")])
    };
    for build in ["41", "42"] {
        let refund = run("Refund order 7").metadata("test", "t.refund");
        refund.metadata("build", build).call().unwrap();
    }
    let plants = run("Water the plants").metadata("test", "t.plants");
    plants.metadata("build", "42").call().unwrap();
    run("Pay bill 9").idempotency_key("job-7").call().unwrap();
    server.terminate();
    assert!(server.ended().success());
    data
}

#[test]
fn test_results_review_the_runs_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let data = recorded(folder.path());
    let report = r#"<testsuite>
        <testcase classname="t" name="refund"><failure message="too late"/></testcase>
        <testcase classname="t" name="plants"/>
        <testcase name="bill">
            <properties><property name="reflect.key" value="job-7"/></properties>
        </testcase>
        <testcase name="of nothing"/>
        <testcase name="later"><skipped/></testcase>
    </testsuite>"#;
    let file = folder.path().join("report.xml");
    std::fs::write(&file, report).unwrap();
    let from = ["review", "--json", "--from-junit", file.to_str().unwrap()];
    // Two builds have the same test.
    let ambiguous = on_file(&data, &from, "");
    assert_eq!(ambiguous.status.code(), Some(6), "{}", errors(&ambiguous));
    let tally: serde_json::Value = serde_json::from_slice(&ambiguous.stdout).unwrap();
    assert_eq!(tally["passed"], 2);
    assert_eq!(tally["problems"][0]["test"], "t.refund");
    let build = [&from[..], &["--match", "build=42"]].concat();
    let tally = json(&on_file(&data, &build, ""));
    let expected =
        json!({"passed": 2, "failed": 1, "skipped": 1, "without_a_run": 1, "problems": []});
    assert_eq!(tally, expected);
    let found = json(&on_file(
        &data,
        &["memories", "query", "Refund order 8", "--json"],
        "",
    ));
    assert_eq!(found[0]["feedback"], "The test t.refund failed: too late");

    std::fs::write(&file, &report[..100]).unwrap();
    let cut = on_file(&data, &from, "");
    assert_eq!(cut.status.code(), Some(1));
    assert!(
        errors(&cut).contains("Nothing was reviewed"),
        "{}",
        errors(&cut)
    );
}

#[test]
fn one_run_is_reviewed_by_its_key_or_its_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let data = recorded(folder.path());
    let review = |how: &[&str]| on_file(&data, &[&["review", "--json"], how].concat(), "");
    let paid = json(&review(&["--run-key", "job-7", "--pass"]));
    assert_eq!(paid["task"], "Pay bill 9");
    let both = review(&["--match", "test=t.refund", "--fail", "Too late"]);
    assert_eq!(both.status.code(), Some(6), "{}", errors(&both));
    let one = [
        "--match",
        "test=t.refund",
        "--match",
        "build=41",
        "--fail",
        "Too late",
    ];
    assert_eq!(json(&review(&one))["review"]["feedback_text"], "Too late");
    for (arguments, code) in [
        (&["--match", "ticket=1", "--pass"][..], 4),
        (&["--run-key", "none", "--pass"], 4),
        (&["--match", "ticket=1"], 2),
        (&["--match", "ticket", "--pass"], 2),
        (&["--run-key", "job-7"], 2),
        (&["--run-key", "job-7", "--withdraw"], 2),
        (&["--from-junit", "absent.xml"], 1),
        (&["--from-junit", "-", "--pass"], 2),
    ] {
        let refused = review(arguments);
        assert_eq!(
            refused.status.code(),
            Some(code),
            "{arguments:?}: {}",
            errors(&refused)
        );
    }
}
