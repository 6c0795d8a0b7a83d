//! A server with a bank of good memories, and keys to attack it with.

use std::process::Output;

use reflect_sdk::types::Scope;
use reflect_sdk::{BlockingClient, MemoryId, Review, TraceId};
use serde_json::Value;
use tempfile::TempDir;

use super::support::{KEY, Server, json, reflect};

/// What the agents of the bank do.
pub(crate) const TASK: &str = "Refund an order of a customer";

pub(crate) struct Bank {
    pub(crate) server: Server,
    _folder: TempDir,
}

/// An API key and its id.
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) id: String,
}

/// A run of the owner's with its memory.
pub(crate) struct Lesson {
    pub(crate) trace: TraceId,
    pub(crate) memory: MemoryId,
}

impl Bank {
    pub(crate) fn open(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let flags = [&["--master-key", KEY], more].concat();
        let server = Server::start(&folder.path().join("reflect.db"), &flags);
        Self {
            server,
            _folder: folder,
        }
    }

    /// The owner's client.
    pub(crate) fn owner(&self) -> BlockingClient {
        self.client(KEY)
    }

    pub(crate) fn client(&self, key: &str) -> BlockingClient {
        self.server.client(key).blocking()
    }

    /// A key with these scopes.
    pub(crate) fn key(&self, scopes: &[Scope]) -> Key {
        let admin = self.owner().admin();
        let made = admin.create_api_key("visitor").scopes(scopes.to_vec());
        let made = made.call().unwrap();
        Key {
            text: made.api_key,
            id: made.key.id.to_string(),
        }
    }

    /// Runs of the owner's that passed, each given the memory before it.
    pub(crate) fn good(&self, count: usize) -> Vec<Lesson> {
        let mut lessons: Vec<Lesson> = Vec::new();
        for n in 0..count {
            let given = lessons.last().map(|last: &Lesson| last.memory.clone());
            let run = self
                .owner()
                .create_trace(format!("{TASK}, number {n}"), "Checked the window first.")
                .retrieved(given)
                .review(advice(&format!(
                    "Check the refund window of {n} days first."
                )))
                .call()
                .unwrap();
            let trace = self.owner().get_trace(&run.trace_id).call().unwrap();
            lessons.push(Lesson {
                trace: run.trace_id,
                memory: trace.created_memory_id.unwrap(),
            });
        }
        lessons
    }

    /// Everything an agent can be shown: all memories with their utilities, events and what people have changed,
    /// and the ranks.
    pub(crate) fn taught(&self) -> Value {
        let ranked = self.owner().query_memories(TASK).limit(50).call().unwrap();
        let mut memories = json(&self.run(&["memories", "list", "--limit", "1000", "--json"]));
        for memory in memories.as_array_mut().unwrap() {
            let changes = memory["changes"].as_array_mut().unwrap();
            changes.retain(|change| change["automatic"] != true);
        }
        let ranked: Vec<_> = ranked
            .iter()
            .map(|memory| (memory.id.to_string(), memory.q_value, memory.score))
            .collect();
        serde_json::json!({"memories": memories, "ranked": ranked})
    }

    /// A command of the owner's.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let url = self.server.url.as_str();
        reflect()
            .args(arguments)
            .args(["--url", url, "--project", "support"])
            .env("REFLECT_API_KEY", KEY)
            .output()
            .unwrap()
    }
}

/// A passing review with its own reflection: its memory exists when the call returns.
pub(crate) fn advice(text: &str) -> Review {
    let reflection = serde_json::json!({"summary": "Refunds", "guidance": text});
    Review {
        reflection: serde_json::from_value(reflection).unwrap(),
        ..Review::pass()
    }
}
