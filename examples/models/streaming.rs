//! A web server that streams its answers, notices who hangs up, and learns from a thumbs-up.
//!
//!     cargo run -p reflect-model-examples --example streaming
//!
//! It runs offline: a few lines of Rust stand in for the model, and a small client for the browser.

use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::post;
use futures_util::stream::{Stream, StreamExt, iter, once};
use reflect_sdk::{BoxError, Message, ReflectClient, Review, TraceContext, reflect_trace};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// What the agent yields.
enum Part {
    /// The ID of the run, for a review.
    Run(String),
    Token(String),
}

/// The agent. Its run ends with the stream.
#[reflect_trace(
    client = reflect,
    fold = |text, part| if let Part::Token(token) = part { text.push_str(token) },
)]
fn answer(
    ctx: TraceContext,
    question: String,
    reflect: ReflectClient,
) -> impl Stream<Item = Part> + Send {
    ctx.record(Message::user(ctx.augmented_task()));
    let run = Part::Run(ctx.run_id().to_owned());
    once(ready(run)).chain(model(ctx.augmented_task()).map(Part::Token))
}

/// Stands for a model, which takes its time.
fn model(prompt: &str) -> impl Stream<Item = String> + Send + use<> {
    let said = if prompt.starts_with("Refund") {
        "When was it bought?".to_owned()
    } else {
        "and then another order came in, ".repeat(1000)
    };
    let words: Vec<_> = said.split_inclusive(' ').map(str::to_owned).collect();
    iter(words).then(async |word| {
        tokio::time::sleep(Duration::from_millis(5)).await;
        word
    })
}

/// `POST /answer`: a browser that closes the page drops the stream.
async fn stream(
    State(reflect): State<ReflectClient>,
    question: String,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = answer(question, reflect).map(|part| match part {
        Part::Run(id) => Event::default().event("run").data(id),
        Part::Token(token) => Event::default().event("token").data(token),
    });
    Sse::new(events.map(Ok))
}

/// `POST /runs/{run}/thumbs-up`
async fn thumbs_up(
    State(reflect): State<ReflectClient>,
    Path(run): Path<String>,
) -> Result<StatusCode, (StatusCode, String)> {
    // A run is sent in the background, and can be reviewed when it has arrived.
    reflect.flush(Duration::from_secs(5)).await;
    match reflect.review_by_key(run, Review::pass()).await {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err((StatusCode::BAD_GATEWAY, error.to_string())),
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let reflect = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;
    let app = axum::Router::new()
        .route("/answer", post(stream))
        .route("/runs/{run}/thumbs-up", post(thumbs_up))
        .with_state(reflect.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
    let server = tokio::spawn(server.into_future());

    let (run, text) = ask(&url, "Refund order 7", usize::MAX).await?;
    println!("the whole answer:     {text}");
    let (_, text) = ask(&url, "Tell me a long story", 5).await?;
    println!("before the hang-up:   {text}…");
    let liked = reqwest::Client::new().post(format!("{url}/runs/{run}/thumbs-up"));
    println!("the thumbs-up:        {}", liked.send().await?.status());

    // Every stream has ended or been dropped when the server has.
    drop(stop);
    server.await??;
    reflect.flush(Duration::from_secs(5)).await;
    println!("\nrecorded, newest first:");
    for trace in reflect.list_traces().await? {
        let outcome = trace.metadata.get("outcome").and_then(|it| it.as_str());
        let verdict = trace.review.map(|review| review.result.to_string());
        let ended = verdict.as_deref().or(outcome).unwrap_or("not reviewed");
        println!("  {ended:<10} {:<21} {}", trace.task, trace.final_response);
    }
    Ok(())
}

/// Reads an answer up to a number of words, and hangs up. Returns the run and the text.
async fn ask(url: &str, question: &str, words: usize) -> Result<(String, String), BoxError> {
    let request = reqwest::Client::new().post(format!("{url}/answer"));
    let mut response = request.body(question.to_owned()).send().await?;
    let mut read = String::new();
    while let Some(bytes) = response.chunk().await? {
        read.push_str(&String::from_utf8_lossy(&bytes));
        if read.matches("event: token").count() >= words {
            break;
        }
    }
    let data = read.lines().filter_map(|line| line.strip_prefix("data: "));
    let data: Vec<&str> = data.collect();
    let (run, words) = data.split_first().ok_or("nothing was read")?;
    Ok((run.to_string(), words.concat()))
}
