//! Clients with a spool.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use reflect_sdk::{ClientBuilder, Overflow, ReflectClient, RetryPolicy, TraceHandle};
use reflect_types::ErrorCode;
use tempfile::TempDir;
use wiremock::MockServer;

use crate::LIMIT;
use crate::script::{Script, Step, builder, end_one};

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The runs in a folder of the project.
    pub(crate) fn runs(&self, folder: &str) -> Vec<PathBuf> {
        let items = fs::read_dir(self.path().join("default").join(folder));
        let paths = items.into_iter().flatten().map(|item| item.unwrap().path());
        paths.filter(|path| path.is_file()).collect()
    }

    /// Gives all runs an owner that is gone, and returns their files.
    fn orphan(&self) -> Vec<PathBuf> {
        let runs = self.runs("").into_iter().map(|run| {
            let name = run.file_name().unwrap().to_str().unwrap();
            let mut parts = name.strip_suffix(".json").unwrap().split('@');
            let (key, _) = (parts.next().unwrap(), parts.next().unwrap());
            let server = parts.next().map(|server| format!("@{server}"));
            let server = server.unwrap_or_default();
            let orphan = run.with_file_name(format!("{key}@4294967295-1-0{server}.json"));
            fs::rename(&run, &orphan).unwrap();
            orphan
        });
        runs.collect()
    }

    fn client(&self, script: &Arc<Script>) -> ReflectClient {
        self.build(builder(), script)
    }

    fn build(&self, builder: ClientBuilder, script: &Arc<Script>) -> ReflectClient {
        builder
            .spool(self.path())
            .shutdown_timeout(Duration::ZERO)
            .transport(Arc::clone(script) as _)
            .unwrap()
    }
}

/// Waits until all runs so far are on disk.
pub(crate) fn all_on_disk(client: &ReflectClient) {
    while client.stats().pending > 0 {
        thread::yield_now();
    }
}

/// Ends a run, and waits until it is on disk.
fn spool_one(client: &ReflectClient) -> TraceHandle {
    let handle = end_one(client);
    all_on_disk(client);
    handle
}

#[test]
fn a_run_is_on_disk_before_it_is_sent_and_gone_when_it_has_arrived() {
    let folder = Folder::new();
    let script = Arc::new(Script::shut());
    let client = folder.client(&script);
    let handle = spool_one(&client);
    let runs = folder.runs("");
    assert_eq!(runs.len(), 1);
    let text = fs::read_to_string(&runs[0]).unwrap();
    assert!(text.contains("\"task\": \"task\""), "{text}");
    assert_eq!((client.stats().spooled, client.stats().pending), (1, 0));
    script.open();
    handle.wait_blocking(LIMIT).unwrap();
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert!(folder.runs("").is_empty());
}

#[test]
fn a_full_queue_loses_nothing_with_a_spool() {
    let folder = Folder::new();
    let script = Arc::new(Script::shut());
    // The thread that ends the runs waits for the disk, not for Reflect.
    let client = folder.build(builder().queue(2, Overflow::Block(LIMIT)), &script);
    let handles: Vec<_> = (0..50).map(|_| end_one(&client)).collect();
    all_on_disk(&client);
    let report = client.blocking().flush(Duration::from_millis(1));
    assert_eq!((report.spooled, report.dropped), (50, 0), "{report:?}");
    script.open();
    let report = client.blocking().flush(LIMIT);
    assert!(report.all_sent() && report.sent == 50, "{report:?}");
    for handle in handles {
        handle.wait_blocking(LIMIT).unwrap();
    }
    assert_eq!(script.taken().len(), 50);
}

#[test]
fn a_run_that_could_not_be_sent_is_sent_by_the_next_client() {
    let folder = Folder::new();
    let down = Arc::new(Script::steps(
        (0..100).map(|_| Step::Refuse(ErrorCode::Unavailable)),
    ));
    let client = folder.client(&down);
    let handles: Vec<_> = (0..3).map(|_| end_one(&client)).collect();
    let report = client.blocking().flush(LIMIT);
    assert_eq!((report.spooled, report.failed), (3, 0), "{report:?}");
    let error = handles[0].wait_blocking(LIMIT).unwrap_err();
    assert_eq!(error.status(), Some(503));
    drop(client);

    let up = Arc::new(Script::default());
    let next = folder.client(&up);
    assert!(next.blocking().flush(LIMIT).all_sent());
    assert_eq!(up.taken().len(), 3);
    // Runs that end in the same millisecond are sent in any order.
    let sorted = |mut keys: Vec<String>| {
        keys.sort();
        keys
    };
    assert_eq!(sorted(up.keys()), sorted(down.tried_keys()));
    assert!(folder.runs("").is_empty());
}

