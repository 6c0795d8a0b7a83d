//! Archives and servers whose texts are made for the terminal that shows them.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use super::support::on_file;

/// Clears the screen, sets the title, reverses and hides text.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{200b}\u{e0041}\r\u{7f}x";

/// A time that an import accepts.
const TIME: &str = "2026-01-01T00:00:00Z";

fn hostile(name: &str) -> String {
    format!("{name}{HOSTILE}")
}

/// An archive with hostile text in every field that takes one.
fn bundle() -> String {
    let memory = json!({
        "kind": "memory", "id": "m", "trace_id": hostile("t"), "task": hostile("task"),
        "feedback": hostile("feedback"), "summary": hostile("summary"),
        "guidance": hostile("guidance"), "applicable_tools": [hostile("tool")],
        "written_by": hostile("writer"), "success": false, "q_value": 0.5, "uses": 1,
        "metadata": {}, "created_at": TIME, "key_id": hostile("key"), "events": [{
            "memory_id": "m", "trace_id": hostile("t"), "review_id": hostile("r"),
            "alpha": 0.3, "reward": 1.0, "before": 0.5, "after": 0.65, "key_id": hostile("key"),
            "created_at": TIME,
        }],
    });
    let trace = |id: &str, review: Value| {
        json!({
            "kind": "trace", "id": hostile(id), "task": hostile("task"), "model": hostile("model"),
            "trajectory": [
                {"role": hostile("role"), "content": hostile("content")},
                {"role": "assistant", "tool_calls": [{"id": hostile("call"), "type": "function",
                    "function": {"name": hostile("name"), "arguments": hostile("arguments")}}]},
            ],
            "final_response": hostile("answer"), "reference_context": hostile("rules"),
            "metadata": {hostile("key"): hostile("value")}, "created_at": TIME,
            "retrieved_memory_ids": [hostile("m")], "key_id": hostile("key"),
            "review_status": if review.is_null() { "pending" } else { "reviewed" },
            "ingest_status": "completed", "receipt": "completed", "review": review,
            "last_ingest_error": hostile("error"),
        })
    };
    let review = json!({
        "id": hostile("r"), "trace_id": hostile("t"), "result": "fail", "mode": "deferred",
        "feedback_text": hostile("feedback"), "key_id": hostile("key"), "reviewer": "human",
    });
    let lines = [
        json!({"kind": "bundle", "version": 1, "project": "default"}),
        memory,
        trace("t", review),
        trace("pending", Value::Null),
        json!({"kind": "skill", "content": hostile("# Guide"), "version": 1,
            "created_at": TIME, "source_memory_ids": [hostile("m")]}),
        json!({"kind": "end", "memories": 1, "traces": 2, "skills": 1}),
    ];
    lines.map(|line| line.to_string() + "\n").concat()
}

fn shows_nothing_hidden(what: &[&str], output: &Output) {
    for shown in [&output.stdout, &output.stderr] {
        let shown = std::str::from_utf8(shown).unwrap();
        let is_hidden = |c: &char| reflect_types::neutral::is_hidden(*c);
        let found: Vec<char> = shown.chars().filter(is_hidden).collect();
        assert!(found.is_empty(), "{what:?} shows {found:?}:\n{shown:?}");
    }
}

fn imported(folder: &Path) -> std::path::PathBuf {
    let (file, data) = (folder.join("hostile.jsonl"), folder.join("reflect.db"));
    std::fs::write(&file, bundle()).unwrap();
    let import = ["import", file.to_str().unwrap()];
    let done = on_file(&data, &import, "");
    assert!(done.status.success(), "{done:?}");
    shows_nothing_hidden(&import, &done);
    data
}

#[test]
fn no_command_shows_what_a_terminal_would_obey() {
    let folder = tempfile::tempdir().unwrap();
    let data = imported(folder.path());
    let (trace, pending, memory) = (hostile("t"), hostile("pending"), "m".to_owned());
    let (trace, pending, memory) = (&*trace, &*pending, &*memory);
    for (command, input) in [
        (&["traces", "list"][..], ""),
        (&["traces", "list", "--limit", "1"], ""),
        (&["traces", "show", trace], ""),
        (&["traces", "show", pending], ""),
        (&["traces", "retry", trace], ""),
        (&["traces", "delete", "not here"], ""),
        (&["memories", "list"], ""),
        (&["memories", "show", memory], ""),
        (&["memories", "query", "task"], ""),
        (&["skill"], ""),
        (&["judge", "report"], ""),
        (&["projects"], ""),
        (&["keys", "create", &hostile("label"), "--all"], ""),
        (&["keys", "list"], ""),
        (&["undo", "--reviewer", "human", "--dry-run"], ""),
        (&["review"], "d\n"),
        (&["review", pending, "--fail", "no"], ""),
        (&["memories", "quarantine", memory], ""),
        (&["memories", "changes"], ""),
        (&["undo", "--reviewer", "human", "--yes"], ""),
    ] {
        let output = on_file(&data, command, input);
        shows_nothing_hidden(command, &output);
        // Neither fails because of what was imported.
        if matches!(command[0], "undo" | "memories") {
            assert!(output.status.success(), "{command:?}: {output:?}");
        }
    }
}

#[test]
fn json_keeps_every_character_as_an_escape() {
    let folder = tempfile::tempdir().unwrap();
    let data = imported(folder.path());
    let trace = hostile("t");
    let show = ["traces", "show", &trace, "--json"];
    let output = on_file(&data, &show, "");
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    let is_hidden = |c: char| reflect_types::neutral::is_hidden(c);
    assert!(!shown.contains(is_hidden), "{shown:?}");
    let read: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(read["id"], trace);
    assert_eq!(read["task"], hostile("task"));
    assert_eq!(read["trajectory"][0]["content"], hostile("content"));
    let exported = on_file(&data, &["export", "-"], "");
    let exported = String::from_utf8(exported.stdout).unwrap();
    assert!(!exported.contains(is_hidden), "{exported:?}");
}

#[test]
fn an_archive_with_a_hostile_name_or_line_is_refused_in_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    for (number, lines) in [
        json!({"kind": "bundle", "version": 1, "project": hostile("p")}).to_string() + "\n{}\n",
        json!({"kind": hostile("kind")}).to_string(),
        format!("{{\"kind\": \"{}", "\u{9b}2J\u{202e}"),
    ]
    .iter()
    .enumerate()
    {
        let file = folder.path().join(format!("{number}.jsonl"));
        std::fs::write(&file, lines).unwrap();
        let import = ["import", file.to_str().unwrap()];
        let refused = on_file(&data, &import, "");
        assert!(!refused.status.success());
        shows_nothing_hidden(&import, &refused);
    }
}
