use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use crate::app::App;
use crate::connections;
use crate::judge;
use crate::routes::router;

/// How often the last use of keys is written down.
const FLUSH_EVERY: Duration = Duration::from_secs(30);

/// Answers requests until `shutdown` resolves. Then requests that are under way are finished, for
/// as long as the grace lasts, and the engine is ended: what it has queued waits in the store.
pub async fn serve(
    listener: TcpListener,
    app: App,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    serve_until(listener, app, shutdown, std::future::pending()).await;
}

/// The same, but it returns at once when `hurry` resolves after `shutdown` did, whatever is still
/// waited for: requests, the judge or a model. Nothing that was acknowledged is lost by that; what a
/// model was being asked is asked again once its lease is over.
pub async fn serve_until(
    listener: TcpListener,
    app: App,
    shutdown: impl Future<Output = ()>,
    hurry: impl Future<Output = ()>,
) {
    let (stop, stopping) = watch::channel(false);
    let tasks = Tasks::start(listener, &app, &stopping);
    let handles = tasks.abort_handles();
    shutdown.await;
    tracing::info!("shutting down: finishing what is under way");
    stop.send_replace(true);
    tokio::select! {
        () = tasks.end(&app) => {}
        () = hurry => {
            tracing::warn!("asked again: what is under way is not finished");
            handles.iter().for_each(AbortHandle::abort);
            tell_to_end(&app).await;
        }
    }
}

/// What runs beside each other while the server does.
struct Tasks {
    server: JoinHandle<()>,
    flusher: JoinHandle<()>,
    judge: Option<JoinHandle<()>>,
}

impl Tasks {
    fn start(listener: TcpListener, app: &App, stopping: &watch::Receiver<bool>) -> Self {
        let judge = app.judge().cloned().map(|judge| {
            let (app, stopping) = (app.clone(), stopping.clone());
            tokio::spawn(async move {
                judge::run(app.engine().clone(), judge, app.metrics(), stopping).await;
            })
        });
        let mut told = stopping.clone();
        let told = async move {
            // An error means that the sender is gone, which is as good as a word.
            let _ = told.wait_for(|stop| *stop).await;
        };
        Self {
            server: tokio::spawn(connections::answer(listener, router(app.clone()), told)),
            flusher: tokio::spawn(flush(app.clone(), stopping.clone())),
            judge,
        }
    }

    fn abort_handles(&self) -> Vec<AbortHandle> {
        let all = [&self.server, &self.flusher].into_iter().chain(&self.judge);
        all.map(JoinHandle::abort_handle).collect()
    }

    /// Waits until all have ended, for the requests as long as the grace lasts, and ends the engine.
    async fn end(self, app: &App) {
        let grace = app.settings().shutdown_grace;
        if tokio::time::timeout(grace, self.server).await.is_err() {
            tracing::warn!(?grace, "some requests did not finish in time");
        }
        // A task that panicked has ended too; what it did not write is the last use of keys.
        let _ = self.flusher.await;
        if let Some(judge) = self.judge {
            // What it was about to say is asked of it again.
            let _ = judge.await;
        }
        if let Err(error) = app.engine().shutdown().await {
            tracing::error!(%error, "the store was not closed cleanly");
        }
    }
}

/// Lets the engine know that it is to end, without waiting until it has.
async fn tell_to_end(app: &App) {
    tokio::select! {
        biased;
        // Nobody is left to be told of a store that was not closed cleanly.
        _ = app.engine().shutdown() => {}
        () = std::future::ready(()) => {}
    }
}

async fn flush(app: App, mut stopping: watch::Receiver<bool>) {
    let mut stopped = false;
    while !stopped {
        stopped = tokio::time::timeout(FLUSH_EVERY, stopping.wait_for(|stop| *stop))
            .await
            .is_ok();
        if let Err(error) = app.keys().flush().await {
            tracing::warn!(%error, "the last use of keys was not written down");
        }
    }
}
