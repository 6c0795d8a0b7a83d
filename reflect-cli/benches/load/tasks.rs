//! Requests about tasks that differ, as those of users do.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// Real requests of customers, as the learning benchmark has them.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let sets = [
        include_str!("../../../reflect-engine/benches/learn/tasks/banking77.json"),
        include_str!("../../../reflect-engine/benches/learn/tasks/nlupp-banking.json"),
        include_str!("../../../reflect-engine/benches/learn/tasks/nlupp-hotels.json"),
    ];
    let tasks = sets.map(|set| serde_json::from_str::<Vec<Value>>(set).unwrap());
    let texts = tasks.iter().flatten();
    texts
        .map(|task| task["task"].as_str().unwrap().to_owned())
        .collect()
});

/// The task of this number: two requests in one, so that a million of them differ.
fn task(n: usize) -> String {
    let count = TEXTS.len();
    let (first, second) = (n % count, (n / count + n * 7_919) % count);
    format!("{} {}", TEXTS[first], TEXTS[second])
}

/// A trace of 4 kB.
pub(crate) fn trace(n: usize) -> Value {
    trace_of_size(n, 4)
}

/// A trace of so many kilobytes.
pub(crate) fn trace_of_size(n: usize, kilobytes: usize) -> Value {
    let words = "The customer asked for a refund of an order that came late. ";
    let words = words.repeat((kilobytes * 1_000 - 400) / words.len());
    json!({
        "task": task(n), "metadata": {"team": "eu"},
        "trajectory": [{"role": "user", "content": words}, {"role": "assistant", "content": "Done."}],
    })
}

/// A trace of 4 kB with a review.
pub(crate) fn reviewed(n: usize) -> Value {
    let mut reviewed = trace(n);
    reviewed["review"] = json!({"result": "fail", "feedback_text": "It was too late"});
    reviewed
}

/// A query for memories.
pub(crate) fn query(n: usize) -> Value {
    json!({"task": task(n * 31), "limit": 10})
}
