//! The connections of clients and pages: as many as may be, each served by a task of its own.

use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::http::RequestHandler;

/// The head of a request, in bytes; so much of a body is read at a time, too.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// When there is no room for another connection in this process (too many files are open): how long
/// until it is tried again.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// What somebody hears who comes when there are as many connections as may be.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain\r\nconnection: close\r\ncontent-length: 84\r\n\r\n\
    the bridge serves as many connections as it may: retry, or raise `max_connections`.\n";

/// Serves until the bridge stops, and then until what is under way has ended.
pub(super) async fn serve(
    listener: TcpListener,
    handler: RequestHandler,
    config: &Config,
    stopping: CancellationToken,
) {
    let handler = Arc::new(handler);
    let permits = Arc::new(Semaphore::new(config.max_connections));
    let head_timeout = config.request_head_within;
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                pause_after_accept_error(&error).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            // Whoever does not take it at once hears nothing.
            let _ = stream.try_write(TOO_MANY_CONNECTIONS);
            continue;
        };
        // Without this each streamed answer waits for the peer's delayed acknowledgement.
        let _ = stream.set_nodelay(true);
        let connection = Connection {
            socket: TokioIo::new(stream),
            _permit: permit,
        };
        let stopping = stopping.clone();
        connections.spawn(serve_connection(
            connection,
            Arc::clone(&handler),
            head_timeout,
            stopping,
        ));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// A connection that broke before it was taken is its peer's affair.
async fn pause_after_accept_error(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        return;
    }
    tracing::error!(%error, "no connection can be accepted: raise the number of open files");
    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
}

async fn serve_connection(
    connection: Connection,
    front: Arc<RequestHandler>,
    head_within: Duration,
    stopping: CancellationToken,
) {
    let service = service_fn(move |request| {
        let front = Arc::clone(&front);
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_within)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(connection, service)
        .with_upgrades();
    let mut serving = pin!(serving);
    // How a connection ends is told by what it carried.
    tokio::select! {
        biased;
        _ = serving.as_mut() => {}
        () = stopping.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

/// A socket, and its place among those that may be open: also when it has become a page's.
struct Connection {
    socket: TokioIo<TcpStream>,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn socket(self: Pin<&mut Self>) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.get_mut().socket)
    }
}

impl Read for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.socket().poll_read(context, buffer)
    }
}

impl Write for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write_vectored(context, bytes)
    }
}
