//! The analysis pipeline: analyze → insight → suggest. Offline.
//!
//! ```text
//! cargo run --example reflection_pipeline
//! ```
//!
//! The judge is a scripted model, which replies with thoughts and prose around the JSON.

use reflexion::analysis::{
    Analysis, GeneralReflector, ReflectError, ReflectionContext, ReflectionHistory,
    ReflectionResult, ReflectionType, Reflector,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ReflectError> {
    let run = ReflectionContext::new()
        .input("Sum the open invoices")
        .output("12 430")
        .error("expected 12 030: a paid invoice was counted")
        .iteration(2);

    let general = GeneralReflector::builder()
        .judge(judge)
        .reflection_type(ReflectionType::Failure)
        .build();
    let mut history = ReflectionHistory::with_capacity_limit(100);
    history.add(general.reflect(&run).await?);
    history.add(Repeats.reflect(&run).await?);

    for result in history.get_recent(5) {
        print(result);
    }
    println!("{}", serde_json::json!(history.summarize()));
    Ok(())
}

async fn judge(_prompt: String) -> &'static str {
    "<think>Perhaps {\"summary\": \"a typo\"}? No.</think>Here is my analysis:
     {\"summary\": \"The sum is too high\", \"root_causes\": \"{status = open} was not applied\",
      \"insights\": [\"Sums need the filter first\"], \"suggestions\": [\"Filter, then add\"]}"
}

/// A reflector without a model: it counts the tries.
struct Repeats;

impl Reflector for Repeats {
    fn name(&self) -> &'static str {
        "repeats"
    }

    fn reflection_type(&self) -> ReflectionType {
        ReflectionType::Pattern
    }

    async fn analyze(&self, run: &ReflectionContext) -> Result<Analysis, ReflectError> {
        let tries = run.text("iteration").unwrap_or_default();
        Ok(Analysis::new(format!("It took {tries} tries")).suggestions(["Ask for an example"]))
    }
}

fn print(result: &ReflectionResult) {
    println!("[{}] {}", result.reflection_type, result.summary);
    println!("  causes: {:?}", result.root_causes);
    println!("  suggestions: {:?}", result.suggestions);
}
