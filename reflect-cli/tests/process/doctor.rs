//! The checks of `reflect doctor`.

use std::path::Path;

use serde_json::Value;

use super::support::{KEY, Server, on_file, reflect, two_pending};

#[test]
fn every_problem_comes_with_a_fix() {
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
        "not a database, but longer than the header of one",
    )
    .unwrap();
    let (code, found) = ask(&["--data", foreign.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{found}");
}

#[test]
fn missing_master_key_has_a_fix_for_new_and_used_files() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let doctor = |data: &Path, more: &[&str]| {
        let asked = [&["doctor", "--json"], more].concat();
        let output = on_file(data, &asked, "");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let used = doctor(&data, &[]).to_string();
    assert!(used.contains("keys create LABEL --master"), "{used}");
    let bundle = String::from_utf8(on_file(&data, &["export", "-"], "").stdout).unwrap();
    let copy = folder.path().join("copy.db");
    assert!(on_file(&copy, &["import", "-"], &bundle).status.success());
    let new = doctor(&copy, &[]).to_string();
    assert!(new.contains("`reflect serve --data "), "{new}");
    let unnamed = doctor(&data, &["--project", ""]);
    let fix = unnamed[0]["fix"].as_str().unwrap();
    assert!(fix.contains("--project"), "{unnamed}");
}