#[test]
fn a_run_that_a_revoked_key_could_not_send_stays_on_disk() {
    let folder = Folder::new();
    let revoked = (0..100).map(|_| Step::Refuse(ErrorCode::Unauthorized));
    let script = Arc::new(Script::steps(revoked));
    let client = folder.client(&script);
    assert!(end_one(&client).wait_blocking(LIMIT).is_err());
    let report = client.blocking().flush(LIMIT);
    assert_eq!((report.spooled, report.failed), (1, 0), "{report:?}");
    assert!(folder.runs("rejected").is_empty());
    drop(client);

    let mended = Arc::new(Script::default());
    assert!(folder.client(&mended).blocking().flush(LIMIT).all_sent());
    assert_eq!(mended.taken().len(), 1);
}

#[test]
fn a_run_of_another_project_is_left_alone() {
    let folder = Folder::new();
    let script = Arc::new(Script::shut());
    let theirs = folder.build(builder().project("theirs"), &script);
    end_one(&theirs);
    drop(theirs);
    let open = Arc::new(Script::default());
    let mine = folder.client(&open);
    assert_eq!(mine.stats().spooled, 0);
    assert!(open.taken().is_empty());
}

#[tokio::test]
async fn a_run_for_another_server_is_left_alone_and_reported() {
    let folder = Folder::new();
    let client = |url: String| {
        let settings = builder().shutdown_timeout(Duration::ZERO);
        settings.spool(folder.path()).http(url, "key").unwrap()
    };
    // Connections are not accepted, so requests are not answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let staging = client(format!("http://{}", listener.local_addr().unwrap()));
    spool_one(&staging);
    // Like a process that was killed.
    let run = folder.orphan().pop().unwrap();

    let server = MockServer::start().await;
    let production = client(server.uri());
    assert!(production.flush(LIMIT).await.all_sent());
    assert_eq!(folder.runs(""), [run]);
    assert_eq!(server.received_requests().await.unwrap().len(), 0);
    let told = production.stats().last_problem.unwrap();
    assert!(told.contains("for another server"), "{told}");
}

#[test]
fn a_run_between_two_attempts_is_on_disk_alone_and_read_again() {
    let folder = Folder::new();
    let script = Arc::new(Script::default());
    *script.poison.lock().unwrap() = Some("task");
    let attempts_after = |count| {
        let seen = || *script.attempts.lock().unwrap();
        let goal = seen() + count;
        while seen() < goal {
            thread::yield_now();
        }
    };
    let quick = RetryPolicy::default().backoff(Duration::ZERO, Duration::from_millis(1));
    let settings = builder().background_retry(quick.attempts(u32::MAX), LIMIT);
    let client = folder.build(settings, &script);
    let handle = end_one(&client);
    attempts_after(1);
    // The run that arrives shows where it was read from.
    let run = folder.runs("").pop().unwrap();
    let text = fs::read_to_string(&run).unwrap();
    let edited = folder.path().join("edited");
    fs::write(&edited, text.replace("done", "done since")).unwrap();
    fs::rename(edited, run).unwrap();
    // The first of these may have been read before.
    attempts_after(2);
    *script.poison.lock().unwrap() = None;
    handle.wait_blocking(LIMIT).unwrap();
    let taken = format!("{:?}", script.taken());
    assert!(taken.contains("done since"), "{taken}");
}

