//! Memories and projects under management.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::support::{errors, json, on_file, reflect, two_pending};

/// A file with two memories; returns it and the id of the newest.
fn two_memories(folder: &Path) -> (PathBuf, String) {
    let data = two_pending(folder);
    on_file(&data, &["review"], "y\ny\n");
    let newest = json(&on_file(&data, &["memories", "--limit", "1", "--json"], ""));
    let id = newest[0]["id"].as_str().unwrap().to_owned();
    (data, id)
}

fn shown(data: &Path, arguments: &[&str]) -> String {
    String::from_utf8(on_file(data, arguments, "").stdout).unwrap()
}

fn show(data: &Path, id: &str) -> Value {
    json(&on_file(data, &["memories", "show", id, "--json"], ""))
}

#[test]
fn memories_are_edited_quarantined_restored_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (data, id) = two_memories(folder.path());
    let edit = [
        "memories",
        "edit",
        &id,
        "--summary",
        "Better",
        "--note",
        "why",
    ];
    assert!(shown(&data, &edit).starts_with("Better"));
    let list = shown(&data, &["memories"]);
    assert!(list.lines().nth(1).unwrap().contains("Better"), "{list}");

    let aside = shown(&data, &["memories", "quarantine", &id]);
    assert_eq!(aside.trim(), format!("{id} is quarantined"));
    let query = ["memories", "query", "Water the plants"];
    assert!(!shown(&data, &query).contains(&id));
    let only = shown(&data, &["memories", "--status", "quarantined"]);
    assert_eq!(only.lines().count(), 2, "{only}");
    let restored = on_file(&data, &["memories", "restore", "none", &id], "");
    assert_eq!(restored.status.code(), Some(4), "{}", errors(&restored));
    assert!(shown(&data, &query).contains(&id));
    let kinds: Vec<_> = show(&data, &id)["changes"].as_array().unwrap().clone();
    let kinds: Vec<_> = kinds.iter().map(|change| change["kind"].clone()).collect();
    assert_eq!(kinds, ["edited", "quarantined", "restored"]);
    assert!(shown(&data, &["memories", "show", &id]).contains("why"));

    let unsure = on_file(&data, &["memories", "delete", &id], "");
    assert_eq!(unsure.status.code(), Some(2), "{}", errors(&unsure));
    assert_eq!(
        shown(&data, &["memories", "delete", &id, "--yes"]).trim(),
        "1 deleted"
    );
    let gone = on_file(&data, &["memories", "show", &id], "");
    assert_eq!(gone.status.code(), Some(4));
    let changes = shown(&data, &["memories", "changes"]);
    assert!(
        changes.contains(&id) && changes.contains("deleted"),
        "{changes}"
    );
}

#[test]
fn the_tools_of_a_memory_are_set_and_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let (data, id) = two_memories(folder.path());
    let edit = |tool: &str| {
        let edited = on_file(&data, &["memories", "edit", &id, "--tool", tool], "");
        assert!(edited.status.success(), "{}", errors(&edited));
        show(&data, &id).to_string()
    };
    let set = edit("refund");
    assert!(set.contains(r#""applicable_tools":["refund"]"#), "{set}");
    let emptied = edit("");
    assert!(emptied.contains(r#""applicable_tools":[]"#), "{emptied}");
}

#[test]
fn a_memory_is_edited_in_an_editor() {
    let folder = tempfile::tempdir().unwrap();
    let (data, id) = two_memories(folder.path());
    let before = show(&data, &id);
    let edit = |editor: &str| {
        let mut command = reflect();
        command.args(["memories", "edit", &id, "--editor", "--data"]);
        let edited = command
            .arg(&data)
            .env_remove("VISUAL")
            .env("EDITOR", editor);
        edited.output().unwrap()
    };
    let unchanged = edit("true");
    assert!(errors(&unchanged).is_empty());
    assert_eq!(show(&data, &id), before);
    assert_eq!(edit("false").status.code(), Some(1));
    let script = folder.path().join("editor.sh");
    std::fs::write(
        &script,
        "sed 's/^## guidance$/&\\nAsk first/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"",
    )
    .unwrap();
    let edited = edit(&format!("sh {}", script.display()));
    assert!(edited.status.success(), "{}", errors(&edited));
    let after = show(&data, &id);
    assert!(after["guidance"].as_str().unwrap().starts_with("Ask first"));
    assert_eq!(after["summary"], before["summary"]);
}

#[test]
fn projects_are_listed_and_their_alpha_limited() {
    let folder = tempfile::tempdir().unwrap();
    let data = two_pending(folder.path());
    let list = json(&on_file(&data, &["projects", "--json"], ""));
    assert_eq!(list[0]["project_id"], "default");
    assert_eq!(list[0]["traces"], 2);
    let set = ["projects", "set", "--max-alpha", "0.2", "--json"];
    assert_eq!(json(&on_file(&data, &set, ""))["max_alpha"], 0.2);
    assert!(on_file(&data, &["review"], "y\n").status.success());
    let unset = ["projects", "set", "--no-max-alpha"];
    assert!(shown(&data, &unset).contains("default"));
    let new = folder.path().join("new.db");
    let before = on_file(&new, &["projects", "set", "--approve", "first"], "");
    assert!(before.status.success(), "{before:?}");
    let note = String::from_utf8_lossy(&before.stderr);
    assert!(note.contains("project `default` has no runs yet"), "{note}");
    let missing = folder.path().join("missing.db");
    let removed = on_file(&missing, &["projects", "set", "--no-approve"], "");
    assert!(!removed.status.success() && !missing.exists());
    let other = ["projects", "set", "--project", "other", "--no-approve"];
    assert!(errors(&on_file(&data, &other, "")).contains("other"));
    let typed = on_file(&data, &["projects", "set"], "");
    assert_eq!(typed.status.code(), Some(2));
}
