//! What a behaviour is tried in: a fresh bank of memories behind one of the transports.

use reflect_sdk::{BlockingClient, Memory, ReflectClient, Trace};
use tempfile::TempDir;

pub(crate) struct World {
    client: ReflectClient,
    /// The place of the data, which goes with the world.
    folder: TempDir,
}

impl World {
    /// An engine in this process, on a file of its own.
    pub(crate) fn embedded() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("reflect.db");
        let client = ReflectClient::builder()
            .project("support")
            .embedded(file)
            .unwrap();
        Self { client, folder }
    }

    pub(crate) fn client(&self) -> BlockingClient {
        self.client.blocking()
    }

    /// A client of another project behind the same transport.
    pub(crate) fn other_project(&self) -> BlockingClient {
        let file = self.folder.path().join("reflect.db");
        ReflectClient::builder()
            .project("billing")
            .embedded(file)
            .unwrap()
            .blocking()
    }

    /// Records a run that was judged, and waits for its memory.
    pub(crate) fn learn(&self, task: &str, feedback: Option<&str>, given: &[&Memory]) -> Trace {
        let call = self
            .client()
            .create_trace_and_wait(task, format!("I did: {task}"));
        let call = call.retrieved(given.iter().map(|memory| &memory.id));
        let call = match feedback {
            Some(feedback) => call.fail(feedback),
            None => call.pass(),
        };
        call.call().unwrap()
    }

    /// All memories near a task, whatever they are worth.
    pub(crate) fn recall(&self, task: &str) -> Vec<Memory> {
        self.client()
            .query_memories(task)
            .mmr_lambda(1.0)
            .call()
            .unwrap()
    }
}
