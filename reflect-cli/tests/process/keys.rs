//! Keys and secrets.

use reflect_sdk::ReflectClient;
use serde_json::json;

use super::support::{KEY, Server, errors, json, on_file, reflect, two_pending};

#[test]
fn keys_are_created_and_revoked_without_a_server() {
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
fn secret_comes_from_a_flag_or_a_file_but_not_both() {
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
fn line_break_after_a_master_key_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let key = format!(" {KEY}\n");
    let server = Server::start(&folder.path().join("reflect.db"), &["--master-key", &key]);
    let listed = reflect()
        .args(["traces", "--url", &server.url, "--key", KEY])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", errors(&listed));
}

#[test]
fn server_flag_prevents_work_on_master_keys_of_a_file() {
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
        assert!(errors(&refused).contains("--data"), "{}", errors(&refused));
    }
    let masters = json(&on_file(&data, &["keys", "list", "--master", "--json"], ""));
    assert_eq!(masters, json!([]));
}

#[test]
fn a_key_tells_that_its_project_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let create = |project: &str| {
        let create = ["keys", "create", "agent", "--all", "--project", project];
        errors(&on_file(&data, &create, ""))
    };
    assert_eq!(create("default"), "");
    assert_eq!(create("defualt"), "project `defualt` is new\n");
    assert_eq!(create("defualt"), "");
}

#[test]
fn hidden_characters_of_a_label_are_refused_or_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let refused = on_file(&data, &["keys", "create", "a\u{1b}[2Jb", "--all"], "");
    assert_eq!(refused.status.code(), Some(2));
    let create = ["keys", "create", "a\u{202e}b", "--all", "--json"];
    let made = json(&on_file(&data, &create, ""));
    let id = made["key"]["id"].as_str().unwrap();
    let ended = on_file(&data, &["keys", "revoke", id], "");
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "ab is revoked\n");
}

#[test]
fn imported_file_gets_a_master_key_at_its_first_start() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let bundle = String::from_utf8(on_file(&data, &["export", "-"], "").stdout).unwrap();
    let copy = folder.path().join("copy.db");
    assert!(on_file(&copy, &["import", "-"], &bundle).status.success());
    // Reading a file does not make it one that a server has used.
    for look in [
        &["traces"][..],
        &["doctor"],
        &["keys"],
        &["keys", "list", "--master"],
    ] {
        on_file(&copy, look, "");
    }
    let server = Server::start(&copy, &[]);
    let key = server
        .said
        .split_whitespace()
        .find(|word| word.starts_with("rf_live_"));
    let client = ReflectClient::builder()
        .http(&server.url, key.unwrap())
        .unwrap();
    assert_eq!(client.blocking().list_traces().call().unwrap().len(), 2);
    drop(server);
    assert_eq!(Server::start(&copy, &[]).said, "");
}

#[test]
fn server_without_a_master_key_logs_how_to_create_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let log = folder.path().join("log");
    let server = Server::start_logging(&data, &[], std::fs::File::create(&log).unwrap().into());
    assert_eq!(server.said, "");
    let log = std::fs::read_to_string(log).unwrap();
    let hint = format!(
        "`reflect keys create LABEL --master --data {}`",
        data.display()
    );
    assert!(log.contains(&hint), "{log}");
    let created = on_file(
        &data,
        &["keys", "create", "LABEL", "--master", "--json"],
        "",
    );
    let key = json(&created)["api_key"].as_str().unwrap().to_owned();
    let client = ReflectClient::builder().http(&server.url, key).unwrap();
    assert_eq!(client.blocking().list_traces().call().unwrap().len(), 2);
}

#[test]
fn an_undo_by_what_is_no_id_of_a_key_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let none = on_file(&data, &["keys"], "");
    assert!(none.status.success() && none.stdout.is_empty());
    assert!(errors(&none).contains("keys create"), "{}", errors(&none));
    let create = ["keys", "create", "nightly", "--all", "--json"];
    let made = json(&on_file(&data, &create, ""));
    let key = |name: &str| made["key"][name].as_str().unwrap().to_owned();
    let undo = |key: &str| on_file(&data, &["undo", "--key", key, "--dry-run"], "");
    for (given, hint) in [
        ("nightly".to_owned(), key("id")),
        (key("public_id"), key("id")),
        ("no-such-key".to_owned(), "keys list".to_owned()),
    ] {
        let refused = undo(&given);
        assert_eq!(refused.status.code(), Some(4));
        assert!(errors(&refused).contains(&hint), "{}", errors(&refused));
    }
    for known in [key("id"), "master".to_owned()] {
        assert!(undo(&known).status.success());
    }
}
