//! A model server in the process that speaks the OpenAI protocol and fails on demand, for tests and
//! offline examples.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

/// The server's response to one request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Act {
    /// Answers with this text.
    Say(String),
    /// Answers with this message, such as one that calls tools.
    Message(Value),
    /// Answers with this text, cut off by the token limit.
    CutOff(String),
    /// Declines with this reason.
    Refuse(String),
    /// Answers as if a content filter had removed the text.
    Filter,
    /// Answers with this status, and a `Retry-After` of so many milliseconds.
    Status(u16, Option<u64>),
    /// Answers with 400 and this message.
    Reject(String),
    /// Answers with this body.
    Body(String),
    /// Sends a part of an answer and closes the connection.
    HangUp,
    /// Never answers.
    Stall,
    /// Waits for the barrier before the inner act.
    Meet(Arc<Barrier>, Box<Act>),
}

/// A request that the server received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelRequest {
    /// `/v1/chat/completions` or `/v1/embeddings`.
    pub path: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The body.
    pub body: Value,
}

impl ModelRequest {
    /// The messages as one text.
    pub fn text(&self) -> String {
        let messages = self.body["messages"].as_array();
        let texts = messages.into_iter().flatten();
        let texts = texts.filter_map(|message| message["content"].as_str());
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

type Answer = dyn Fn(&ModelRequest) -> Act + Send + Sync;

/// A running server. Dropping it stops it.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Shared {
    /// The acts for the next requests, one each.
    script: Mutex<VecDeque<Act>>,
    /// The act for a chat request after the script.
    answer: Box<Answer>,
    dims: usize,
    asked: Mutex<Vec<ModelRequest>>,
    load: Mutex<Load>,
}

#[derive(Default)]
struct Load {
    now: usize,
    most: usize,
}

/// Counts a request for as long as it is under way.
struct UnderWay(Arc<Shared>);

impl UnderWay {
    fn begin(shared: &Arc<Shared>) -> Self {
        let mut load = lock(&shared.load);
        load.now += 1;
        load.most = load.most.max(load.now);
        Self(Arc::clone(shared))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        lock(&self.0.load).now -= 1;
    }
}

impl ModelServer {
    /// Starts a server that answers chat requests by this function, and embeddings with hashed words in
    /// 64 dimensions.
    pub async fn start(
        answer: impl Fn(&ModelRequest) -> Act + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::start_with(64, answer).await
    }

    /// Starts a server whose embeddings have `dims` dimensions.
    pub async fn start_with(
        dims: usize,
        answer: impl Fn(&ModelRequest) -> Act + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::default(),
            answer: Box::new(answer),
            dims: dims.max(1),
            asked: Mutex::default(),
            load: Mutex::default(),
        });
        let routes = Router::new()
            .route("/v1/chat/completions", post(chat))
            .route("/v1/embeddings", post(embeddings))
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            // The task is aborted on drop.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self {
            address,
            shared,
            serving,
        })
    }

    /// The base URL for a client.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Queues acts for the next requests of either kind, one each.
    pub fn first(&self, acts: impl IntoIterator<Item = Act>) {
        lock(&self.shared.script).extend(acts);
    }

    /// The requests received so far.
    pub fn asked(&self) -> Vec<ModelRequest> {
        lock(&self.shared.asked).clone()
    }

    /// The highest number of concurrent requests.
    pub fn most_at_once(&self) -> usize {
        lock(&self.shared.load).most
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl std::fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ModelServer").field(&self.address).finish()
    }
}

async fn chat(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let _under_way = UnderWay::begin(&shared);
    let asked = shared.note("/v1/chat/completions", &headers, &body);
    let act = shared.next().unwrap_or_else(|| (shared.answer)(&asked));
    act.perform(&asked).await
}

async fn embeddings(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let _under_way = UnderWay::begin(&shared);
    let asked = shared.note("/v1/embeddings", &headers, &body);
    if let Some(act) = shared.next() {
        return act.perform(&asked).await;
    }
    let dims = asked.body["dimensions"].as_u64();
    let dims = dims.and_then(|dims| usize::try_from(dims).ok());
    let dims = dims.unwrap_or(shared.dims);
    let texts = asked.body["input"].as_array().cloned().unwrap_or_default();
    let texts = texts.iter().map(|text| text.as_str().unwrap_or_default());
    let data: Vec<Value> = texts
        .enumerate()
        .map(|(index, text)| json!({"index": index, "embedding": vector(text, dims)}))
        .collect();
    let tokens = asked.body["input"].to_string().len() / 4;
    reply(&json!({"data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}))
}

/// Word counts. A word is spread over several components, so that no two look the same.
fn vector(text: &str, dims: usize) -> Vec<f32> {
    const SPREAD: usize = 4;

    let mut vector = vec![0.0; dims];
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        for copy in 0..SPREAD {
            let mut hasher = DefaultHasher::new();
            (word, copy).hash(&mut hasher);
            let component = usize::try_from(hasher.finish() % dims as u64);
            vector[component.unwrap_or_default()] += 1.0;
        }
    }
    vector
}

impl Shared {
    fn note(&self, path: &str, headers: &HeaderMap, body: &[u8]) -> ModelRequest {
        let authorization = headers.get(header::AUTHORIZATION);
        let asked = ModelRequest {
            path: path.to_owned(),
            authorization: authorization
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned),
            body: serde_json::from_slice(body).unwrap_or_default(),
        };
        lock(&self.asked).push(asked.clone());
        asked
    }

    fn next(&self) -> Option<Act> {
        lock(&self.script).pop_front()
    }
}

impl Act {
    async fn perform(self, asked: &ModelRequest) -> Response {
        let said = |text: &str| json!({"role": "assistant", "content": text});
        match self {
            Self::Say(text) => completion(asked, &said(&text), "stop"),
            Self::Message(message) => completion(asked, &message, "stop"),
            Self::CutOff(text) => completion(asked, &said(&text), "length"),
            Self::Refuse(why) => completion(
                asked,
                &json!({"role": "assistant", "content": null, "refusal": why}),
                "stop",
            ),
            Self::Filter => completion(
                asked,
                &json!({"role": "assistant", "content": ""}),
                "content_filter",
            ),
            Self::Status(status, wait) => {
                let body = json!({"error": {"message": "scripted", "type": "scripted_error"}});
                let mut response = reply(&body);
                *response.status_mut() =
                    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                if let Some(wait) = wait {
                    let headers = response.headers_mut();
                    headers.insert("retry-after-ms", wait.into());
                    headers.insert(header::RETRY_AFTER, wait.div_ceil(1_000).into());
                }
                response
            }
            Self::Reject(message) => {
                let mut response = reply(&json!({"error": {"message": message}}));
                *response.status_mut() = StatusCode::BAD_REQUEST;
                response
            }
            Self::Body(body) => Response::new(Body::from(body)),
            Self::HangUp => {
                let begun = Ok(Bytes::from_static(b"{\"choices\": [{\"mess"));
                let broken = Err(std::io::Error::other("scripted"));
                let body = Body::from_stream(stream::iter([begun, broken]));
                Response::new(body)
            }
            Self::Meet(barrier, then) => {
                barrier.wait().await;
                Box::pin(then.perform(asked)).await
            }
            Self::Stall => {
                tokio::time::sleep(Duration::from_secs(86_400)).await;
                Response::default()
            }
        }
    }
}

fn completion(asked: &ModelRequest, message: &Value, finish: &str) -> Response {
    let (read, written) = (asked.text().len() / 4, message.to_string().len() / 4);
    reply(&json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written
        },
    }))
}

fn reply(body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    response
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
