//! The socket of a connection, whose peer must take what is sent to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
#[cfg(target_os = "linux")]
use tokio::net::TcpStream;

use super::traffic::CountedStream;
use crate::connection_slots::ConnectionPermit;
use crate::progress_timeout::{ProgressLimits, ProgressTimeout};

/// How much the system stores of a response that the peer has no room for yet, in bytes. Without
/// this limit, Linux stores up to 4 MB for each peer that does not read, and reports progress only
/// when the peer has taken a third of that. A quarter of this limit costs large responses 1 to 2 %
/// more processor time; this one costs nothing that can be measured.
#[cfg(target_os = "linux")]
const MAX_SEND_QUEUE_BYTES: u32 = 512 * 1024;

/// A socket with its permit, which an upgraded connection holds until it is closed.
///
/// Writing and flushing fail when the peer takes less of what is waiting than the limit demands. A socket
/// with nothing to send has no limit.
pub(super) struct Socket {
    stream: TokioIo<CountedStream>,
    /// The limit for responses, until the connection is upgraded.
    limit: Option<ResponseLimit>,
    _permit: ConnectionPermit,
}

struct ResponseLimit {
    /// The limit for each 64 KiB that the peer takes.
    progress_timeout: Duration,
    progress: ProgressTimeout,
    upgraded: Upgraded,
}

/// Whether the connection was upgraded to another protocol, which has its own limits.
#[derive(Clone, Default)]
pub(super) struct Upgraded(Arc<AtomicBool>);

impl Upgraded {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Socket {
    /// Creates the socket of a connection that uses HTTP until `upgraded` is set.
    pub(super) fn new(
        stream: CountedStream,
        permit: ConnectionPermit,
        progress_timeout: Duration,
        upgraded: Upgraded,
    ) -> Self {
        #[cfg(target_os = "linux")]
        limit_send_queue(stream.tcp(), MAX_SEND_QUEUE_BYTES);
        Self {
            stream: TokioIo::new(stream),
            limit: Some(ResponseLimit {
                progress_timeout,
                progress: ProgressTimeout::default(),
                upgraded,
            }),
            _permit: permit,
        }
    }

    /// Returns the stream to write to. Lifts the limit if the connection was upgraded.
    fn stream_to_write(&mut self) -> Pin<&mut TokioIo<CountedStream>> {
        let limit = self.limit.as_ref();
        if limit.is_some_and(|limit| limit.upgraded.is_set()) {
            self.limit = None;
            // The default of the system.
            #[cfg(target_os = "linux")]
            limit_send_queue(self.stream.inner().tcp(), 0);
        }
        Pin::new(&mut self.stream)
    }

    /// Returns the result of a write, flush or shutdown, or an error if the peer has exceeded the limit.
    fn limit_wait<T: WrittenBytes>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        let Some(limit) = &mut self.limit else {
            return written;
        };
        match &written {
            Poll::Ready(Ok(written)) => limit.progress.advance(written.bytes()),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                let limits = ProgressLimits {
                    progress: limit.progress_timeout,
                    total: Duration::MAX,
                };
                ready!(limit.progress.poll_expired(limits, context));
                tracing::debug!("a connection is closed because its peer reads too slowly");
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        written
    }
}

/// How many bytes of a response were written.
trait WrittenBytes {
    fn bytes(&self) -> usize;
}

impl WrittenBytes for usize {
    fn bytes(&self) -> usize {
        *self
    }
}

/// The result of a flush or shutdown. Its bytes were counted when they were written.
impl WrittenBytes for () {
    fn bytes(&self) -> usize {
        0
    }
}

/// Sets the maximum number of bytes that the system stores before it can send them. On failure the
/// limit of the responses is only less accurate.
#[cfg(target_os = "linux")]
fn limit_send_queue(stream: &TcpStream, bytes: u32) {
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(bytes);
}

impl Read for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl Write for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream_to_write().poll_write(context, bytes);
        this.limit_wait(written, context)
    }

    /// Without TLS, neither this nor a shutdown waits.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = this.stream_to_write().poll_flush(context);
        this.limit_wait(flushed, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let ended = this.stream_to_write().poll_shutdown(context);
        this.limit_wait(ended, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream_to_write().poll_write_vectored(context, bytes);
        this.limit_wait(written, context)
    }
}
