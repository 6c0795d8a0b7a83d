//! Questions with known answers, asked again and again: the pass rate shows what was learned.
//!
//!     cargo run -p reflect-model-examples --example batch_eval
//!
//! Every wrong answer is reviewed with the reason, and later questions are shown it. It runs offline
//! with a scripted model behind a real HTTP server; with `OPENAI_API_KEY` set it asks OpenAI
//! (`OPENAI_BASE_URL` and `OPENAI_MODEL` say which).

use std::env;

use indicatif::{ProgressBar, ProgressStyle};
use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_models::{Client, Prompt};
use reflect_sdk::{BoxError, Message, ReflectClient};

/// Goods, their kind, and within how many days they go back. No model can know these rules.
const QUESTIONS: [(&str, &str, &str); 12] = [
    ("lamp", "Furniture", "45"),
    ("phone", "Electronics", "14"),
    ("sofa", "Furniture", "45"),
    ("novel", "Books", "21"),
    ("laptop", "Electronics", "14"),
    ("atlas", "Books", "21"),
    ("desk", "Furniture", "45"),
    ("camera", "Electronics", "14"),
    ("chair", "Furniture", "45"),
    ("comic", "Books", "21"),
    ("radio", "Electronics", "14"),
    ("guide", "Books", "21"),
];
const ROUNDS: usize = 4;
const RULES: &str = "You answer for a shop. Give the number of days alone. Follow the memories.";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let reflect = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;
    let offline = ModelServer::start(scripted).await?;
    let name = env::var("OPENAI_MODEL").unwrap_or_else(|_| "gpt-5.4-mini".to_owned());
    let model = match env::var("OPENAI_API_KEY") {
        Ok(key) if !key.is_empty() => Client::builder(&name).or_openai(),
        _ => Client::builder(&name).base_url(offline.url()),
    };
    let model = model.build()?;

    let style = ProgressStyle::with_template("{msg} {bar:24} {pos}/{len}")?;
    let bar = ProgressBar::new((ROUNDS * QUESTIONS.len()) as u64).with_style(style);
    let mut passed = [0; ROUNDS];
    for (round, passed) in passed.iter_mut().enumerate() {
        bar.set_message(format!("round {}", round + 1));
        for (goods, kind, days) in QUESTIONS {
            let task = format!("Within how many days may a customer return a {goods}? ({kind})");
            let augmented = reflect.augment_with_memories(&task).limit(3).await?;
            let prompt = Prompt::new(RULES, &augmented.augmented_task);
            let answer = model.complete(&prompt).await?;

            let messages = vec![
                Message::user(&augmented.augmented_task),
                Message::assistant(&answer),
            ];
            let trace = reflect
                .create_trace_and_wait(&task, messages)
                .retrieved(augmented.memory_ids())
                .model(&name);
            if answer.trim() == days {
                *passed += 1;
                trace.pass().await?;
            } else {
                trace
                    .fail(format!("{kind} must go back within {days} days"))
                    .await?;
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    println!("pass rate by round, {} questions each", QUESTIONS.len());
    for (round, passed) in passed.into_iter().enumerate() {
        let blocks: String = (0..QUESTIONS.len())
            .map(|at| if at < passed { "██" } else { "░░" })
            .collect();
        println!(
            "{:>3}  {blocks} {:>3} %",
            round + 1,
            passed * 100 / QUESTIONS.len()
        );
    }
    println!("\n{}: {}", model.model(), model.usage());
    Ok(())
}

/// Stands for a model: it says 30, unless a memory in its prompt tells the rule of that kind.
fn scripted(asked: &ModelRequest) -> Act {
    let text = asked.text();
    let kind = text
        .split_once(" (")
        .and_then(|(_, rest)| rest.split_once(')'));
    let kind = kind.map(|(kind, _)| kind).unwrap_or_default();
    let rule = text.split_once(&format!("{kind} must go back within "));
    let days = rule.and_then(|(_, rest)| rest.split_whitespace().next());
    Act::Say(days.unwrap_or("30").to_owned())
}
