//! The accept loop of a server: it limits the number of connections and serves each one in its own
//! task.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
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
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::client_address::TrustedProxy;
use crate::connection_slots::{ConnectionPermit, ConnectionRefused, ConnectionSlots};

/// The maximum size of the head of a request in bytes, and of the buffer in which a body is read.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The limits of a server for its connections.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// The maximum number of open connections, including upgraded ones.
    pub max_connections: usize,
    /// The time limit for the head of a request, from the start of the connection or from the end
    /// of the request before it.
    pub head_timeout: Duration,
    /// What happens to a connection that exceeds the limit.
    pub when_full: WhenFull,
}

/// What happens to a connection that exceeds the limit.
#[derive(Clone, Debug)]
pub enum WhenFull {
    /// It waits in the system's queue until another one has ended.
    Wait,
    /// It is closed after a complete HTTP response was sent. One address may then have only a part
    /// of the connections.
    Reject {
        /// The response when the limit of all connections is reached.
        limit_reached: &'static [u8],
        /// The response when the address has as many connections as it may have.
        address_share: &'static [u8],
        /// Proxies whose connections do not count for an address.
        trusted_proxies: Vec<TrustedProxy>,
    },
}

/// Accepts connections and answers their requests until `stopping` is cancelled, and then waits for
/// the requests in progress. `respond` is given each request with the address of its connection.
/// When the future is dropped, all connections end at once.
pub async fn serve<S, F, B>(
    listener: TcpListener,
    respond: S,
    limits: ConnectionLimits,
    stopping: CancellationToken,
) where
    S: Fn(Request<Incoming>, IpAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let trusted_proxies = match &limits.when_full {
        WhenFull::Wait => Vec::new(),
        WhenFull::Reject {
            trusted_proxies, ..
        } => trusted_proxies.clone(),
    };
    let slots = ConnectionSlots::new(limits.max_connections, trusted_proxies);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = accept(&listener, &slots, &limits.when_full) => accepted,
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

/// Accepts the next connection; returns `None` if it was rejected.
async fn accept(
    listener: &TcpListener,
    slots: &ConnectionSlots,
    when_full: &WhenFull,
) -> io::Result<Option<Connection>> {
    let acquired = match when_full {
        WhenFull::Wait => slots.acquire().await,
        WhenFull::Reject { .. } => None,
    };
    let (stream, peer) = listener.accept().await?;
    let permit = match (acquired, when_full) {
        (Some(permit), _) => permit,
        (None, WhenFull::Wait) => return Ok(None),
        (
            None,
            WhenFull::Reject {
                limit_reached,
                address_share,
                ..
            },
        ) => match slots.try_acquire(peer.ip()) {
            Ok(permit) => permit,
            Err(refused) => {
                // A peer that does not read the response at once does not receive it.
                let _ = stream.try_write(match refused {
                    ConnectionRefused::LimitReached => limit_reached,
                    ConnectionRefused::AddressShare => address_share,
                });
                return Ok(None);
            }
        },
    };
    // With Nagle's algorithm, each event of a stream would wait for the peer's delayed
    // acknowledgement.
    let _ = stream.set_nodelay(true);
    Ok(Some(Connection {
        socket: TokioIo::new(stream),
        peer: peer.ip(),
        _permit: permit,
    }))
}

/// Pauses after an error of the listener. There is no pause for a connection that broke before it
/// was accepted.
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
    S: Fn(Request<Incoming>, IpAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let peer = connection.peer;
    let service = service_fn(move |request| {
        let response = respond(request, peer);
        async move { Ok::<_, Infallible>(response.await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(connection, service)
        .with_upgrades();
    let mut serving = pin!(serving);
    // The code that used the connection reports how it ended.
    tokio::select! {
        biased;
        _ = serving.as_mut() => {}
        () = stopping.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

/// A socket with its permit, which an upgraded connection holds until it is closed.
struct Connection {
    socket: TokioIo<TcpStream>,
    /// The address of the other end.
    peer: IpAddr,
    _permit: ConnectionPermit,
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

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use bytes::Bytes;
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;

    const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

    /// Starts a server that serves one connection at a time.
    async fn start_server() -> (SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = ConnectionLimits {
            max_connections: 1,
            head_timeout: HEAD_TIMEOUT,
            when_full: WhenFull::Wait,
        };
        let respond = async |_, _| Response::new(Full::new(Bytes::from_static(b"here")));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, respond, limits, CancellationToken::new()));
        (address, server)
    }

    async fn request(stream: &mut TcpStream) -> String {
        let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    #[tokio::test]
    async fn a_connection_over_the_limit_waits_for_the_end_of_another() {
        let (address, _server) = start_server().await;
        let mut first = TcpStream::connect(address).await.unwrap();
        let kept_alive = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        first.write_all(kept_alive).await.unwrap();
        let mut status_line = [0; 12];
        first.read_exact(&mut status_line).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        tokio::select! {
            biased;
            response = request(&mut second) => panic!("{response}"),
            () = tokio::task::yield_now() => {}
        }
        let mut rest = Vec::new();
        first.shutdown().await.unwrap();
        first.read_to_end(&mut rest).await.unwrap();
        let mut response = String::new();
        second.read_to_string(&mut response).await.unwrap();
        assert!(response.ends_with("here"), "{response}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_is_closed() {
        let (address, _server) = start_server().await;
        let started = Instant::now();
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut nothing = Vec::new();
        silent.read_to_end(&mut nothing).await.unwrap();
        assert!(started.elapsed() >= HEAD_TIMEOUT);
        let mut other = TcpStream::connect(address).await.unwrap();
        assert!(request(&mut other).await.ends_with("here"));
    }
}
