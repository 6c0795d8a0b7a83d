//! Accepting and serving connections.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use crate::app::Settings;
use crate::connection_table::{
    ConnectionLimits, ConnectionPlace, ConnectionTable, RequestInProgress,
};
use crate::stalled_write::StalledWrite;
use crate::tls::Tls;

/// Timeout of the first request's headers, from the accept.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of each further request's headers, from the end of the previous reply.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a reply that the client does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);
/// Pause after a failed accept for which an idle connection is closed.
const EVICTION_PAUSE: Duration = Duration::from_millis(20);
/// The reply to a connection over the limits.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    retry-after: 1\r\nconnection: close\r\ncontent-length: 93\r\n\r\n\
    {\"detail\":\"the server is at its limit of connections: try again later\",\"code\":\"unavailable\"}\n";

/// Serves connections until `stop` resolves; then accepts no more and returns when the open ones are
/// done.
///
/// Unlike `axum::serve`, it limits connections and closes those that send no request.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    settings: Settings,
    stop: impl Future<Output = ()>,
) {
    let table = ConnectionTable::new(limits(&settings));
    let open = GracefulShutdown::new();
    let (stopping, stopped) = watch::channel(());
    tokio::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept(&listener, &table) => accepted,
            () = &mut stop => break,
        };
        let tls = settings.tls.clone();
        let Some(place) = table.add(peer.ip()) else {
            if tls.is_none() {
                // The connection is closed anyway.
                let _ = stream.try_write(REFUSAL);
            }
            tracing::debug!(%peer, "connection refused: over the limit");
            continue;
        };
        let connection = Connection {
            peer,
            place,
            router: router.clone(),
            watcher: open.watcher(),
        };
        let stopped = stopped.clone();
        // In a task also because of the handshake, which a slow client must not impose on others.
        tokio::spawn(async move {
            let place = Arc::clone(&connection.place);
            let served = async {
                match tls {
                    None => connection.serve(stream).await,
                    Some(tls) => match encrypt(&tls, stream, stopped).await {
                        Ok(stream) => connection.serve(stream).await,
                        Err(error) => tracing::debug!(%error, "TLS handshake failed"),
                    },
                }
            };
            tokio::select! {
                () = served => {}
                () = place.evicted() => tracing::debug!(%peer, "idle connection closed: over the limit"),
                () = silent(&place) => tracing::debug!(%peer, "silent connection closed"),
            }
        });
    }
    drop(listener);
    drop(stopping);
    open.shutdown().await;
}

/// The limits of the settings, within the limit of open files.
fn limits(settings: &Settings) -> ConnectionLimits {
    let asked = settings.max_connections;
    let total = asked.min(most_connections().unwrap_or(asked)).max(1);
    if total < asked {
        tracing::warn!(
            limit = total,
            asked,
            "the open file limit permits fewer connections than configured: raise `ulimit -n`"
        );
    }
    ConnectionLimits {
        total,
        per_address: settings.max_connections_per_address.max(1),
        exempt: settings.trusted_proxies.clone(),
    }
}

/// The connections that the limit of open files permits, with a reserve for the database, models and
/// connections about to be closed.
#[cfg(unix)]
fn most_connections() -> Option<usize> {
    /// The most files kept in reserve.
    const RESERVE: u64 = 128;

    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    usize::try_from(files - (files / 4).min(RESERVE)).ok()
}

#[cfg(not(unix))]
fn most_connections() -> Option<usize> {
    None
}

/// Resolves if no request begins in time.
async fn silent(place: &ConnectionPlace) {
    let begun = tokio::time::timeout(FIRST_REQUEST_TIMEOUT, place.first_request()).await;
    if begun.is_ok() {
        std::future::pending::<()>().await;
    }
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

/// An accepted connection.
struct Connection {
    peer: SocketAddr,
    place: Arc<ConnectionPlace>,
    router: Router,
    watcher: Watcher,
}

impl Connection {
    /// Serves the requests of the connection.
    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (peer, place) = (self.peer, self.place);
        let router = TowerToHyperService::new(self.router);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(Arc::clone(&place));
            let in_progress = place.begin();
            let reply = router.call(request);
            async move {
                let reply = reply.await?;
                Ok::<_, std::convert::Infallible>(reply.map(|body| ReplyBody {
                    body,
                    _in_progress: in_progress,
                }))
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT);
        let stream = StalledWrite::new(stream, WRITE_TIMEOUT);
        let connection = http.serve_connection(TokioIo::new(stream), service);
        // Clients may disconnect at any time.
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(%error, "connection closed early");
        }
    }
}

