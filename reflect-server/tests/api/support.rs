//! An in-memory service and requests to it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use reflect_engine::Engine;
use reflect_server::keys::{KeyStore, Keys};
use reflect_server::{App, Settings, router};
use reflect_types::{CreateApiKey, ProjectId, Scope};
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const PROJECT: &str = "support";
pub(crate) const BOOTSTRAP: &str = "cF8rVb2Qy6nZ1xKd0sJ4mW7tLh3uPgAe";

pub(crate) struct Service {
    pub(crate) router: Router,
    pub(crate) app: App,
    /// The master key.
    pub(crate) master: String,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Service {
    pub(crate) async fn start() -> Self {
        let settings = Settings {
            bootstrap_token: Some(BOOTSTRAP.into()),
            ..Settings::default()
        };
        Self::with(settings).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        Self::of(Engine::builder().start().unwrap(), settings).await
    }

    pub(crate) async fn of(engine: Engine, settings: Settings) -> Self {
        let keys = Keys::new(KeyStore::in_memory().await.unwrap(), None);
        let master = keys.ensure_master().await.unwrap().unwrap().api_key;
        let app = App::new(engine, keys, settings);
        Self {
            router: router(app.clone()),
            app,
            master,
        }
    }

    /// A key of a project with these scopes.
    pub(crate) async fn key(&self, project: &str, scopes: &[Scope]) -> String {
        let create = CreateApiKey {
            scopes: scopes.to_vec(),
            ..CreateApiKey::new("test")
        };
        let project = ProjectId::from(project);
        let (keys, engine) = (self.app.keys(), self.app.engine());
        let made = keys.create(engine, &project, create).await.unwrap();
        made.api_key
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Answer {
            status,
            headers,
            body: serde_json::from_slice(&body)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned())),
        }
    }

    /// Sends a request with the master key.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.call_as(Some(&self.master), method, path, body).await
    }

    pub(crate) async fn call_as(
        &self,
        key: Option<&str>,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Stores a trace without a review and returns its id.
    pub(crate) async fn trace(&self, task: &str) -> String {
        let body = json!({"task": task, "trajectory": [{"role": "assistant", "content": "done"}]});
        let stored = self.post(&at("/traces"), body).await;
        assert_eq!(stored.status, 201, "{stored:?}");
        stored.body["trace_id"].as_str().unwrap().to_owned()
    }
}

/// The service on a free port, until dropped.
pub(crate) struct Live {
    pub(crate) url: String,
    _stop: tokio::sync::oneshot::Sender<()>,
}

impl Service {
    pub(crate) async fn listen(&self) -> Live {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = match self.app.settings().tls {
            None => "http",
            Some(_) => "https",
        };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let told = async {
            // The sender is dropped, never used.
            let _ = stopped.await;
        };
        tokio::spawn(reflect_server::serve(listener, self.app.clone(), told));
        Live { url, _stop: stop }
    }
}

impl Answer {
    /// The code of an error.
    pub(crate) fn code(&self) -> &str {
        assert!(self.body["detail"].is_string(), "{self:?}");
        self.body["code"].as_str().unwrap()
    }
}

/// A path of the test's project.
pub(crate) fn at(path: &str) -> String {
    format!("/v1/projects/{PROJECT}{path}")
}
