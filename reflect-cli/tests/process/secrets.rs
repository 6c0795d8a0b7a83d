//! Secrets: their strength, and who can see them.

use std::path::Path;

use reflect_sdk::ReflectClient;
use serde_json::json;

use super::support::{KEY, Server, errors, json, on_file, reflect, two_pending};

/// Starts a server that must not start.
fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = reflect()
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!data.exists());
    errors(&output)
}

#[test]
fn weak_master_key_or_bootstrap_token_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let file = folder.path().join("weak");
    let repeated = "hush-hush-hush-hush-hush-hush-hush-hush";
    std::fs::write(&file, repeated).unwrap();
    for arguments in [
        ["--master-key", "hush"],
        ["--bootstrap-token", "hush"],
        ["--master-key", repeated],
        ["--bootstrap-token-file", file.to_str().unwrap()],
    ] {
        let said = refused(&data, &arguments);
        assert!(!said.contains("hush"), "{said}");
        let flag = arguments[0].strip_suffix("-file").unwrap_or(arguments[0]);
        for part in [
            flag,
            "too weak",
            "32",
            "reflect keys generate",
            "openssl rand -base64 32",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}

#[test]
fn an_address_of_another_scheme_is_refused_without_its_password() {
    let run = |arguments: &[&str], variable: &str| {
        let mut command = reflect();
        command.args(arguments);
        if !variable.is_empty() {
            command.env("REFLECT_DATA", variable);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout.clone()).unwrap() + &errors(&output);
        assert!(!said.contains("secret"), "{arguments:?}: {said}");
        (output.status.code(), said)
    };
    for address in [
        "mysql://me:secret@h/db",
        "postgresql+psycopg://me:secret@h/db",
        "postgres:/me:secret@h/db",
        "host=h user=me password=secret",
    ] {
        for (arguments, variable) in [
            (&["serve", "--data", address][..], ""),
            (&["serve", "--database-url", address], ""),
            (&["traces", "--data", address], ""),
            (&["traces"], address),
            (&["doctor", "--json"], address),
            (&["migrate", "reflect.db", address], ""),
        ] {
            let (code, said) = run(arguments, variable);
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains("postgres://"), "{said}");
            assert!(said.contains("postgresql://"), "{said}");
        }
    }
    for address in [
        "Postgres://me:secret@127.0.0.1:1/db",
        "POSTGRESQL://me:secret@127.0.0.1:1/db",
    ] {
        let (code, said) = run(&["traces", "--data", address], "");
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains("cannot be reached"), "{said}");
    }
}

#[test]
fn generated_secret_is_strong() {
    let folder = tempfile::tempdir().unwrap();
    let generate = || {
        let output = reflect().args(["keys", "generate"]).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (master, token) = (generate(), generate());
    assert_ne!(master, token);
    let secrets = ["--master-key", &master, "--bootstrap-token", &token];
    let server = Server::start(&folder.path().join("reflect.db"), &secrets);
    let client = ReflectClient::builder().http(&server.url, &master).unwrap();
    assert!(client.blocking().list_traces().call().unwrap().is_empty());
}

#[test]
fn secret_on_the_command_line_is_warned_about_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let log = folder.path().join("log");
    let file = || std::fs::File::create(&log).unwrap();
    let server = Server::start_logging(&data, &["--master-key", KEY], file().into());
    let said = std::fs::read_to_string(&log).unwrap();
    let warning = "--master-key on the command line is visible";
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    assert!(
        said.contains("--master-key-file or REFLECT_MASTER_KEY"),
        "{said}"
    );
    assert!(!said.contains(KEY), "{said}");

    let listed = |set_up: &dyn Fn(&mut std::process::Command)| {
        let mut command = reflect();
        command.args(["traces", "--url", &server.url]);
        set_up(&mut command);
        let listed = command.output().unwrap();
        assert!(listed.status.success(), "{}", errors(&listed));
        errors(&listed)
    };
    let typed = listed(&|command| {
        command.arg(format!("--key={KEY}"));
    });
    assert!(typed.contains("--key-file or REFLECT_API_KEY"), "{typed}");
    let quiet = listed(&|command| {
        command.env("REFLECT_API_KEY", KEY);
    });
    assert_eq!(quiet, "nothing to show\n");
}

#[cfg(unix)]
#[test]
fn files_that_other_users_can_read_are_warned_about() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let key = folder.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let log = folder.path().join("log");
    let started = || {
        let arguments = ["--master-key-file", key.to_str().unwrap()];
        let file = std::fs::File::create(&log).unwrap();
        let server = Server::start_logging(&data, &arguments, file.into());
        server.terminate();
        assert!(server.ended().success());
        std::fs::read_to_string(&log).unwrap()
    };
    set_mode(&key, 0o600);
    assert!(!started().contains("other users"));
    // The new database is its owner's only.
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for shared in [&data, &key] {
        set_mode(shared, 0o640);
        let said = started();
        let advice = format!("chmod 600 {}", shared.display());
        assert!(said.contains(&advice), "{said}");
        set_mode(shared, 0o600);
    }
    set_mode(&data, 0o644);
    let found = on_file(&data, &["doctor"], "");
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(found.contains("chmod 600"), "{found}");
}

#[test]
fn expiry_and_largest_alpha_of_a_key_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let limits = ["--expires", "90d", "--max-alpha", "0.1", "--json"];
    for kind in [&["--all"][..], &["--master"]] {
        let mut arguments = vec!["keys", "create", "temporary"];
        arguments.extend(limits.iter().chain(kind));
        let made = json(&on_file(&data, &arguments, ""));
        assert_eq!(made["key"]["max_alpha"], json!(0.1));
        let expires_at = made["key"]["expires_at"].as_str().unwrap();
        let mut list = vec!["keys", "list"];
        list.extend(kind.iter().filter(|flag| **flag == "--master"));
        let listed = String::from_utf8(on_file(&data, &list, "").stdout).unwrap();
        assert!(
            listed.contains("EXPIRES") && listed.contains(expires_at),
            "{listed}"
        );
    }
    for wrong in [
        ["--expires", "2020-01-01"],
        ["--expires", "soon"],
        ["--max-alpha", "2"],
    ] {
        let mut arguments = vec!["keys", "create", "l", "--all"];
        arguments.extend(wrong);
        let refused = on_file(&data, &arguments, "");
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn flag_with_a_key_takes_precedence_over_the_variable_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("reflect.db"), &["--master-key", KEY]);
    let file = folder.path().join("key");
    std::fs::write(&file, KEY).unwrap();
    let wrong = folder.path().join("wrong");
    std::fs::write(&wrong, "rf_live_wrong").unwrap();
    let [file, wrong] = [file, wrong].map(|path| path.to_str().unwrap().to_owned());
    for (flag, variable) in [
        (["--key-file", &file], ("REFLECT_API_KEY", "rf_live_wrong")),
        (["--key", KEY], ("REFLECT_API_KEY_FILE", &wrong)),
    ] {
        let mut list = reflect();
        list.args(["traces", "--url", &server.url]).args(flag);
        let listed = list.env(variable.0, variable.1).output().unwrap();
        assert!(listed.status.success(), "{}", errors(&listed));
    }
    let mut both = reflect();
    both.args(["traces", "--url", &server.url, "--key", KEY]);
    let refused = both.args(["--key-file", &file]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", errors(&refused));
}
