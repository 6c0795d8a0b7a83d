//! Connections, from being accepted to being hung up.

use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

/// How long a caller may take to say what it wants, or say nothing between two requests. Longer than
/// clients usually keep an idle connection, so that it is they who hang up.
const PATIENCE: Duration = Duration::from_secs(100);
/// How long to wait when no connection can be accepted, as when all file handles are in use.
const PAUSE: Duration = Duration::from_secs(1);

/// Answers on all connections that come until `stop` resolves; then takes no more, and returns when
/// those that are there have been answered.
///
/// `axum::serve` would do, but for one thing: whoever opens connections and says nothing could keep
/// them for ever.
pub(crate) async fn answer(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let open = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            stream = accept(&listener) => stream,
            () = &mut stop => break,
        };
        let connection = http.serve_connection(TokioIo::new(stream), service.clone());
        let connection = open.watch(connection);
        tokio::spawn(async move {
            // A caller that hangs up early is nothing to be told of.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    open.shutdown().await;
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are written whole, so waiting for more only delays them. A connection
                // that refuses is one that is gone already.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) if is_the_callers(error.kind()) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Whether only this connection is concerned.
fn is_the_callers(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_does_not_finish_its_words_is_hung_up_on() {
        for words in ["", "POST / HTTP/1.1\r\nhost: a"] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = oneshot::channel::<()>();
            let server = tokio::spawn(answer(listener, Router::new(), async {
                let _ = stopped.await;
            }));
            let mut caller = TcpStream::connect(address).await.unwrap();
            caller.write_all(words.as_bytes()).await.unwrap();
            let mut said = Vec::new();
            let _ = caller.read_to_end(&mut said).await;
            drop(stop);
            server.await.unwrap();
        }
    }
}
