use std::time::Duration;

use std::future::IntoFuture as _;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::App;
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
) -> std::io::Result<()> {
    let (stop, stopping) = watch::channel(false);
    let flusher = tokio::spawn(flush(app.clone(), stopping.clone()));
    let judge = app.judge().cloned().map(|judge| {
        let (app, stopping) = (app.clone(), stopping.clone());
        tokio::spawn(async move {
            judge::run(app.engine().clone(), judge, app.metrics(), stopping).await;
        })
    });
    let mut told = stopping.clone();
    let server = axum::serve(listener, router(app.clone()))
        .with_graceful_shutdown(async move {
            // An error means that the sender is gone, which is as good as a word.
            let _ = told.wait_for(|stop| *stop).await;
        })
        .into_future();
    tokio::pin!(server);
    let ended = tokio::select! {
        outcome = &mut server => outcome,
        () = shutdown => {
            tracing::info!("shutting down: finishing what is under way");
            stop.send_replace(true);
            let grace = app.settings().shutdown_grace;
            tokio::time::timeout(grace, server).await.unwrap_or_else(|_| {
                tracing::warn!(?grace, "some requests did not finish in time");
                Ok(())
            })
        }
    };
    stop.send_replace(true);
    // A task that panicked has ended too; what it did not write is the last use of keys.
    let _ = flusher.await;
    if let Some(judge) = judge {
        let _ = judge.await;
    }
    if let Err(error) = app.engine().shutdown().await {
        tracing::error!(%error, "the store was not closed cleanly");
    }
    ended
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
