//! A connection that ends when the server has sent too much.
//!
//! The client of PostgreSQL reads a message of the server as a whole, up to 2 GiB. A statement decides
//! how long some of them are: the error of `SELECT repeat('x', 500000000)::int` has all of that text.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes that a server may send for a call. An answer has at most 256 KiB; this has room for
/// the rows that are fetched with it.
pub(super) const MAX_RECEIVED_BYTES: usize = 16 * 1024 * 1024;

/// How many bytes a server has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedBytes(Arc<AtomicUsize>);

impl ReceivedBytes {
    /// Returns whether it has sent too much.
    pub(super) fn are_too_many(&self) -> bool {
        self.0.load(Ordering::Relaxed) > MAX_RECEIVED_BYTES
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A connection whose bytes are counted.
pub(super) struct LimitedStream<S> {
    stream: S,
    received: ReceivedBytes,
}

impl<S> LimitedStream<S> {
    pub(super) fn new(stream: S, received: ReceivedBytes) -> Self {
        Self { stream, received }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.received.add(buffer.filled().len() - before);
        if self.received.are_too_many() {
            return Poll::Ready(Err(io::Error::other("the server has sent too much")));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_server_may_send_so_much_and_no_byte_more() {
        for (sent, is_allowed) in [(MAX_RECEIVED_BYTES, true), (MAX_RECEIVED_BYTES + 1, false)] {
            let received = ReceivedBytes::default();
            let endless = tokio::io::repeat(b'x').take(sent as u64);
            let mut stream = LimitedStream::new(endless, received.clone());
            let read = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            assert_eq!(read.is_ok(), is_allowed, "{sent}");
            assert_eq!(received.are_too_many(), !is_allowed, "{sent}");
        }
    }
}
