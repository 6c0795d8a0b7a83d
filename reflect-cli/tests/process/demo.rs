//! The demo, and runs of other tools.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::json;

use super::support::{errors, json, on_file, reflect};

#[test]
fn runs_of_another_tool_are_imported_and_skipped_ones_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let run = json!({"messages": [
        {"role": "user", "content": "Refund order 7"}, {"role": "assistant", "content": "Done."}
    ]});
    let text = format!("{run}\n{{\"messages\": []}}\nnot json\n");
    let import = ["import", "--format", "openai", "-", "--project", "support"];
    let report = json(&on_file(&data, &[&import[..], &["--json"]].concat(), &text));
    assert_eq!(report["stored"], 1);
    assert_eq!(report["skipped"][0]["place"], "line 2");
    assert_eq!(report["skipped"][1]["place"], "line 3");
    let said = on_file(&data, &import, &text);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(
        said.contains("0 runs stored in project `support`, 2 skipped")
            && said.contains("1 run was there already, of an earlier import"),
        "{said}"
    );
    // Equal runs of one file are runs of their own.
    let twice = format!("{run}\n{run}\n");
    let report = json(&on_file(
        &data,
        &[&import[..], &["--json"]].concat(),
        &twice,
    ));
    assert_eq!(
        (&report["stored"], &report["known"]),
        (&json!(1), &json!(1))
    );
    let traces = json(&on_file(
        &data,
        &["traces", "--project", "support", "--json"],
        "",
    ));
    assert_eq!(traces[0]["task"], "Refund order 7");

    let wrong = on_file(&data, &["import", "--format", "tau-bench", "-"], "{}");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        errors(&wrong).contains("not a JSON list of runs"),
        "{}",
        errors(&wrong)
    );
}

#[test]
fn an_import_learns_from_reviews_unless_a_server_has_used_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let run = json!({
        "task": "Refund order 7", "trajectory": "Done.",
        "review": {"result": "fail", "feedback_text": "Ask for the receipt first"},
    });
    let import = ["import", "--format", "jsonl", "-", "--json"];
    let report = json(&on_file(&data, &import, &run.to_string()));
    assert_eq!(
        (&report["stored"], &report["learning"]),
        (&json!(1), &json!(0))
    );
    let found = json(&on_file(
        &data,
        &["memories", "query", "Refund order 8", "--json"],
        "",
    ));
    assert!(
        found.to_string().contains("Ask for the receipt first"),
        "{found}"
    );

    on_file(&data, &["keys", "create", "CI", "--all"], "");
    let other = run.to_string().replace("order 7", "order 8");
    let report = json(&on_file(&data, &import, &other));
    assert_eq!(report["learning"], 1);
    let found = json(&on_file(&data, &["doctor", "--json"], ""));
    let waits = "1 review is still to be learned in project `default`";
    assert!(found.to_string().contains(waits), "{found}");
}

#[test]
fn the_demo_signs_a_browser_in_once_and_ends_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = reflect()
        .args(["demo", "--no-open"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let link = lines.find_map(|line| {
        let line = line.unwrap();
        line.trim().strip_prefix("http://").map(str::to_owned)
    });
    let link = link.unwrap();
    let (host, path) = link.split_once('/').unwrap();
    let ask = |method: &str, path: &str, cookie: &str| {
        let mut connection = TcpStream::connect(host).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        connection.read_to_string(&mut reply).unwrap();
        reply
    };
    let get = |path: &str, cookie: &str| ask("GET", path, cookie);
    // A look at where the link leads does not use it up.
    let looked = ask("HEAD", &format!("/{path}"), "");
    assert!(looked.starts_with("HTTP/1.1 200"), "{looked}");
    let first = get(&format!("/{path}"), "");
    assert!(first.starts_with("HTTP/1.1 303"), "{first}");
    let (_, cookie) = first.split_once("set-cookie: ").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let queue = get("/p/airline/review", cookie);
    assert!(queue.contains("8 waiting, 5 to confirm"), "{queue}");
    assert!(get(&format!("/{path}"), "").starts_with("HTTP/1.1 401"));

    let pid = demo.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    drop(lines);
    assert!(demo.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
