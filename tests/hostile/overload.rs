//! A server at the limits of its machine: files, disk.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::support::{KEY, Server, reflect};

/// A server in a shell that has run these commands.
fn limited(shell: &str, data: &Path) -> Server {
    let program = reflect().get_program().to_owned();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")])
        .arg(program);
    Server::spawn(command, data, &["--master-key", KEY], Stdio::null())
}

/// The status and the body of a request on a connection of its own.
fn request(server: &Server, method: &str, path: &str, body: &str) -> (u16, String) {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {KEY}\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    client.write_all(head.as_bytes()).unwrap();
    let mut reply = String::new();
    client.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.parse().unwrap(), body.to_owned())
}

#[test]
fn silent_connections_up_to_the_file_limit_do_not_lock_out_others() {
    let folder = tempfile::tempdir().unwrap();
    let server = limited("ulimit -n 256", &folder.path().join("reflect.db"));
    let address = server.url.strip_prefix("http://").unwrap();
    let silent: Vec<TcpStream> = (0..252)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let (status, _) = request(&server, "GET", "/v1/projects/support/traces", "");
    assert_eq!(status, 200);
    // The answer did not wait until the silent ones had timed out.
    let is_open = |stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let read = stream.peek(&mut [0]);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    assert!(silent.iter().any(is_open));
}

#[test]
fn full_disk_is_not_ready_but_alive() {
    let folder = tempfile::tempdir().unwrap();
    // A limit on file sizes makes writes fail like a full disk.
    let limits = "ulimit -f 4000; trap '' XFSZ";
    let server = limited(limits, &folder.path().join("reflect.db"));
    let trace = |length: usize| json!({"task": "t", "trajectory": "x".repeat(length)}).to_string();
    // Shorter and shorter ones, until none fits.
    for length in [200_000, 1] {
        while request(&server, "POST", "/v1/projects/p/traces", &trace(length)).0 == 201 {}
    }
    let (status, body) = request(&server, "GET", "/health", "");
    assert_eq!(status, 503, "{body}");
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["status"], "unavailable");
    assert!(body["reason"].as_str().unwrap().contains("disk"), "{body}");
    assert_eq!(request(&server, "GET", "/health/live", "").0, 200);
}

/// The peak of the memory of a process, in MiB.
#[cfg(target_os = "linux")]
fn peak_memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib / 1024
}

/// A message of three bytes takes hundreds of them once it is decoded.
#[cfg(target_os = "linux")]
#[test]
fn lists_of_very_heavy_traces_take_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("reflect.db");
    let filled = Server::start(&data, &["--master-key", KEY]);
    let messages = vec!["{}"; 1_000_000].join(",");
    let trace = format!(r#"{{"task": "t", "trajectory": [{messages}]}}"#);
    for _ in 0..3 {
        let (status, body) = request(&filled, "POST", "/v1/projects/p/traces", &trace);
        assert_eq!(status, 201, "{body}");
    }
    filled.terminate();
    assert!(filled.ended().success());
    // Storing a trace decodes it: the peak of a new process is that of its lists.
    let server = Server::start(&data, &["--master-key", KEY]);
    for path in ["traces?limit=1000", "archive/traces"] {
        let (status, body) = request(&server, "GET", &format!("/v1/projects/p/{path}"), "");
        assert_eq!(status, 200);
        assert!(body.len() > 3_000_000, "{path}: {}", body.len());
    }
    let peak = peak_memory(&server);
    assert!(peak < 160, "{peak} MiB");
}
