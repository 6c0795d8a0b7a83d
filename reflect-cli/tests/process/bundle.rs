//! Exports and imports.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use reflect_engine::store::scratch_database;
use reflect_sdk::ReflectClient;
use serde_json::{Value, json};

use super::support::{KEY, Server, errors, json, on_file, reflect, two_pending};

#[test]
fn exported_project_is_imported_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    on_file(&data, &["review"], "y\nn\nIt was too late\n");
    let bundle = folder.path().join("bundle.jsonl");
    let bundle = bundle.to_str().unwrap();
    let exported = json(&on_file(&data, &["export", bundle, "--json"], ""));
    assert_eq!(exported, json!({"memories": 2, "traces": 2, "skills": 0}));
    // An existing file is not overwritten.
    assert_eq!(
        on_file(&data, &["export", bundle], "").status.code(),
        Some(6)
    );

    let copy = folder.path().join("copy.db");
    let imported = json(&on_file(&copy, &["import", bundle, "--json"], ""));
    assert_eq!(imported, json!({"stored": 4, "present": 0}));
    let again = json(&on_file(&copy, &["import", bundle, "--json"], ""));
    assert_eq!(again, json!({"stored": 0, "present": 4}));
    for command in [&["traces", "--json"][..], &["memories", "list", "--json"]] {
        assert_eq!(
            json(&on_file(&copy, command, "")),
            json(&on_file(&data, command, ""))
        );
    }
    // Equal to the byte, except for the heading with its date.
    let second = on_file(&copy, &["export", "-"], "");
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let first = std::fs::read_to_string(bundle).unwrap();
    assert_eq!(
        lines(&String::from_utf8(second.stdout).unwrap()),
        lines(&first)
    );
}

#[test]
fn the_memory_of_a_withdrawn_review_is_counted_apart() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    on_file(&data, &["review"], "y\nn\nIt was too late\n");
    let traces = json(&on_file(&data, &["traces", "--json"], ""));
    let newest = traces[0]["id"].as_str().unwrap();
    on_file(&data, &["review", newest, "--withdraw"], "");
    let bundle = folder.path().join("bundle.jsonl");
    let exported = on_file(&data, &["export", bundle.to_str().unwrap()], "");
    assert_eq!(
        String::from_utf8(exported.stdout).unwrap(),
        "1 memory and 2 traces exported, and 1 memory of withdrawn reviews\n"
    );
}

#[test]
fn an_export_carries_past_reviews_and_undos() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    on_file(&data, &["review"], "y\nn\nIt was too late\n");
    let traces = json(&on_file(&data, &["traces", "--json"], ""));
    let [newest, oldest] = [0, 1].map(|n| traces[n]["id"].as_str().unwrap().to_owned());
    on_file(&data, &["undo", "--trace", &newest, "--yes"], "");
    on_file(&data, &["review", &oldest, "--change", "--fail", "no"], "");
    let bundle = folder.path().join("bundle.jsonl");
    let bundle = bundle.to_str().unwrap();
    let exported = json(&on_file(&data, &["export", bundle, "--json"], ""));
    let expected = json!({"memories": 1, "traces": 2, "skills": 0, "undos": 1});
    assert_eq!(exported, expected);
    let text = std::fs::read_to_string(bundle).unwrap();
    assert!(text.contains("past_reviews"), "{text}");
    let copy = folder.path().join("copy.db");
    on_file(&copy, &["import", bundle, "--json"], "");
    let list = ["undo", "--list", "--json"];
    assert_eq!(
        json(&on_file(&copy, &list, "")),
        json(&on_file(&data, &list, ""))
    );
    let words = on_file(&copy, &["undo", "--list"], "");
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(words.contains(&format!("--trace {newest}")), "{words}");
    assert!(words.contains("reviews of 1 trace;"), "{words}");
}

#[test]
fn server_exports_and_imports_like_a_file() {
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
    assert_eq!(imported, json!({"stored": 4, "present": 0}));
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
    let stranger = reflect()
        .args(["export", "-", "--url", &first.url, "--key", "rf_live_a_b"])
        .output()
        .unwrap();
    assert_eq!(stranger.status.code(), Some(3));
}

#[test]
fn run_over_the_body_limit_is_exported_and_imported() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(&folder.path().join("first.db"), &["--master-key", KEY]);
    let second = Server::start(&folder.path().join("second.db"), &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&first.url, KEY).unwrap();
    // The bundle contains it twice: as the trajectory and as the final response.
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
fn truncated_bundle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let bundle = folder.path().join("bundle.jsonl");
    on_file(&data, &["export", bundle.to_str().unwrap()], "");
    let mode = bundle.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let whole = std::fs::read_to_string(&bundle).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 4);
    for missing in [&lines[..3], &lines[..2], &[lines[0], lines[1], lines[3]]] {
        let copy = folder.path().join("copy.db");
        let refused = on_file(&copy, &["import", "-"], &missing.join("\n"));
        assert_eq!(refused.status.code(), Some(1));
        let errors = errors(&refused);
        assert!(errors.contains("cut off"), "{errors}");
    }
}

