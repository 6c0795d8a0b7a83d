use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use crate::app::App;
use crate::connections;
use crate::routes::router;
use crate::tls::Tls;

/// Interval of storing the last use of keys.
const FLUSH_INTERVAL: Duration = Duration::from_secs(60);
/// Interval of looking for a new certificate.
const RELOAD_INTERVAL: Duration = Duration::from_secs(60);

/// Serves requests until `shutdown` resolves. Then open requests finish within the grace period, and
/// the engine shuts down: queued jobs stay in the store.
pub async fn serve(
    listener: TcpListener,
    app: App,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    serve_until(listener, app, shutdown, std::future::pending()).await;
}

/// Like [`serve`], but returns immediately when `hurry` resolves after `shutdown`, without waiting for
/// requests or a model. Nothing acknowledged is lost; a job in progress is repeated when its
/// lease expires.
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
    tracing::info!("shutting down: finishing open requests");
    stop.send_replace(true);
    tokio::select! {
        () = tasks.end(&app) => {}
        () = hurry => {
            tracing::warn!("second signal: open requests are dropped");
            handles.iter().for_each(AbortHandle::abort);
            start_engine_shutdown(&app).await;
        }
    }
}

/// The tasks of a running server.
struct Tasks {
    server: JoinHandle<()>,
    flusher: JoinHandle<()>,
    reloader: JoinHandle<()>,
}

impl Tasks {
    fn start(listener: TcpListener, app: &App, stopping: &watch::Receiver<bool>) -> Self {
        let mut stop = stopping.clone();
        let stopped = async move {
            // An error means that the sender is gone, which also ends the server.
            let _ = stop.wait_for(|stop| *stop).await;
        };
        Self {
            server: tokio::spawn(connections::serve(
                listener,
                router(app.clone()),
                app.settings().clone(),
                stopped,
            )),
            flusher: tokio::spawn(flush(app.clone(), stopping.clone())),
            reloader: tokio::spawn(reload(app.settings().tls.clone())),
        }
    }

    fn abort_handles(&self) -> Vec<AbortHandle> {
        let all = [&self.server, &self.flusher, &self.reloader];
        all.map(JoinHandle::abort_handle).into()
    }

    /// Waits for all tasks, for the requests within the grace period, and shuts the engine down.
    async fn end(self, app: &App) {
        let grace = app.settings().shutdown_grace;
        if tokio::time::timeout(grace, self.server).await.is_err() {
            tracing::warn!(?grace, "some requests did not finish in time");
        }
        self.reloader.abort();
        if let Err(error) = self.flusher.await {
            tracing::error!(%error, "the last use of keys may be lost");
        }
        if let Err(error) = app.engine().shutdown().await {
            tracing::error!(%error, "the store did not close cleanly");
        }
    }
}

/// Starts the shutdown of the engine without waiting for it.
async fn start_engine_shutdown(app: &App) {
    tokio::select! {
        biased;
        // The process exits, so an error has no effect.
        _ = app.engine().shutdown() => {}
        () = std::future::ready(()) => {}
    }
}

/// Follows renewals of the certificate.
async fn reload(tls: Option<Tls>) {
    let Some(tls) = tls else {
        return;
    };
    loop {
        tokio::time::sleep(RELOAD_INTERVAL).await;
        tls.reload_if_changed().await;
    }
}

async fn flush(app: App, mut stopping: watch::Receiver<bool>) {
    let mut stopped = false;
    while !stopped {
        stopped = tokio::time::timeout(FLUSH_INTERVAL, stopping.wait_for(|stop| *stop))
            .await
            .is_ok();
        if let Err(error) = app.keys().flush().await {
            tracing::warn!(%error, "the last use of keys was not stored");
        }
    }
}
