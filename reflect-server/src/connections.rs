//! Accepting and serving connections.

use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

/// Timeout of reading a request's headers, also between two requests. Longer than the idle timeout of
/// most clients, so that the client closes first.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(100);
/// Pause after a failed accept, as when all file handles are in use.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Serves connections until `stop` resolves; then accepts no more and returns when the open ones are
/// done.
///
/// Unlike `axum::serve`, it closes connections that send no request.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT);
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
            // Clients may disconnect at any time.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection closed early");
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
                // Replies are written at once, so delaying them for more data only costs time. An
                // error means that the connection is closed already.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) if is_connection_error(error.kind()) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Whether the error concerns only this connection.
fn is_connection_error(kind: ErrorKind) -> bool {
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
    async fn unfinished_headers_time_out() {
        for sent in ["", "POST / HTTP/1.1\r\nhost: a"] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = oneshot::channel::<()>();
            let server = tokio::spawn(serve(listener, Router::new(), async {
                let _ = stopped.await;
            }));
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut received = Vec::new();
            let _ = client.read_to_end(&mut received).await;
            drop(stop);
            server.await.unwrap();
        }
    }
}