/// A reply's body, during which its request is in progress.
struct ReplyBody {
    body: Body,
    _in_progress: RequestInProgress,
}

impl hyper::body::Body for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn accept(listener: &TcpListener, table: &ConnectionTable) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // A reply is written in one piece, so delaying it for more data only costs time. An
                // error means that the connection is closed already.
                let _ = stream.set_nodelay(true);
                return (stream, peer);
            }
            Err(error) if is_connection_error(error.kind()) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                // All file handles may be in use.
                let pause = if table.evict_oldest() {
                    EVICTION_PAUSE
                } else {
                    ACCEPT_PAUSE
                };
                tokio::time::sleep(pause).await;
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

    /// A server of these settings, until the sender is dropped.
    async fn start(
        settings: Settings,
    ) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let router = Router::new().route("/", axum::routing::get(async || "hello"));
        let server = tokio::spawn(serve(listener, router, settings, async {
            let _ = stopped.await;
        }));
        (address, stop, server)
    }

    async fn ask(client: &mut TcpStream) -> String {
        let _ = client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let mut received = vec![0; 4096];
        let length = client.read(&mut received).await.unwrap_or_default();
        String::from_utf8_lossy(&received[..length]).into_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn silent_connections_end_within_seconds() {
        let kept_alive = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        for (sent, limit) in [
            ("", FIRST_REQUEST_TIMEOUT),
            ("POST / HTTP/1.1\r\nhost: a", FIRST_REQUEST_TIMEOUT),
            (kept_alive, IDLE_TIMEOUT),
        ] {
            let (address, stop, server) = start(Settings::default()).await;
            let mut client = TcpStream::connect(address).await.unwrap();
            let begun = tokio::time::Instant::now();
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut received = Vec::new();
            let _ = client.read_to_end(&mut received).await;
            let slack = Duration::from_secs(1);
            assert!(begun.elapsed() <= limit + slack, "{:?}", begun.elapsed());
            drop(stop);
            server.await.unwrap();
        }
    }

    #[tokio::test]
    async fn unfinished_handshake_does_not_delay_the_shutdown() {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = (folder.path().join("a.pem"), folder.path().join("a.key"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let tls = Tls::load(certificate, key).unwrap();
        let (address, stop, server) = start(Settings {
            tls: Some(tls),
            ..Settings::default()
        })
        .await;
        let _silent = TcpStream::connect(address).await.unwrap();
        // Connections are accepted in order, so the silent one is in its handshake once this one is refused.
        let mut refused = TcpStream::connect(address).await.unwrap();
        refused.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let _ = refused.read_to_end(&mut Vec::new()).await;
        // From here, the clock moves only if everything waits for it.
        tokio::time::pause();
        let begun = tokio::time::Instant::now();
        drop(stop);
        server.await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test]
    async fn silent_connections_do_not_lock_out_others() {
        let limits = [(4, 256), (256, 4)];
        for (max_connections, max_connections_per_address) in limits {
            let (address, _stop, _server) = start(Settings {
                max_connections,
                max_connections_per_address,
                ..Settings::default()
            })
            .await;
            let mut silent = Vec::new();
            for _ in 0..20 {
                silent.push(TcpStream::connect(address).await.unwrap());
            }
            let mut client = TcpStream::connect(address).await.unwrap();
            assert!(ask(&mut client).await.starts_with("HTTP/1.1 200"));
            // The oldest were closed.
            assert_eq!(silent[0].read(&mut [0]).await.unwrap_or_default(), 0);
        }
    }

    #[test]
    fn refusal_is_a_complete_reply() {
        let refusal = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = refusal.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{head}"
        );
        assert!(serde_json::from_str::<reflect_types::ErrorBody>(body).is_ok());
    }
}
