use std::io::{self, Read as _};
use std::sync::Arc;
use std::thread;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::runtime::Handle;

use super::bank::Bank;
use super::tools::Tools;

/// Serves the protocol on standard input and output, until the input ends or the future is dropped.
/// Nothing else may write to standard output.
pub async fn serve_stdio(bank: Arc<dyn Bank>) -> io::Result<()> {
    let transport = (input()?, tokio::io::stdout());
    let service = match Tools::new(bank).serve(transport).await {
        Ok(service) => service,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    service.waiting().await.map_err(io::Error::other)?;
    Ok(())
}

/// Standard input, read by a thread of its own: the end of a runtime would wait for a read of
/// `tokio::io::stdin`.
fn input() -> io::Result<impl AsyncRead + Send + 'static> {
    const BUFFER: usize = 64 * 1024;

    let (input, mut pipe) = tokio::io::duplex(BUFFER);
    let runtime = Handle::current();
    let read = move || {
        let (mut stdin, mut buffer) = (io::stdin().lock(), vec![0; BUFFER]);
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => {
                    if runtime.block_on(pipe.write_all(&buffer[..length])).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::error!(%error, "standard input cannot be read");
                    return;
                }
            }
        }
    };
    thread::Builder::new()
        .name("reflect-mcp-stdin".to_owned())
        .spawn(read)?;
    Ok(input)
}
