use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

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

/// The same with a grace that ends at once when `hurry` resolves.
pub async fn serve_until(
    listener: TcpListener,
    app: App,
    shutdown: impl Future<Output = ()>,
    hurry: impl Future<Output = ()>,
) {
    let (stop, stopping) = watch::channel(false);
    let flusher = tokio::spawn(flush(app.clone(), stopping.clone()));
    let judge = app.judge().cloned().map(|judge| {
        let (app, stopping) = (app.clone(), stopping.clone());
        tokio::spawn(async move {
            judge::run(app.engine().clone(), judge, app.metrics(), stopping).await;
        })
    });
    let mut told = stopping.clone();
    let server = tokio::spawn(connections::answer(
        listener,
        router(app.clone()),
        async move {
            // An error means that the sender is gone, which is as good as a word.
            let _ = told.wait_for(|stop| *stop).await;
        },
    ));
    shutdown.await;
    tracing::info!("shutting down: finishing what is under way");
    stop.send_replace(true);
    let grace = app.settings().shutdown_grace;
    tokio::pin!(hurry);
    let hurried = tokio::select! {
        finished = tokio::time::timeout(grace, server) => {
            if finished.is_err() {
                tracing::warn!(?grace, "some requests did not finish in time");
            }
            false
        }
        () = &mut hurry => {
            tracing::warn!("asked again: some requests are not finished");
            true
        }
    };
    // A task that panicked has ended too; what it did not write is the last use of keys.
    let _ = flusher.await;
    // What the judge was about to say is asked of it again.
    match judge {
        Some(judge) if hurried => judge.abort(),
        Some(mut judge) => tokio::select! {
            _ = &mut judge => {}
            () = &mut hurry => judge.abort(),
        },
        None => {}
    }
    if let Err(error) = app.engine().shutdown().await {
        tracing::error!(%error, "the store was not closed cleanly");
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
