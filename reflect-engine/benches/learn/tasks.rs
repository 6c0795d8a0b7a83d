//! Sets of real task texts with the skills they need.

use reflect_engine::model::StaticEmbedder;
use serde::Deserialize;

#[derive(Deserialize)]
struct Entry {
    task: String,
    skills: Vec<String>,
}

/// A task set.
pub(crate) struct TaskSet {
    pub(crate) name: String,
    pub(crate) tasks: Vec<Task>,
    /// The number of different skills.
    pub(crate) skills: usize,
}

pub(crate) struct Task {
    pub(crate) text: String,
    pub(crate) skills: Vec<usize>,
    pub(crate) vector: Vec<f32>,
}

impl TaskSet {
    pub(crate) fn built_in() -> Vec<Self> {
        let sets = [
            ("nlupp-banking", include_str!("tasks/nlupp-banking.json")),
            ("nlupp-hotels", include_str!("tasks/nlupp-hotels.json")),
            ("banking77", include_str!("tasks/banking77.json")),
            ("tau-bench", include_str!("tasks/tau-bench.json")),
        ];
        let parsed = sets.map(|(name, json)| Self::parse(name, json).expect("a built-in set"));
        parsed.into()
    }

    pub(crate) fn read(file: &str) -> Result<Self, String> {
        let json = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        Self::parse(file, &json)
    }

    fn parse(name: &str, json: &str) -> Result<Self, String> {
        let entries: Vec<Entry> =
            serde_json::from_str(json).map_err(|error| format!("{name}: {error}"))?;
        if entries.len() < 6 {
            return Err(format!("{name}: at least 6 tasks are needed"));
        }
        let mut skills: Vec<&String> = entries.iter().flat_map(|entry| &entry.skills).collect();
        skills.sort_unstable();
        skills.dedup();
        let tasks = entries.iter().map(|entry| {
            let place = |skill| skills.binary_search(&skill).expect("a listed skill");
            Task {
                text: entry.task.clone(),
                skills: entry.skills.iter().map(place).collect(),
                vector: StaticEmbedder.vector(&entry.task).expect("a vector"),
            }
        });
        Ok(Self {
            name: name.to_owned(),
            tasks: tasks.collect(),
            skills: skills.len(),
        })
    }
}

impl Task {
    /// The share of skills that two tasks have in common.
    pub(crate) fn overlap(&self, other: &Self) -> f64 {
        let both = self
            .skills
            .iter()
            .filter(|s| other.skills.contains(s))
            .count();
        let any = self.skills.len() + other.skills.len() - both;
        if any == 0 {
            0.0
        } else {
            both as f64 / any as f64
        }
    }

    pub(crate) fn similarity(&self, other: &Self) -> f64 {
        let products = self
            .vector
            .iter()
            .zip(&other.vector)
            .map(|(a, b)| f64::from(a * b));
        products.sum()
    }
}