#[test]
fn a_run_that_cannot_be_read_now_is_not_given_up() {
    let folder = Folder::new();
    let script = Arc::new(Script::shut());
    spool_one(&folder.client(&script));
    let run = folder.orphan().pop().unwrap();
    fs::remove_file(&run).unwrap();
    // A folder in place of the file is an error of the system, like too many open files.
    fs::create_dir(&run).unwrap();
    let client = folder.client(&Arc::new(Script::default()));
    let report = client.blocking().flush(LIMIT);
    assert_eq!((report.spooled, report.failed), (1, 0), "{report:?}");
    let problem = client.stats().last_problem.unwrap();
    assert!(problem.contains("kept on disk"), "{problem}");
}

#[test]
fn a_refused_run_is_put_aside_with_the_reason() {
    let folder = Folder::new();
    let script = Arc::new(Script::steps([Step::Refuse(ErrorCode::InvalidField)]));
    let client = folder.client(&script);
    assert!(end_one(&client).wait_blocking(LIMIT).is_err());
    let report = client.blocking().flush(LIMIT);
    assert_eq!((report.failed, report.spooled), (1, 0), "{report:?}");
    let rejected = folder.runs("rejected");
    let text = fs::read_to_string(&rejected[0]).unwrap();
    assert!(text.contains("\"refused\": \"no (422"), "{text}");
    assert!(folder.runs("").is_empty());
}

#[test]
fn an_unreadable_file_is_set_aside_and_the_others_are_sent() {
    let folder = Folder::new();
    let script = Arc::new(Script::shut());
    let client = folder.client(&script);
    spool_one(&client);
    spool_one(&client);
    let runs = folder.runs("");
    fs::write(&runs[0], "not what it was").unwrap();
    let open = Arc::new(Script::default());
    let next = take_over(&folder, &open);
    let report = next.blocking().flush(LIMIT);
    assert_eq!((report.sent, report.failed), (1, 1), "{report:?}");
    assert_eq!(folder.runs("unreadable").len(), 1);
    let problem = next.stats().last_problem.unwrap();
    assert!(problem.contains("cannot be read"), "{problem}");
}

#[test]
fn what_a_killed_process_did_not_write_to_its_end_is_removed_and_counts_as_nothing() {
    let folder = Folder::new();
    let shut = Arc::new(Script::shut());
    spool_one(&folder.client(&shut));
    let whole = folder.orphan().pop().unwrap();
    let name = whole.file_name().unwrap().to_str().unwrap();
    for (key, content) in [("empty", ""), ("torn", "{\"version\": 1, \"idem")] {
        let torn = format!(".{}.tmp", name.replacen('-', &format!("-{key}-"), 1));
        let torn = fs::File::create(whole.with_file_name(torn)).map(|mut file| {
            file.write_all(content.as_bytes()).unwrap();
            file
        });
        // Elsewhere than on Linux only its age tells that its owner is gone.
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        torn.unwrap().set_modified(long_ago).unwrap();
    }
    assert_eq!(folder.runs("").len(), 3);
    let next = folder.client(&Arc::new(Script::default()));
    let stats = next.blocking().flush(LIMIT);
    assert!(stats.all_sent() && stats.sent == 1, "{stats:?}");
    assert!(folder.runs("").is_empty() && folder.runs("unreadable").is_empty());
}

/// A client that takes over the runs of a process that was killed.
fn take_over(folder: &Folder, script: &Arc<Script>) -> ReflectClient {
    folder.orphan();
    folder.client(script)
}

#[test]
fn a_full_spool_is_reported_and_the_run_is_sent_from_memory() {
    let folder = Folder::new();
    let script = Arc::new(Script::shut());
    let client = folder.build(builder().spool_limit(10), &script);
    let handle = end_one(&client);
    while client.stats().last_problem.is_none() {
        thread::yield_now();
    }
    let stats = client.stats();
    assert_eq!((stats.spooled, stats.pending), (0, 1));
    let problem = stats.last_problem.unwrap();
    assert!(problem.contains("of 10 bytes"), "{problem}");
    script.open();
    handle.wait_blocking(LIMIT).unwrap();
}

#[test]
fn a_client_with_nothing_left_over_starts_no_work() {
    let folder = Folder::new();
    let script = Arc::new(Script::default());
    let client = folder.client(&script);
    assert_eq!(*script.attempts.lock().unwrap(), 0);
    assert_eq!(client.stats(), reflect_sdk::DeliveryStats::default());
}