#[test]
fn malformed_bundle_is_refused_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let header = r#"{"kind":"bundle","version":1,"project":"default"}"#;
    for (text, expected) in [
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
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn missing_project_is_not_exported() {
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
        assert_eq!(missing.status.code(), Some(4), "{}", errors(&missing));
        assert!(!std::path::Path::new(bundle).exists());
    }
    // The scope that the README names is enough.
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

/// A file with runs that were given memories, so that utilities have moved, and a pending one.
fn learned(folder: &Path) -> String {
    let data = folder.join("learned.db");
    let server = Server::start(&data, &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&server.url, KEY).unwrap();
    let client = client.blocking();
    for (n, task) in ["Refund order 7", "Water the plants", "Book a flight"]
        .iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        let task = format!("{task} of customer {n}");
        let given = client.query_memories(&task).limit(2).call().unwrap();
        let given: Vec<_> = given.into_iter().map(|memory| memory.id).collect();
        let run = client.create_trace_and_wait(&task, "done");
        let run = run.retrieved(given.iter());
        let run = if n % 3 == 0 {
            run.fail("It was too late")
        } else {
            run.pass()
        };
        run.call().unwrap();
    }
    client
        .create_trace("Nobody has looked", "done")
        .call()
        .unwrap();
    server.terminate();
    assert!(server.ended().success());
    data.to_str().unwrap().to_owned()
}

/// What a database answers and has: rankings with their scores, counts, utilities.
fn contents(data: &str) -> Vec<Value> {
    let shown = [
        &["memories", "query", "Refund an order", "--json"][..],
        &[
            "memories",
            "query",
            "Water a plant",
            "--limit",
            "20",
            "--json",
        ],
        &[
            "memories",
            "query",
            "Book it",
            "--ranking",
            "classic",
            "--json",
        ],
        &["memories", "list", "--limit", "100", "--json"],
        &["traces", "--limit", "100", "--json"],
    ];
    let shown = shown.map(|show| json(&on_file(Path::new(data), show, "")));
    assert!(shown[0].as_array().unwrap().len() > 1, "{:?}", shown[0]);
    assert_eq!(shown[4].as_array().unwrap().len(), 13);
    shown.into()
}

/// `reflect export - --data FROM | reflect import - --data TO`.
fn pipe(from: &str, to: &str) -> Value {
    let mut export = reflect()
        .args(["export", "-", "--data", from])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let import = reflect()
        .args(["import", "-", "--json", "--data", to])
        .stdin(export.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(export.wait().unwrap().success());
    json(&import)
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
fn an_export_is_imported_between_files_and_postgres_unchanged() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let first = learned(folder.path());
    let database = runtime.block_on(scratch_database("piped"));
    let other = runtime.block_on(scratch_database("piped_again"));
    let expected = contents(&first);
    let utilities = |shown: &Value| {
        let memories = shown.as_array().unwrap().iter();
        let moved = memories.filter(|memory| memory["q_value"] != 0.5);
        moved.count()
    };
    assert!(utilities(&expected[3]) > 0, "no utility has moved");
    for (from, to) in [
        (&first, &database),
        (&database, &other),
        (&other, &file("back.db")),
        (&file("back.db"), &file("copy.db")),
    ] {
        assert_eq!(pipe(from, to), json!({"stored": 25, "present": 0}));
        assert_eq!(contents(to), expected);
        assert_eq!(pipe(from, to), json!({"stored": 0, "present": 25}));
        assert_eq!(contents(to), expected);
    }
}

/// An import that ended early at each of some lines, and the whole one after it.
fn is_completed(data: &str, bundle: &str, expected: &[Value]) {
    let lines: Vec<&str> = bundle.lines().collect();
    for kept in [3, 9, lines.len() - 1] {
        let part = lines[..kept].join("\n");
        // As if the connection had broken inside of the next line.
        let broken = format!("{part}\n{}", &lines[kept][..lines[kept].len() / 2]);
        for input in [part, broken] {
            let refused = on_file(Path::new(data), &["import", "-"], &input);
            assert_eq!(refused.status.code(), Some(1), "{}", errors(&refused));
            assert!(errors(&refused).contains("cut off"), "{}", errors(&refused));
        }
    }
    let imported = json(&on_file(
        Path::new(data),
        &["import", "-", "--json"],
        bundle,
    ));
    let [stored, present] = ["stored", "present"].map(|part| imported[part].as_u64().unwrap());
    assert_eq!(stored + present, 25);
    assert_eq!(contents(data), expected);
}

#[test]
fn an_import_that_was_cut_off_is_completed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let first = learned(folder.path());
    let bundle = on_file(Path::new(&first), &["export", "-"], "").stdout;
    let copy = folder.path().join("copy.db");
    let bundle = String::from_utf8(bundle).unwrap();
    is_completed(copy.to_str().unwrap(), &bundle, &contents(&first));
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
fn an_import_into_postgres_that_was_cut_off_is_completed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let first = learned(folder.path());
    let bundle = on_file(Path::new(&first), &["export", "-"], "").stdout;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(scratch_database("cut_off"));
    let bundle = String::from_utf8(bundle).unwrap();
    is_completed(&database, &bundle, &contents(&first));
    // A migration finds the same there, and nothing to do.
    let mut migrate = reflect();
    migrate.args(["migrate", &first, &database, "--json"]);
    let migrated = json(&migrate.output().unwrap());
    assert_eq!(
        (&migrated["stored"], &migrated["present"]),
        (&json!(0), &json!(25))
    );
    assert_eq!(contents(&database), contents(&first));
}
