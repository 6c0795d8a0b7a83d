//! The environment of a behaviour: an empty bank of memories behind one of the transports.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reflect_engine::model::{Extractive, ReflectionWriter};
use reflect_engine::store::{Postgres, Sqlite, scratch_database};
use reflect_engine::{Builder as EngineBuilder, Engine};
use reflect_sdk::{
    BlockingClient, ClientBuilder, IngestStatus, Memory, ReflectClient, Reviewer, Trace,
};
use reflect_server::keys::{KeyStore, Keys};
use reflect_server::{App, Settings, serve};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Longer than anything here takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct World {
    client: ReflectClient,
    place: Place,
}

/// Where the memories are stored; removed with the world.
enum Place {
    Folder(TempDir),
    /// An engine on a file, with a reflector of its own.
    Engine(TempDir, Arc<dyn ReflectionWriter>),
    Server {
        base_url: String,
        key: String,
        _runtime: Runtime,
        _folder: Option<TempDir>,
    },
}

impl World {
    /// An engine in this process, on a file of its own.
    pub(crate) fn embedded() -> Self {
        Self::at(Place::Folder(tempfile::tempdir().unwrap()))
    }

    /// The same with another reflector.
    pub(crate) fn embedded_with(reflector: Arc<dyn ReflectionWriter>) -> Self {
        Self::at(Place::Engine(tempfile::tempdir().unwrap(), reflector))
    }

    /// A server on a file and a port of its own, and HTTP in between.
    pub(crate) fn http() -> Self {
        Self::http_with(Arc::new(Extractive))
    }

    /// The same with another reflector.
    pub(crate) fn http_with(reflector: Arc<dyn ReflectionWriter>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(&folder, reflector);
        let runtime = runtime();
        let keys = runtime.block_on(KeyStore::in_memory()).unwrap();
        let (base_url, key) = runtime.block_on(start_server(engine, keys));
        Self::at(Place::Server {
            base_url,
            key,
            _runtime: runtime,
            _folder: Some(folder),
        })
    }

    /// A server on a PostgreSQL database of its own, with its keys there, and HTTP in between.
    pub(crate) fn postgres() -> Self {
        Self::postgres_with(Arc::new(Extractive))
    }

    /// The same with another reflector.
    pub(crate) fn postgres_with(reflector: Arc<dyn ReflectionWriter>) -> Self {
        static WORLDS: AtomicUsize = AtomicUsize::new(0);

        let name = format!("world_{}", WORLDS.fetch_add(1, Ordering::Relaxed));
        let runtime = runtime();
        let (base_url, key) = runtime.block_on(async {
            let address = scratch_database(&name).await;
            let store = Arc::new(Postgres::connect_with(&address, 4).await.unwrap());
            let keys = KeyStore::on_postgres(Arc::clone(&store)).await.unwrap();
            let engine = Engine::builder()
                .clock(Arc::new(store.clock()))
                .store(store)
                .reflector(reflector);
            start_server(engine, keys).await
        });
        Self::at(Place::Server {
            base_url,
            key,
            _runtime: runtime,
            _folder: None,
        })
    }

    fn at(place: Place) -> Self {
        let client = place.client(ReflectClient::builder().project("support"));
        Self { client, place }
    }

    pub(crate) fn client(&self) -> BlockingClient {
        self.client.blocking()
    }

    /// A client of another project behind the same transport.
    pub(crate) fn other_project(&self) -> BlockingClient {
        self.client_with(|builder| builder.project("billing"))
            .blocking()
    }

    /// Another client behind the same transport, with settings of its own.
    pub(crate) fn client_with(
        &self,
        set: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> ReflectClient {
        let builder = ReflectClient::builder().project("support");
        self.place.client(set(builder))
    }

    /// All runs so far, newest first, once the ingestion of each is settled.
    pub(crate) fn traces(&self) -> Vec<Trace> {
        let client = self.client();
        assert!(client.flush(LIMIT).all_sent());
        let traces = client.list_traces().call().unwrap();
        let settled = traces.into_iter().map(|trace| {
            if trace.ingest_status == IngestStatus::Completed {
                return trace;
            }
            let wait = client.wait_for_trace(&trace.id).require_reviewed();
            wait.timeout(LIMIT).call().unwrap()
        });
        settled.collect()
    }

    /// The one run that ended so far.
    #[track_caller]
    pub(crate) fn only(&self) -> Trace {
        let mut traces = self.traces();
        assert_eq!(traces.len(), 1, "{traces:?}");
        traces.remove(0)
    }

    /// Records a run that a person reviewed and waits for its memory.
    pub(crate) fn learn(&self, task: &str, feedback: Option<&str>, given: &[&Memory]) -> Trace {
        let client = self.client();
        let call = client.create_trace_and_wait(task, format!("I did: {task}"));
        let call = call.retrieved(given.iter().map(|memory| &memory.id));
        let call = match feedback {
            Some(feedback) => call.fail(feedback),
            None => call.pass(),
        };
        call.reviewer(Reviewer::Human).call().unwrap()
    }

    /// All memories near a task, whatever they are worth.
    pub(crate) fn recall(&self, task: &str) -> Vec<Memory> {
        let client = self.client();
        let call = client.query_memories(task).mmr_lambda(1.0);
        call.call().unwrap()
    }
}

impl Place {
    fn client(&self, builder: ClientBuilder) -> ReflectClient {
        match self {
            Self::Folder(folder) => builder.embedded(folder.path().join("reflect.db")),
            Self::Engine(folder, reflector) => {
                builder.embedded_engine(engine(folder, Arc::clone(reflector)))
            }
            Self::Server { base_url, key, .. } => builder.http(base_url, key),
        }
        .unwrap()
    }
}

fn engine(folder: &TempDir, reflector: Arc<dyn ReflectionWriter>) -> EngineBuilder {
    let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
    Engine::builder()
        .store(Arc::new(store))
        .reflector(reflector)
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Starts a server that ends with its runtime; returns its address and its master key.
async fn start_server(engine: EngineBuilder, keys: KeyStore) -> (String, String) {
    let engine = engine.start().unwrap();
    let keys = Keys::new(keys, None);
    let key = keys.ensure_master().await.unwrap().unwrap().api_key;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let app = App::new(engine, keys, Settings::default());
    tokio::spawn(serve(listener, app, std::future::pending()));
    (base_url, key)
}
