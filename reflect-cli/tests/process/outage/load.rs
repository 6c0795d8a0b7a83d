//! Writers that store reviewed runs, each until it is acknowledged.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;

use reflect_sdk::{Error, MemoryId, ReflectClient, TraceId};

use super::super::support::{KEY, Server};
use super::eventually;

pub(crate) struct Load {
    shared: Arc<Shared>,
    writers: Vec<JoinHandle<()>>,
}

struct Shared {
    /// A client of each server.
    clients: RwLock<Vec<ReflectClient>>,
    ended: AtomicBool,
    /// How many runs each writer has stored.
    stored: Vec<AtomicUsize>,
    acknowledged: Mutex<HashSet<TraceId>>,
    /// The answers that no outage explains.
    unexplained: Mutex<Vec<String>>,
}

impl Load {
    pub(crate) fn start(servers: &[Server], writers: usize) -> Self {
        let shared = Arc::new(Shared {
            clients: RwLock::new(servers.iter().map(|server| server.client(KEY)).collect()),
            ended: AtomicBool::new(false),
            stored: (0..writers).map(|_| AtomicUsize::new(0)).collect(),
            acknowledged: Mutex::default(),
            unexplained: Mutex::default(),
        });
        let writers = (0..writers).map(|writer| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.write(writer))
        });
        Self {
            writers: writers.collect(),
            shared,
        }
    }

    /// Sends to a new server in place of one that ended.
    pub(crate) fn replace(&self, at: usize, server: &Server) {
        self.shared.clients.write().unwrap()[at] = server.client(KEY);
    }

    /// Waits until every writer has stored some runs more.
    #[track_caller]
    pub(crate) fn make_progress(&self) {
        let counts = || {
            self.shared
                .stored
                .iter()
                .map(|count| count.load(Ordering::SeqCst))
        };
        let before: Vec<usize> = counts().collect();
        eventually(|| {
            self.shared.check();
            let mut pairs = counts().zip(&before);
            pairs.all(|(now, before)| now >= before + 3).then_some(())
        });
    }

    /// Ends the writers; returns the runs that were acknowledged, which are all that were sent.
    pub(crate) fn stop(self) -> HashSet<TraceId> {
        self.shared.ended.store(true, Ordering::SeqCst);
        for writer in self.writers {
            writer.join().unwrap();
        }
        self.shared.check();
        std::mem::take(&mut self.shared.acknowledged.lock().unwrap())
    }
}

impl Shared {
    fn write(&self, writer: usize) {
        for n in 0.. {
            if self.ended.load(Ordering::SeqCst) {
                return;
            }
            let task = format!("Pay bill {n} of customer {writer}");
            let given = self.recall(&task, writer + n);
            let id = self.store(&task, &given, writer, n);
            let first = self.acknowledged.lock().unwrap().insert(id);
            assert!(first, "two runs are one");
            self.stored[writer].fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The memories of a task; none if no server answers.
    fn recall(&self, task: &str, server: usize) -> Vec<MemoryId> {
        let client = self.client(server);
        let found = client.blocking().query_memories(task).limit(2).call();
        let found = found.inspect_err(|error| self.examine(error));
        let found = found.unwrap_or_default();
        found.into_iter().map(|memory| memory.id).collect()
    }

    /// Sends a run to one server after another until it is acknowledged.
    fn store(&self, task: &str, given: &[MemoryId], writer: usize, n: usize) -> TraceId {
        let mut server = writer + n;
        eventually(|| {
            server += 1;
            let client = self.client(server).blocking();
            let call = client.create_trace(task, "It was paid.");
            let call = call.idempotency_key(format!("{writer}-{n}"));
            let call = call.retrieved(given.iter());
            let call = match n % 3 {
                0 => call.fail("It was paid twice."),
                _ => call.pass(),
            };
            let stored = call.call().inspect_err(|error| self.examine(error));
            stored.ok().map(|receipt| receipt.trace_id)
        })
    }

    /// A server that cannot store says so and when to try again; one that was killed says nothing.
    fn examine(&self, error: &Error) {
        let is_explained = match error {
            Error::Transport { .. } => true,
            error => error.status() == Some(503) && error.retry_after().is_some(),
        };
        if !is_explained {
            self.unexplained.lock().unwrap().push(format!("{error:?}"));
        }
    }

    #[track_caller]
    fn check(&self) {
        let unexplained = self.unexplained.lock().unwrap();
        assert!(unexplained.is_empty(), "{unexplained:?}");
    }

    fn client(&self, server: usize) -> ReflectClient {
        let clients = self.clients.read().unwrap();
        clients[server % clients.len()].clone()
    }
}
