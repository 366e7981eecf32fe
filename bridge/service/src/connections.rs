//! The accept loop of a server: a limited number of connections, each served by a task of its own.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The largest head of a request in bytes. So much of a body is read at a time, too.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The pause after the process could not accept a connection because too many files are open.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// What a server allows its connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections that are open at the same time, upgraded ones included.
    pub max_connections: usize,
    /// How long the head of a request may take, from the connection or from the request before it.
    pub head_timeout: Duration,
    /// What happens to a connection over the limit.
    pub when_full: WhenFull,
}

/// What happens to a connection that is one too many.
#[derive(Clone, Copy, Debug)]
pub enum WhenFull {
    /// It waits in the system's queue until another one has ended.
    Wait,
    /// It gets these bytes, a whole HTTP response, and is closed.
    Reject(&'static [u8]),
}

/// Accepts connections and answers their requests until `stopping` is cancelled; then lets requests
/// that are in progress end. When the future is dropped, all connections end at once.
pub async fn serve<S, F, B>(
    listener: TcpListener,
    respond: S,
    limits: ConnectionLimits,
    stopping: CancellationToken,
) where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let permits = Arc::new(Semaphore::new(limits.max_connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = accept(&listener, &permits, limits.when_full) => accepted,
        };
        match accepted {
            Ok(Some(connection)) => {
                let (respond, stopping) = (respond.clone(), stopping.clone());
                let serving = serve_connection(connection, respond, limits.head_timeout, stopping);
                connections.spawn(serving);
            }
            Ok(None) => {}
            Err(error) => pause_after_accept_error(&error).await,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection; `None` when it was rejected.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
    when_full: WhenFull,
) -> io::Result<Option<Connection>> {
    // The semaphore is never closed.
    let acquired = match when_full {
        WhenFull::Wait => Arc::clone(permits).acquire_owned().await.ok(),
        WhenFull::Reject(_) => None,
    };
    let (stream, _) = listener.accept().await?;
    let permit = acquired.or_else(|| Arc::clone(permits).try_acquire_owned().ok());
    let Some(permit) = permit else {
        if let WhenFull::Reject(response) = when_full {
            // A peer that does not read it at once gets nothing.
            let _ = stream.try_write(response);
        }
        return Ok(None);
    };
    // Otherwise each streamed event waits for the peer's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    Ok(Some(Connection {
        socket: TokioIo::new(stream),
        _permit: permit,
    }))
}

/// A connection that broke before it was accepted is no reason to pause.
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

async fn serve_connection<S, F, B>(
    connection: Connection,
    respond: S,
    head_timeout: Duration,
    stopping: CancellationToken,
) where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let service = service_fn(move |request| {
        let response = respond(request);
        async move { Ok::<_, Infallible>(response.await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(connection, service)
        .with_upgrades();
    let mut serving = pin!(serving);
    // Whoever used the connection reports how it ended.
    tokio::select! {
        biased;
        _ = serving.as_mut() => {}
        () = stopping.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

/// A socket with its permit: an upgraded connection keeps both.
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
