//! Solve a task with what was learned before, ask whether the answer is right, and learn from that.
//!
//!     cargo run -p reflect-model-examples --example interactive_feedback_cli -- --task "Who is Sonam Pankaj?"
//!
//! `augment_with_memories`, a model's answer, y / n / d, `create_trace_and_wait`. With a project and a
//! key (`REFLECT_PROJECT_ID`, `REFLECT_API_KEY`) it talks to a server. Where neither they nor a base
//! URL are given, it keeps its memories in a file of the temporary folder, so that the next start is
//! shown them. With `OPENAI_API_KEY` set it asks a real model, else a scripted one that knows only what
//! it was told.

use std::env;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use clap::Parser;
use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_models::{Client, Error, Prompt};
use reflect_sdk::{BoxError, Message, ReflectClient, Review};

/// Interactive Reflect SDK demo.
#[derive(Parser)]
struct Arguments {
    /// Reflect API base URL, `http://localhost:8000` by default.
    #[arg(long)]
    base_url: Option<String>,
    /// Reflect project id.
    #[arg(long, env = "REFLECT_PROJECT_ID")]
    project_id: Option<String>,
    /// Reflect API key.
    #[arg(long, env = "REFLECT_API_KEY", hide_env_values = true)]
    reflect_api_key: Option<String>,
    /// OpenAI model to use.
    #[arg(long, default_value = "gpt-5.4-mini")]
    model: String,
    /// The task for the model to solve.
    #[arg(long, default_value = "Who is Sonam Pankaj?")]
    task: String,
    /// Max number of memories to retrieve.
    #[arg(long, default_value_t = 3)]
    limit: u32,
}

const RULES: &str = "Solve the user's task. Use any relevant memories included in the prompt. \
                     Respond concisely.";

#[tokio::main]
async fn main() -> ExitCode {
    match interact(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn interact(args: Arguments) -> Result<(), BoxError> {
    // 1. Connect to Reflect.
    let reflect = connect(&args)?;

    // 2. Augment the task with what earlier runs taught.
    let task = &args.task;
    let augmented = reflect
        .augment_with_memories(task)
        .limit(args.limit)
        .await?;
    println!("Task: {task}");
    println!(
        "Retrieved {} relevant memories.\n",
        augmented.memories.len()
    );

    // 3. Solve it with a model.
    let offline = ModelServer::start(scripted).await?;
    // Room for a long answer, and for the thoughts of models that have some first.
    let model = Client::builder(&args.model).max_completion_tokens(16_000);
    let model = match env::var("OPENAI_API_KEY") {
        Ok(key) if !key.is_empty() => model.or_openai(),
        _ => model.base_url(offline.url()),
    };
    let prompt = Prompt::new(RULES, &augmented.augmented_task);
    let answer = match model.build()?.complete(&prompt).await {
        // Nothing is an answer too, if a wrong one.
        Err(Error::Empty | Error::Declined(_)) => String::new(),
        answer => answer?,
    };
    let answer = answer.trim();
    println!("Model answer:\n{answer}\n");

    // 4. Review the answer. 5. Store the trace, so that Reflect can learn from it.
    let messages = vec![
        Message::system(RULES),
        Message::user(&augmented.augmented_task),
        Message::assistant(answer),
    ];
    let trace = reflect
        .create_trace_and_wait(task, messages)
        .retrieved(augmented.memory_ids())
        .model(&args.model);
    let (result, feedback, trace) = match ask_for_review()? {
        Choice::Pass => ("pass", None, trace.review(Review::pass())),
        Choice::Fail(why) => ("fail", Some(why.clone()), trace.review(Review::fail(why))),
        // Stored without a review, which can come later.
        Choice::Defer => ("defer", None, trace),
    };
    let trace = trace.await?;

    println!("\nResult:   {result}");
    if let Some(feedback) = feedback {
        println!("Feedback: {feedback}");
    }
    println!("Trace id: {}", trace.id);
    println!("Review:   {}", trace.review_status);
    if let Some(memory) = trace.created_memory_id {
        println!("Memory created: {memory}");
    }
    Ok(())
}

/// A server where one is named, else a file.
fn connect(args: &Arguments) -> Result<ReflectClient, BoxError> {
    let given = |value: &Option<String>| value.clone().filter(|text| !text.is_empty());
    let (project, key) = (given(&args.project_id), given(&args.reflect_api_key));
    let (url, builder) = (given(&args.base_url), ReflectClient::builder());
    if project.is_none() && key.is_none() && url.is_none() {
        let file = env::temp_dir().join("reflect-interactive-feedback.db");
        println!("Memories are kept in {}.", file.display());
        return Ok(builder.embedded(file)?);
    }
    let project = project.ok_or("Set REFLECT_PROJECT_ID or pass --project-id.")?;
    let key = key.ok_or("Set REFLECT_API_KEY or pass --reflect-api-key.")?;
    let url = url.unwrap_or_else(|| "http://localhost:8000".to_owned());
    println!("Memories are kept by {url}, in the project {project}.");
    Ok(builder.project(project).http(&url, key)?)
}

enum Choice {
    Pass,
    Fail(String),
    Defer,
}

/// Asks until the answer is valid. At the end of the input the review is deferred.
fn ask_for_review() -> io::Result<Choice> {
    loop {
        let Some(choice) = input("Was this answer correct? [y/n/d (defer)]: ")? else {
            return Ok(Choice::Defer);
        };
        match choice.to_lowercase().as_str() {
            "y" | "yes" => return Ok(Choice::Pass),
            "n" | "no" => {
                let why = input("What was wrong? (used as learning feedback): ")?;
                return Ok(match why.as_deref() {
                    // Half a review is none.
                    None => Choice::Defer,
                    Some("") => Choice::Fail("The answer was incorrect.".to_owned()),
                    Some(why) => Choice::Fail(why.to_owned()),
                });
            }
            "d" | "defer" => return Ok(Choice::Defer),
            _ => println!("Please enter 'y', 'n', or 'd'."),
        }
    }
}

fn input(question: &str) -> io::Result<Option<String>> {
    print!("{question}");
    io::stdout().flush()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// Stands for a model: it repeats what it was taught, and else admits that it does not know.
fn scripted(asked: &ModelRequest) -> Act {
    let text = asked.text();
    let lesson = text
        .split_once("<reflection>Reviewer: ")
        .and_then(|(_, lesson)| lesson.lines().next());
    Act::Say(match lesson {
        Some(lesson) => format!("I was told: {lesson}"),
        None => "I do not know.".to_owned(),
    })
}
