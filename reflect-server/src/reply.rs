//! Long replies: encoded as they are sent, and limited in number at any time.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use reflect_types::ProjectId;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// The length from which a reply is sent in chunks.
const CHUNK: usize = 64 * 1024;

/// Slots of replies that may be long, half of them for one project at most: its slow readers hold up no other. A reply
/// keeps its slot until its last chunk is sent.
#[derive(Clone, Debug)]
pub(crate) struct ReplySlots {
    slots: Arc<Semaphore>,
    share: usize,
    /// The shares of projects that have a reply, or wait for one.
    projects: Arc<Mutex<HashMap<ProjectId, Weak<Semaphore>>>>,
}

/// The right to hold the data of one long reply.
#[derive(Debug)]
pub(crate) struct ReplySlot {
    _of_project: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for ReplySlots {
    fn default() -> Self {
        Self::new(Self::COUNT)
    }
}

impl ReplySlots {
    /// A page is 4 MiB, or one longer record, so all replies together are about 100 MiB.
    const COUNT: usize = 8;
    /// The wait for a slot, after which the request is a 503.
    const WAIT: Duration = Duration::from_secs(20);

    fn new(count: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(count)),
            share: count.div_ceil(2),
            projects: Arc::default(),
        }
    }

    /// Waits for a slot of a project. To be called before the data is read.
    pub(crate) async fn acquire(&self, project: &ProjectId) -> Result<ReplySlot, ApiError> {
        let share = self.share_of(project);
        let free = async {
            let of_project = share.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.slots).acquire_owned().await.ok()?;
            Some(ReplySlot {
                _of_project: of_project,
                _of_all: of_all,
            })
        };
        let slot = tokio::time::timeout(Self::WAIT, free).await;
        slot.ok().flatten().ok_or_else(ApiError::overloaded)
    }

    fn share_of(&self, project: &ProjectId) -> Arc<Semaphore> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = projects.get(project).and_then(Weak::upgrade) {
            return share;
        }
        projects.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.share));
        projects.insert(project.clone(), Arc::downgrade(&share));
        share
    }
}

impl ReplySlot {
    /// Replies with a JSON array.
    pub(crate) fn array<T>(self, items: Vec<T>) -> Response
    where
        T: Serialize + Send + 'static,
    {
        self.send(Chunks::array(items))
    }

    /// Replies with one JSON value.
    pub(crate) fn value<T>(self, value: T) -> Response
    where
        T: Serialize + Send + 'static,
    {
        self.send(Chunks::value(value))
    }

    /// The body of a reply that is encoded already.
    pub(crate) fn body(self, text: impl Into<Bytes>) -> Body {
        let mut rest: Bytes = text.into();
        if rest.len() <= CHUNK {
            return Body::from(rest);
        }
        let chunks = std::iter::from_fn(move || {
            // Held by the stream, so that the slot is free when the stream is dropped.
            let _slot = &self;
            let chunk = rest.split_to(rest.len().min(CHUNK));
            (!chunk.is_empty()).then_some(Ok::<_, Infallible>(chunk))
        });
        Body::from_stream(futures_util::stream::iter(chunks))
    }

    fn send<T>(self, mut chunks: Chunks<T>) -> Response
    where
        T: Serialize + Send + 'static,
    {
        let first = match chunks.next() {
            Some(Ok(first)) => first,
            Some(Err(error)) => return ApiError::internal(error).into_response(),
            None => Bytes::new(),
        };
        let body = if chunks.ended && first.len() <= CHUNK {
            Body::from(first)
        } else {
            let rest = std::iter::once(Ok(first)).chain(chunks);
            Body::from_stream(futures_util::stream::iter(rest.inspect(move |_| {
                // Held by the stream, so that the slot is free when the stream is dropped.
                let _slot = &self;
            })))
        };
        let json = HeaderValue::from_static("application/json");
        ([(CONTENT_TYPE, json)], body).into_response()
    }
}

/// JSON in chunks. An item is dropped when it is encoded.
struct Chunks<T> {
    items: std::vec::IntoIter<T>,
    is_array: bool,
    begun: bool,
    ended: bool,
}

impl<T: Serialize> Chunks<T> {
    fn array(items: Vec<T>) -> Self {
        Self {
            items: items.into_iter(),
            is_array: true,
            begun: false,
            ended: false,
        }
    }

    fn value(value: T) -> Self {
        Self {
            is_array: false,
            ..Self::array(vec![value])
        }
    }

    /// Appends the next item, or the end.
    fn encode(&mut self, chunk: &mut Vec<u8>) -> serde_json::Result<()> {
        let item = self.items.next();
        if self.is_array && !(self.begun && item.is_none()) {
            chunk.push(if self.begun { b',' } else { b'[' });
        }
        self.begun = true;
        if let Some(item) = item {
            return serde_json::to_writer(chunk, &item);
        }
        if self.is_array {
            chunk.push(b']');
        }
        self.ended = true;
        Ok(())
    }
}

impl<T: Serialize> Iterator for Chunks<T> {
    type Item = serde_json::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut chunk = Vec::new();
        while !self.ended && chunk.len() <= CHUNK {
            if let Err(error) = self.encode(&mut chunk) {
                self.ended = true;
                return Some(Err(error));
            }
        }
        (!chunk.is_empty()).then(|| Ok(chunk.into()))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{HttpBody as _, to_bytes};
    use serde_json::{Value, json};

    use super::*;

    async fn sent(response: Response) -> Value {
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    #[tokio::test]
    async fn chunks_are_one_json_text() {
        let (slots, project) = (ReplySlots::new(1), ProjectId::default());
        for length in [0, 1, CHUNK / 2, CHUNK, 3 * CHUNK] {
            for count in 0..4 {
                let items = vec![json!({"text": "x".repeat(length)}); count];
                let reply = slots.acquire(&project).await.unwrap().array(items.clone());
                assert_eq!(sent(reply).await, Value::from(items));
            }
            let value = json!("x".repeat(length));
            let reply = slots.acquire(&project).await.unwrap().value(value.clone());
            assert_eq!(sent(reply).await, value);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn long_reply_holds_its_slot_until_it_is_sent_or_dropped() {
        let (slots, project) = (ReplySlots::new(1), ProjectId::default());
        let long = || vec!["x".repeat(CHUNK); 3];
        let reply = slots.acquire(&project).await.unwrap().array(long());
        assert!(slots.acquire(&project).await.is_err());
        drop(reply);
        let reply = slots.acquire(&project).await.unwrap().array(long());
        assert_eq!(sent(reply).await, json!(long()));
        // A short one is encoded at once and needs no slot any longer.
        let short = slots.acquire(&project).await.unwrap().array(vec!["x"]);
        assert_eq!(short.body().size_hint().exact(), Some(5));
        assert!(slots.acquire(&project).await.is_ok());
        let text = "y".repeat(3 * CHUNK + 1);
        let body = slots.acquire(&project).await.unwrap().body(text.clone());
        assert!(slots.acquire(&project).await.is_err());
        assert_eq!(to_bytes(body, usize::MAX).await.unwrap(), text);
        assert!(slots.acquire(&project).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_project_leaves_slots_to_others() {
        let (slots, busy) = (ReplySlots::new(4), ProjectId::from("busy"));
        let held = [slots.acquire(&busy).await, slots.acquire(&busy).await];
        assert!(held.iter().all(Result::is_ok));
        assert!(slots.acquire(&busy).await.is_err());
        assert!(slots.acquire(&ProjectId::default()).await.is_ok());
        drop(held);
        assert!(slots.acquire(&busy).await.is_ok());
    }
}
