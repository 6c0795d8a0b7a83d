use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::left_over::LeftOver;
use super::*;

/// A folder that is removed at the end of the test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn open(&self, limit: Option<u64>) -> Spool {
        self.open_for(Some("https://production"), limit)
    }

    fn open_for(&self, server: Option<&str>, limit: Option<u64>) -> Spool {
        let settings = SpoolSettings {
            directory: Some(self.0.path().to_owned()),
            limit,
        };
        Spool::open(settings, to(server)).unwrap().unwrap()
    }
}

fn to(server: Option<&str>) -> Destination {
    Destination {
        server: server.map(str::to_owned),
        project: "p".into(),
    }
}

fn keys(left: &LeftOver) -> Vec<&str> {
    let problem = left.problem.as_ref();
    assert!(problem.is_none(), "{problem:?}");
    let names = left.entries.iter().map(|entry| &entry.name);
    names.map(|name| name.key.as_str()).collect()
}

fn trace(key: &str) -> CreateTrace {
    let mut trace = CreateTrace::new("task", "prose");
    trace.idempotency_key = Some(key.to_owned());
    trace
}

fn files(folder: &Path) -> Vec<String> {
    let Ok(items) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = items.map(|item| item.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_kept_run_can_be_read_by_people_and_read_back() {
    let folder = Folder::new();
    let spool = folder.open(None);
    let entry = spool.keep(&trace("key-1")).unwrap();
    let text = fs::read_to_string(&entry.path).unwrap();
    assert!(
        text.contains("\n  \"idempotency_key\": \"key-1\""),
        "{text}"
    );
    assert_eq!(spool.load(&entry).unwrap(), trace("key-1"));
    assert_eq!(spool.waiting(), 1);
    spool.remove(&entry).unwrap();
    assert_eq!((spool.waiting(), files(&spool.folder)), (0, vec![]));
}

#[cfg(unix)]
#[test]
fn a_spooled_run_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let spool = folder.open(None);
    let entry = spool.keep(&trace("key-1")).unwrap();
    let mode = fs::metadata(&entry.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn only_the_runs_of_a_client_that_is_gone_are_taken_over() {
    let folder = Folder::new();
    let gone = folder.open(None);
    gone.keep(&trace("key-1")).unwrap();
    gone.keep(&trace("key-2")).unwrap();
    let next = folder.open(None);
    assert!(next.take_over().entries.is_empty());
    drop(gone);
    assert_eq!(keys(&next.take_over()), ["key-1", "key-2"]);
    assert_eq!(next.waiting(), 2);
    assert!(next.take_over().entries.is_empty());
}

#[test]
fn a_run_for_another_server_is_left_alone() {
    let folder = Folder::new();
    let staging = folder.open_for(Some("https://staging"), None);
    let entry = staging.keep(&trace("key-1")).unwrap();
    let text = fs::read_to_string(&entry.path).unwrap();
    assert!(
        text.contains("\"server\": \"https://staging\"") && text.contains("\"project\": \"p\""),
        "{text}"
    );
    drop(staging);
    for other in [Some("https://production"), None] {
        let left = folder.open_for(other, None).take_over();
        assert_eq!((left.entries.len(), left.foreign), (0, 1), "{other:?}");
    }
    let again = folder.open_for(Some("https://staging"), None);
    assert_eq!(keys(&again.take_over()), ["key-1"]);
}

#[test]
fn a_run_that_names_no_server_is_for_any() {
    let folder = Folder::new();
    let path = folder
        .open(None)
        .folder
        .join("0000000000000001-key-1@1-2-3.json");
    let trace = serde_json::to_value(trace("key-1")).unwrap();
    let stored = serde_json::json!({
        "idempotency_key": "key-1", "ended": "once", "trace": trace,
    });
    fs::write(path, stored.to_string()).unwrap();
    let spool = folder.open(None);
    let left = spool.take_over();
    assert_eq!(keys(&left), ["key-1"]);
    assert_eq!(spool.load(&left.entries[0]).unwrap(), self::trace("key-1"));
}

#[test]
fn what_was_taken_over_before_a_fault_is_ours_to_send() {
    let folder = Folder::new();
    let gone = folder.open(None);
    gone.keep(&trace("key-1")).unwrap();
    gone.keep(&trace("key-2")).unwrap();
    let next = folder.open(None);
    drop(gone);
    let mut items: Vec<_> = fs::read_dir(&next.folder).unwrap().collect();
    items.insert(1, Err(io::Error::other("the disk hiccups")));
    let left = next.take_over_of(items.into_iter());
    assert_eq!(left.entries.len(), 2);
    assert_eq!(next.waiting(), 2);
    assert_eq!(left.problem.unwrap().to_string(), "the disk hiccups");
}

#[test]
fn of_two_clients_only_one_takes_a_run_over() {
    let folder = Folder::new();
    let gone = folder.open(None);
    for key in 0..50 {
        gone.keep(&trace(&format!("key-{key}"))).unwrap();
    }
    let (a, b) = (folder.open(None), folder.open(None));
    drop(gone);
    let (left, right) = std::thread::scope(|scope| {
        let left = scope.spawn(|| keys(&a.take_over()).len());
        let right = scope.spawn(|| keys(&b.take_over()).len());
        (left.join().unwrap(), right.join().unwrap())
    });
    assert_eq!(left + right, 50, "{left} + {right}");
}

#[test]
fn a_full_spool_says_so_and_takes_more_once_some_are_sent() {
    let folder = Folder::new();
    let spool = folder.open(Some(500));
    let first = spool.keep(&trace("key-1")).unwrap();
    let error = (0..5).find_map(|key| spool.keep(&trace(&key.to_string())).err());
    let error = error.unwrap().to_string();
    assert!(
        error.contains("of 500 bytes") && error.contains("spool_limit"),
        "{error}"
    );
    spool.remove(&first).unwrap();
    spool.keep(&trace("key-2")).unwrap();
}

#[test]
fn room_that_another_process_made_is_found() {
    let folder = Folder::new();
    let (a, b) = (folder.open(Some(400)), folder.open(Some(400)));
    let entry = a.keep(&trace("key-1")).unwrap();
    b.count_bytes().unwrap();
    assert!(b.keep(&trace("key-2")).is_err());
    a.remove(&entry).unwrap();
    b.keep(&trace("key-2")).unwrap();
}

#[test]
fn what_cannot_be_read_is_set_aside() {
    let folder = Folder::new();
    let spool = folder.open(None);
    let cut_short = spool.keep(&trace("key-1")).unwrap();
    fs::write(&cut_short.path, "{\"idempotency_key\": \"k\", \"trace\"").unwrap();
    let Missing::Unreadable(said) = spool.load(&cut_short).unwrap_err() else {
        panic!("it is there")
    };
    assert!(
        said.contains("EOF") && said.contains("unreadable"),
        "{said}"
    );
    assert_eq!(files(&spool.folder.join(UNREADABLE)).len(), 1);
    assert_eq!(spool.waiting(), 0);
}

#[test]
fn a_file_that_the_system_does_not_hand_out_stays_where_it_is() {
    let folder = Folder::new();
    let spool = folder.open(None);
    let entry = spool.keep(&trace("key-1")).unwrap();
    let content = fs::read(&entry.path).unwrap();
    fs::remove_file(&entry.path).unwrap();
    fs::create_dir(&entry.path).unwrap();
    assert!(matches!(spool.load(&entry), Err(Missing::NotNow(_))));
    assert_eq!(spool.waiting(), 1);
    fs::remove_dir(&entry.path).unwrap();
    fs::write(&entry.path, content).unwrap();
    assert_eq!(spool.load(&entry).unwrap(), trace("key-1"));
}

#[test]
fn a_refused_run_is_kept_with_the_reason() {
    let folder = Folder::new();
    let spool = folder.open(None);
    let entry = spool.keep(&trace("key-1")).unwrap();
    spool
        .reject(&entry, &trace("key-1"), "the task is too long")
        .unwrap();
    let rejected = files(&spool.folder.join(REJECTED));
    let text = fs::read_to_string(spool.folder.join(REJECTED).join(&rejected[0])).unwrap();
    assert!(
        text.contains("\"refused\": \"the task is too long\""),
        "{text}"
    );
    assert_eq!(files(&spool.folder), [REJECTED]);
}

#[test]
fn a_folder_that_cannot_be_used_is_named_when_the_client_is_built() {
    let folder = Folder::new();
    let file = folder.0.path().join("reflect-spool");
    fs::write(&file, "not a folder").unwrap();
    let settings = SpoolSettings {
        directory: Some(file),
        limit: None,
    };
    let error = Spool::open(settings, to(None)).unwrap_err().to_string();
    assert!(
        error.contains("reflect-spool") && error.contains(".spool("),
        "{error}"
    );
}

#[test]
fn a_file_that_was_not_written_to_its_end_is_removed() {
    let folder = Folder::new();
    let spool = folder.open(None);
    let owner = "4294967295-1-0";
    let name = |key| Name::new(key, owner.to_owned(), spool.server(), SystemTime::now()).file();
    let unfinished = |file: &str| spool.folder.join(format!(".{file}.tmp"));
    let torn = [
        (unfinished(&name("empty")), ""),
        (unfinished(&name("torn")), "{\"ver"),
        (unfinished(&format!("probe@{owner}.json")), ""),
    ];
    for (path, content) in &torn {
        let mut file = fs::File::create(path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        // Elsewhere only its age tells that its owner is gone.
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        file.set_modified(long_ago).unwrap();
    }
    assert_eq!(keys(&spool.take_over()), [""; 0]);
    assert_eq!(files(&spool.folder), [""; 0]);
    assert_eq!(spool.waiting(), 0);
}

#[test]
fn a_file_that_may_still_be_written_is_left_alone() {
    let folder = Folder::new();
    let spool = folder.open(None);
    // Whether such an owner exists cannot be known.
    let name = Name::new("key-1", "unknown".to_owned(), None, SystemTime::now());
    let path = spool.folder.join(format!(".{}.tmp", name.file()));
    let young = fs::File::create(&path).unwrap();
    assert_eq!(keys(&spool.take_over()), [""; 0]);
    assert!(path.exists());
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    young.set_modified(long_ago).unwrap();
    assert_eq!(keys(&spool.take_over()), [""; 0]);
    assert!(!path.exists());
}

#[test]
fn many_clients_may_check_the_same_folder_concurrently() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    folder.open(None);
                }
            });
        }
    });
    let left = files(&folder.open(None).folder);
    assert!(left.is_empty(), "{left:?}");
}
