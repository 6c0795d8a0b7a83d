//! A timeout of writes to a peer that does not read.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A stream whose writes fail after a time without progress.
#[derive(Debug)]
pub(crate) struct StalledWrite<S> {
    stream: S,
    limit: Duration,
    /// Runs while a write waits.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> StalledWrite<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            timer: None,
        }
    }

    fn check<T>(&mut self, polled: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if polled.is_ready() {
            self.timer = None;
            return polled;
        }
        let limit = self.limit;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Error::new(
                ErrorKind::TimedOut,
                "the peer does not read",
            ))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StalledWrite<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StalledWrite<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.check(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check(polled, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn peer_that_does_not_read_times_out() {
        let (near, _far) = tokio::io::duplex(10);
        let mut near = StalledWrite::new(near, Duration::from_secs(30));
        let failed = near.write_all(&[0; 20]).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_peer_that_reads_gets_everything() {
        let (near, mut far) = tokio::io::duplex(10);
        let mut near = StalledWrite::new(near, Duration::from_secs(30));
        let reader = tokio::spawn(async move {
            let mut received = [0; 10];
            for _ in 0..10 {
                tokio::time::sleep(Duration::from_secs(20)).await;
                far.read_exact(&mut received).await.unwrap();
            }
        });
        near.write_all(&[0; 100]).await.unwrap();
        reader.await.unwrap();
    }
}
