//! A writer that counts the bytes that it has written: other bytes were not received.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

/// A writer that counts the bytes that it has written.
#[derive(Debug)]
pub(super) struct CountingWriter<W> {
    writer: W,
    written: Arc<AtomicU64>,
}

impl<W> CountingWriter<W> {
    pub(super) fn new(writer: W) -> (Self, Arc<AtomicU64>) {
        let written = Arc::<AtomicU64>::default();
        let counting = Self {
            writer,
            written: Arc::clone(&written),
        };
        (counting, written)
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for CountingWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.writer).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = result {
            self.written.fetch_add(count as u64, Ordering::SeqCst);
        }
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}
