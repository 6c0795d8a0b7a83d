//! Accepting and serving connections.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use crate::tls::Tls;

/// Timeout of reading a request's headers, also between two requests. Longer than the idle timeout of
/// most clients, so that the client closes first.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(100);
/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, as when all file handles are in use.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Serves connections until `stop` resolves; then accepts no more and returns when the open ones are
/// done.
///
/// Unlike `axum::serve`, it closes connections that send no request.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<Tls>,
    stop: impl Future<Output = ()>,
) {
    let open = GracefulShutdown::new();
    let (stopping, stopped) = watch::channel(());
    tokio::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = &mut stop => break,
        };
        let (router, tls, watcher) = (router.clone(), tls.clone(), open.watcher());
        let stopped = stopped.clone();
        // In a task also because of the handshake, which a slow client must not impose on others.
        tokio::spawn(async move {
            match tls {
                None => exchange(stream, peer, router, watcher).await,
                Some(tls) => match encrypt(&tls, stream, stopped).await {
                    Ok(stream) => exchange(stream, peer, router, watcher).await,
                    Err(error) => tracing::debug!(%error, "TLS handshake failed"),
                },
            }
        });
    }
    drop(listener);
    drop(stopping);
    open.shutdown().await;
}

/// Performs the TLS handshake, unless the server stops first.
async fn encrypt(
    tls: &Tls,
    stream: TcpStream,
    mut stopped: watch::Receiver<()>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let handshake = tls.acceptor().accept(stream);
    tokio::select! {
        done = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake) => done?,
        // Nothing is sent: an error means that the sender is dropped.
        _ = stopped.changed() => Err(ErrorKind::Interrupted.into()),
    }
}

/// Serves the requests of a connection.
async fn exchange<S>(stream: S, peer: SocketAddr, router: Router, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        service.call(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // Clients may disconnect at any time.
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection closed early");
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Replies are written at once, so delaying them for more data only costs time. An
                // error means that the connection is closed already.
                let _ = stream.set_nodelay(true);
                return (stream, peer);
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
            let server = tokio::spawn(serve(listener, Router::new(), None, async {
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
