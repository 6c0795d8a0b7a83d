//! Exit codes, and how arguments and the environment combine.

use std::path::Path;
use std::process::Output;

use super::support::{KEY, Server, errors, json, on_file, reflect, two_pending};

#[test]
fn exit_code_tells_the_kind_of_failure() {
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
    for nameless in [
        on_file(Path::new(""), &["traces"], ""),
        on_file(Path::new(""), &["serve"], ""),
        on_file(&data, &["export", ""], ""),
        on_file(&data, &["import", ""], ""),
    ] {
        let refusal = errors(&nameless);
        assert!(refusal.contains("the path is empty"), "{refusal}");
        assert!(refusal.ends_with('\n'), "{refusal}");
        assert_eq!(code(nameless), Some(2));
    }
    assert_eq!(code(reflect().args(["traces"]).output().unwrap()), Some(2));
    assert_eq!(
        code(reflect().args(["nonsense"]).output().unwrap()),
        Some(2)
    );
    let unreachable = [
        "traces",
        "--url",
        "http://127.0.0.1:1",
        "--key",
        "rf_live_a_b",
    ];
    assert_eq!(code(reflect().args(unreachable).output().unwrap()), Some(5));
    let server = Server::start(&data, &["--master-key", KEY]);
    let stranger = ["traces", "--url", &server.url, "--key", "rf_live_a_b"];
    assert_eq!(code(reflect().args(stranger).output().unwrap()), Some(3));
}

#[test]
fn a_project_that_does_not_exist_is_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let reading = [
        &["traces"][..],
        &["memories"],
        &["memories", "query", "x"],
        &["review"],
        &["report"],
        &["export", "-"],
    ];
    for command in reading {
        let misspelt = [command, &["--project", "supprt"]].concat();
        let refused = on_file(&data, &misspelt, "");
        assert_eq!(refused.status.code(), Some(4), "{command:?}");
        let errors = errors(&refused);
        assert!(errors.contains("no project `supprt`"), "{errors}");
        assert!(errors.contains("it has `default`"), "{errors}");
        assert!(refused.stdout.is_empty(), "{command:?}");
    }
    let examined = on_file(&data, &["doctor", "--project", "supprt"], "");
    let found = String::from_utf8_lossy(&examined.stdout);
    assert!(
        found.contains("warn  there is no project `supprt`"),
        "{found}"
    );
    let new = ["keys", "create", "first", "--all", "--project", "support"];
    assert!(on_file(&data, &new, "").status.success());

    let server = Server::start(&data, &["--master-key", KEY]);
    let on_server = |project: &str| {
        let mut command = reflect();
        command.args(["traces", "--url", &server.url, "--key", KEY]);
        command.args(["--project", project]).output().unwrap()
    };
    let refused = on_server("supprt");
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    let errors = errors(&refused);
    assert!(errors.contains("it has `default`, `support`"), "{errors}");
    assert!(on_server("support").status.success());
    let pulled = reflect()
        .args(["import", "--from", &server.url, "--from-key", "rf_live_a_b"])
        .arg("--data")
        .arg(folder.path().join("new.db"))
        .output()
        .unwrap();
    assert_eq!(pulled.status.code(), Some(3), "{pulled:?}");
    let said = String::from_utf8_lossy(&pulled.stderr);
    assert!(
        said.contains("refuses its key") && !said.contains("again"),
        "{said}"
    );
    assert!(!folder.path().join("new.db").exists());
}

#[test]
fn a_refused_connection_is_named_once() {
    let there = [
        "traces",
        "--url",
        "http://127.0.0.1:1",
        "--key",
        "rf_live_a_b",
    ];
    let said = errors(&reflect().args(there).output().unwrap());
    assert_eq!(said.matches("refused").count(), 1, "{said}");
}

#[test]
fn invalid_values_are_usage_errors() {
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
        assert!(!errors(&refused).contains("hush"), "{}", errors(&refused));
    }
    let refused = serve(&|command| {
        command.env("Q_LEARNING_ALPHA", "7");
    });
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn flags_take_precedence_over_variables() {
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
    // The project of the variable, given by flag.
    assert_eq!(import(&["--project=prod"]), Some(0));
}

#[test]
fn completions_are_printed() {
    let bash = reflect().args(["completions", "bash"]).output().unwrap();
    assert!(String::from_utf8(bash.stdout).unwrap().contains("_reflect"));
}
