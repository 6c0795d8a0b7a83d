//! A timeout of writes to a peer that does not read.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// The bytes that a peer has to take within the limit, unless there are fewer.
const LEAST: usize = 64 * 1024;

/// A stream whose writes fail if a peer takes too little in a time.
#[derive(Debug)]
pub(crate) struct StalledWrite<S> {
    stream: S,
    limit: Duration,
    /// Runs since a write waited.
    timer: Option<Pin<Box<Sleep>>>,
    /// The bytes that the peer has taken since.
    taken: usize,
}

impl<S> StalledWrite<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            timer: None,
            taken: 0,
        }
    }

    /// The result of a write, or of a flush: then everything is taken.
    fn check<T>(
        &mut self,
        polled: Poll<Result<T>>,
        taken: impl FnOnce(&T) -> usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<T>> {
        if let Poll::Ready(done) = &polled {
            let taken = done.as_ref().map_or(LEAST, taken);
            self.taken = self.taken.saturating_add(taken);
            if self.taken >= LEAST {
                (self.timer, self.taken) = (None, 0);
            }
            return polled;
        }
        let limit = self.limit;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Error::new(
                ErrorKind::TimedOut,
                "the peer reads too slowly",
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
        self.check(polled, |count| *count, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check(polled, |count| *count, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.check(polled, |()| LEAST, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check(polled, |()| LEAST, context)
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

    /// Reads so many bytes every twenty seconds.
    async fn read_by(bytes: usize) -> Result<()> {
        let (near, mut far) = tokio::io::duplex(bytes);
        let mut near = StalledWrite::new(near, Duration::from_secs(30));
        tokio::spawn(async move {
            let mut received = vec![0; bytes];
            loop {
                tokio::time::sleep(Duration::from_secs(20)).await;
                far.read_exact(&mut received).await.unwrap();
            }
        });
        near.write_all(&vec![0; 10 * bytes]).await?;
        near.flush().await
    }

    #[tokio::test(start_paused = true)]
    async fn slow_peer_that_reads_gets_everything() {
        read_by(LEAST).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn peer_that_reads_a_little_now_and_then_times_out() {
        let failed = read_by(100).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::TimedOut);
    }
}
