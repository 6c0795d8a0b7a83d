//! Behaviour of the embedded transport alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use reflect_engine::Engine;
use reflect_engine::model::{Error, JudgedRun, Reflection, ReflectionWriter};
use reflect_engine::store::Sqlite;
use reflect_sdk::{BlockingClient, ReflectClient};
use tempfile::TempDir;

fn open(folder: &TempDir) -> BlockingClient {
    let builder = ReflectClient::builder().project("support");
    let client = builder.embedded(folder.path().join("reflect.db"));
    client.unwrap().blocking()
}

#[test]
fn ingestion_left_queued_by_a_client_is_finished_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let call = open(&folder).create_trace("Refund order 7", "Done.");
        let receipt = call.pass().call().unwrap();
        // A job still leased by the first client would keep the second one waiting.
        let patience = Duration::from_secs(10);
        let client = open(&folder);
        let call = client.wait_for_trace(receipt.trace_id).require_reviewed();
        let trace = call.timeout(patience).call().unwrap();
        assert!(trace.created_memory_id.is_some(), "round {round}");
    }
}

/// Says when it begins, and never ends.
struct EndlessWriter(Mutex<mpsc::Sender<()>>);

#[async_trait::async_trait]
impl ReflectionWriter for EndlessWriter {
    fn id(&self) -> &'static str {
        "endless"
    }

    async fn reflect(&self, _: &JudgedRun<'_>) -> Result<Reflection, Error> {
        self.0.lock().unwrap().send(()).unwrap();
        std::future::pending().await
    }
}

/// Ends this process while its engine works on a review.
fn exit_during_a_job(file: &Path) -> ! {
    static CLIENT: OnceLock<ReflectClient> = OnceLock::new();

    let (begins, begun) = mpsc::channel();
    let engine = Engine::builder()
        .store(Arc::new(Sqlite::open(file).unwrap()))
        .reflector(Arc::new(EndlessWriter(Mutex::new(begins))));
    let builder = ReflectClient::builder().project("support");
    let builder = builder.shutdown_timeout(Duration::from_secs(2));
    let client = CLIENT.get_or_init(|| builder.embedded_engine(engine).unwrap());
    let client = client.blocking();
    let call = client.create_trace("Refund order 7", "Done.");
    call.pass().call().unwrap();
    begun.recv().unwrap();
    std::process::exit(0);
}

#[test]
fn a_job_of_a_process_that_ends_is_free_for_the_next() {
    const FILE: &str = "REFLECT_TEST_ENDING_PROCESS";
    if let Some(file) = std::env::var_os(FILE) {
        exit_during_a_job(Path::new(&file));
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "embedded::a_job_of_a_process_that_ends_is_free_for_the_next";
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env(FILE, folder.path().join("reflect.db"))
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let client = open(&folder);
    let trace = client.list_traces().call().unwrap().items.remove(0);
    // Long before the lease of the first process ends.
    let call = client.wait_for_trace(trace.id).require_reviewed();
    let learned = call.timeout(Duration::from_secs(10)).call().unwrap();
    assert!(learned.created_memory_id.is_some());
}

#[test]
fn two_clients_of_one_file_see_each_others_memories() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = (open(&folder), open(&folder));
    let recalled = || reader.query_memories("Refund order 7").call().unwrap();
    assert!(recalled().is_empty());
    let call = writer.create_trace_and_wait("Refund order 7", "Done.");
    call.pass().call().unwrap();
    assert_eq!(recalled().len(), 1);
}

#[test]
fn a_file_that_cannot_be_used_is_refused_when_the_client_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "this is not a database, and it must stay as it is").unwrap();
    let error = ReflectClient::builder().embedded(&file).unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert!(matches!(error, reflect_sdk::Error::Config(_)), "{error:?}");
    // The file is a folder's name here.
    for (path, said) in [
        (file.join("reflect.db"), "cannot be opened"),
        (PathBuf::new(), "empty"),
    ] {
        let error = ReflectClient::builder().embedded(path).unwrap_err();
        assert!(matches!(error, reflect_sdk::Error::Config(_)), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "this is not a database, and it must stay as it is");
}

#[test]
fn keys_belong_to_a_server() {
    let client = open(&tempfile::tempdir().unwrap());
    let error = client.admin().list_api_keys().call().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Keys belong to a server"), "{text}");
}
