//! MCP on standard input and output. `tests/python/test_mcp.py` has whole sessions.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::{errors, json, reflect};

#[test]
fn standard_output_carries_the_protocol_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let mut host = reflect()
        .args(["mcp", "--log", "debug", "--data"])
        .arg(&data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "host", "version": "1"}
    });
    let run = json!({
        "name": "record_run",
        "arguments": {"task": "t", "trajectory": "x", "result": "fail", "feedback_text": "f"}
    });
    let mut input = host.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": run}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    writeln!(input, "not a message").unwrap();
    drop(input);
    let ended = host.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", errors(&ended));
    assert!(errors(&ended).contains("INFO"), "{}", errors(&ended));
    let said = String::from_utf8(ended.stdout).unwrap();
    let replies: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(replies.iter().all(|reply| reply["jsonrpc"] == "2.0"));
    let recorded = replies.iter().find(|reply| reply["id"] == 2).unwrap();
    assert_eq!(recorded["result"]["isError"], false, "{recorded}");
}

#[test]
fn a_hosts_configuration_names_the_program_and_the_file_and_no_secret() {
    let config = |arguments: &[&str]| {
        let mut print = reflect();
        print.args(["mcp", "--print-config"]).args(arguments);
        print.current_dir("/").output().unwrap()
    };
    let on_file = ["claude", "--data", "reflect.db", "--project", "support"];
    let claude = json(&config(&on_file));
    let started = json!({
        "command": env!("CARGO_BIN_EXE_reflect"),
        "args": ["mcp", "--data", "/reflect.db", "--project", "support"]
    });
    assert_eq!(claude, json!({"mcpServers": {"reflect": started}}));
    let remote = [
        "--url",
        "http://localhost:8000",
        "--key",
        "rf_live_secret_1",
    ];
    for (host, field) in [
        ("claude", "mcpServers"),
        ("cursor", "mcpServers"),
        ("vscode", "servers"),
    ] {
        let printed = config(&[&[host], &remote[..]].concat());
        let server = &json(&printed)[field]["reflect"];
        assert_eq!(
            server["args"],
            json!(["mcp", "--url", "http://localhost:8000"])
        );
        assert!(server["env"]["REFLECT_API_KEY"].is_string(), "{server}");
        assert!(!String::from_utf8_lossy(&printed.stdout).contains("secret"));
    }
    let with_file = json(&config(
        &[&["cursor", "--key-file", "k"], &remote[..2]].concat(),
    ));
    let args = &with_file["mcpServers"]["reflect"]["args"];
    assert_eq!(args[4], "/k");
    assert!(with_file["mcpServers"]["reflect"]["env"].is_null());
    assert_eq!(config(&["cursor"]).status.code(), Some(2));
}
