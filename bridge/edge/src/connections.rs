//! The accept loop of a server: it limits the number of connections and serves each one in its own
//! task.

mod listener;
mod observer;
mod server_stop;
mod socket;
mod tls;
mod traffic;
mod transport;

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::connection_slots::{ConnectionPermit, ConnectionRefused};
use crate::progress_timeout::ProgressLimits;
use crate::request_body::{BodyTurns, RequestBody};
use socket::{Socket, Upgraded};
use traffic::CountedStream;

pub(crate) use transport::Transport;

pub use crate::connection_slots::ConnectionSlots;
pub use listener::Listener;
pub use observer::{ConnectionObserver, ConnectionRefusal};
pub use server_stop::ServerStop;
pub use tls::{TlsAcceptor, TlsAuthority, TlsError, TlsFiles};
pub use traffic::Traffic;

/// The maximum size of the head of a request in bytes, and of the buffer in which a body is read.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The maximum number of header fields of a request. This is the default of hyper: setting it would
/// allocate memory for each request.
#[cfg(test)]
const MAX_HEADERS: usize = 100;

/// The pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The time for the first request of a connection that was accepted just before the server stops. If
/// it was closed, its peer would be refused, even if another process serves the same socket.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_millis(500);

/// The limits of a server for its connections.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// The limit on open connections, including upgraded ones.
    pub slots: ConnectionSlots,
    /// The time limits of each connection.
    pub timeouts: ConnectionTimeouts,
    /// Notified of each connection that is closed because of a limit.
    pub observer: Option<Arc<dyn ConnectionObserver>>,
    /// Counts the bytes of all connections.
    pub traffic: Arc<Traffic>,
    /// The response to a connection that exceeds the limit.
    pub when_full: WhenFull,
}

/// The time limits of an HTTP connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionTimeouts {
    /// The time limit for the handshake of TLS, and for the head of a request, from the start of the
    /// connection or from the end of the request before it.
    pub head: Duration,
    /// The time limit for each 64 KiB of the body of a request, and for the rest of it. Only time
    /// in which the body is waited for counts, here and in the next two limits.
    pub body_progress: Duration,
    /// The time limit for the whole body of a request.
    pub body: Duration,
    /// The time limit for the peer to take each 64 KiB of the responses that wait for it. The
    /// connection of a slower one is closed. An upgraded connection has no such limit.
    pub response_progress: Duration,
}

/// The response to a connection that exceeds the limit.
#[derive(Clone, Debug)]
pub enum WhenFull {
    /// It waits in the system's queue until another one has ended.
    Wait,
    /// It is closed after a complete HTTP response was sent, or at once with TLS. One address may then
    /// have only a part of the connections.
    Reject {
        /// The response when the limit of all connections is reached.
        limit_reached: &'static [u8],
        /// The response when the address has as many connections as it may have.
        address_share: &'static [u8],
    },
}

/// Accepts connections and answers their requests until the server stops, and then waits for the requests
/// in progress. `respond` is given each request with the address of its connection.
/// When the future is dropped, all connections end at once.
pub async fn serve<S, F, B>(
    listener: Listener,
    respond: S,
    limits: ConnectionLimits,
    stop: ServerStop,
) where
    S: Fn(Request<RequestBody>, IpAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    let body_turns = BodyTurns::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.left() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = accept(&listener, &limits) => accepted,
        };
        match accepted {
            Ok(Some((stream, peer, permit))) => {
                let (respond, stop) = (respond.clone(), stop.clone());
                let traffic = Arc::clone(&limits.traffic);
                let (timeouts, turns) = (limits.timeouts, body_turns.clone());
                let observer = limits.observer.clone();
                let tls = listener.tls().cloned();
                connections.spawn(async move {
                    let stream = match tls {
                        None => Transport::Plain(stream),
                        // Boxed, because most connections have no handshake.
                        Some(tls) => {
                            match Box::pin(encrypt(&tls, stream, timeouts.head, &stop)).await {
                                Some(stream) => stream,
                                None => return,
                            }
                        }
                    };
                    let stream = CountedStream::new(stream, traffic);
                    let serving =
                        serve_connection(stream, peer, permit, respond, timeouts, turns, stop);
                    let Err(error) = serving.await else {
                        return;
                    };
                    if let (Some(observer), Some(refusal)) =
                        (observer, ConnectionRefusal::from_error(&error))
                    {
                        observer.on_refused(peer, refusal);
                    }
                });
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
    listener: &Listener,
    limits: &ConnectionLimits,
) -> io::Result<Option<(TcpStream, IpAddr, ConnectionPermit)>> {
    let ConnectionLimits {
        slots, when_full, ..
    } = limits;
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
            },
        ) => match slots.try_acquire(peer.ip()) {
            Ok(permit) => permit,
            Err(refused) => {
                if let Some(observer) = &limits.observer {
                    observer.on_refused(peer.ip(), refused.into());
                }
                let response = match refused {
                    ConnectionRefused::LimitReached => limit_reached,
                    ConnectionRefused::AddressShare => address_share,
                };
                // In place of a handshake, it would look like a port without TLS.
                if listener.tls().is_none() {
                    // A peer that does not read the response at once does not receive it.
                    let _ = stream.try_write(response);
                }
                return Ok(None);
            }
        },
    };
    // With Nagle's algorithm, each event of a stream would wait for the peer's delayed
    // acknowledgement.
    let _ = stream.set_nodelay(true);
    Ok(Some((stream, peer.ip(), permit)))
}

/// Completes the handshake of a connection. Returns `None` if it fails or takes too long, also while the
/// server stops.
async fn encrypt(
    tls: &TlsAcceptor,
    stream: TcpStream,
    limit: Duration,
    stop: &ServerStop,
) -> Option<Transport> {
    let stopped = async {
        stop.stopped().await;
        tokio::time::sleep(FIRST_REQUEST_TIMEOUT).await;
    };
    let accepted = tokio::select! {
        biased;
        () = stopped => return None,
        accepted = tokio::time::timeout(limit, tls.accept(stream)) => accepted,
    };
    match accepted {
        Ok(Ok(stream)) => return Some(Transport::Encrypted(Box::new(stream))),
        // Port scanners and clients that distrust the certificate cause this all the time.
        Ok(Err(error)) => tracing::debug!(%error, "a handshake of TLS has failed"),
        Err(_) => tracing::debug!("a handshake of TLS has taken too long"),
    }
    None
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

/// Serves a connection until it ends. The code that used the connection reports how it ended, except
/// for the errors of [`ConnectionRefusal`].
async fn serve_connection<S, F, B>(
    stream: CountedStream,
    peer: IpAddr,
    permit: ConnectionPermit,
    respond: S,
    timeouts: ConnectionTimeouts,
    body_turns: BodyTurns,
    stop: ServerStop,
) -> hyper::Result<()>
where
    S: Fn(Request<RequestBody>, IpAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let upgraded = Upgraded::default();
    let response_timeout = timeouts.response_progress;
    let socket = Socket::new(stream, permit, response_timeout, upgraded.clone());
    let body_limits = ProgressLimits {
        progress: timeouts.body_progress,
        total: timeouts.body,
    };
    let has_request = Arc::new(AtomicBool::new(false));
    let sent_request = Arc::clone(&has_request);
    let leaving = stop.clone();
    let service = service_fn(move |request: Request<_>| {
        sent_request.store(true, Ordering::Relaxed);
        let request = request.map(|body| RequestBody::new(body, body_limits, &body_turns));
        // Boxed, because otherwise hyper would move the whole future several times.
        let response = Box::pin(respond(request, peer));
        let (upgraded, stop) = (upgraded.clone(), leaving.clone());
        async move {
            let mut response = response.await;
            stop.mark_last(&mut response);
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                upgraded.set();
            }
            Ok::<_, Infallible>(response)
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        // The size of the buffer alone would allow a longer head that comes in few reads.
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(socket, service)
        .with_upgrades();
    let mut serving = pin!(serving);
    tokio::select! {
        biased;
        ended = serving.as_mut() => return ended,
        () = stop.stopped() => {}
    }
    if !has_request.load(Ordering::Relaxed) {
        let first_request = tokio::time::timeout(FIRST_REQUEST_TIMEOUT, serving.as_mut());
        if let Ok(ended) = first_request.await {
            return ended;
        }
    }
    serving.as_mut().graceful_shutdown();
    serving.await
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Mutex;

    use bytes::Bytes;
    use futures_util::{StreamExt, stream};
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;
    use tokio::time::{Instant, sleep};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::client_address::TrustedProxies;

    const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

    const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

    /// Starts a server that serves one connection at a time, with a short response.
    async fn start_server() -> (SocketAddr, JoinSet<()>) {
        start_server_with(|| Full::new(Bytes::from_static(b"here"))).await
    }

    /// The refusals of a server.
    #[derive(Debug, Default)]
    struct Refusals(Mutex<Vec<ConnectionRefusal>>);

    impl ConnectionObserver for Refusals {
        fn on_refused(&self, _: IpAddr, refusal: ConnectionRefusal) {
            self.0.lock().unwrap().push(refusal);
        }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_burst_of_connections_waits_to_be_accepted() {
        crate::raise_open_file_limit();
        let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let burst = allowed.trim().parse::<usize>().unwrap().min(1_500);
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = async {
            let mut connections = Vec::new();
            for _ in 0..burst {
                connections.push(TcpStream::connect(address).await.unwrap());
            }
            connections
        };
        // Over the backlog, each connection would take a second or more.
        let connections = tokio::time::timeout(Duration::from_secs(60), connect)
            .await
            .unwrap();
        assert_eq!(connections.len(), burst);
    }

    /// Starts a server that serves one connection at a time, with this response.
    async fn start_server_with<B>(
        body: impl Fn() -> B + Clone + Send + Sync + 'static,
    ) -> (SocketAddr, JoinSet<()>)
    where
        B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
    {
        start_observed_server(body, Arc::default()).await
    }

    async fn start_observed_server<B>(
        body: impl Fn() -> B + Clone + Send + Sync + 'static,
        refusals: Arc<Refusals>,
    ) -> (SocketAddr, JoinSet<()>)
    where
        B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
    {
        let slots = ConnectionSlots::new(1, TrustedProxies::new(Vec::new()));
        start_stoppable_server(body, refusals, slots, CancellationToken::new()).await
    }

    async fn start_stoppable_server<B>(
        body: impl Fn() -> B + Clone + Send + Sync + 'static,
        refusals: Arc<Refusals>,
        slots: ConnectionSlots,
        stopping: CancellationToken,
    ) -> (SocketAddr, JoinSet<()>)
    where
        B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
    {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let limits = ConnectionLimits {
            slots,
            timeouts: ConnectionTimeouts {
                head: HEAD_TIMEOUT,
                body_progress: HEAD_TIMEOUT,
                body: HEAD_TIMEOUT,
                response_progress: RESPONSE_TIMEOUT,
            },
            observer: Some(refusals),
            traffic: Arc::default(),
            when_full: WhenFull::Wait,
        };
        let respond = move |_, _| std::future::ready(Response::new(body()));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, respond, limits, stopping.into()));
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

    /// Connects with the smallest receive buffer, and sends a request.
    async fn request_with_small_buffer(address: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        stream.write_all(request).await.unwrap();
        stream
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_byte_a_minute_is_disconnected() {
        let large = Bytes::from(vec![0; 32 * 1024 * 1024]);
        let refusals = Arc::new(Refusals::default());
        let body = move || Full::new(large.clone());
        let (address, _server) = start_observed_server(body, Arc::clone(&refusals)).await;
        let started = Instant::now();
        let mut slow = request_with_small_buffer(address).await;
        let reading = async {
            while slow.read_u8().await.is_ok() {
                sleep(Duration::from_secs(60)).await;
            }
        };
        // The next connection is accepted when the slow one has ended.
        let mut next = TcpStream::connect(address).await.unwrap();
        next.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        tokio::select! {
            () = reading => {}
            served = next.readable() => served.unwrap(),
        }
        assert_eq!(started.elapsed().as_secs(), RESPONSE_TIMEOUT.as_secs());
        let refusals = refusals.0.lock().unwrap().clone();
        assert_eq!(refusals, [ConnectionRefusal::ResponseTooSlow]);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(start_paused = true)]
    async fn the_system_stores_little_of_an_unread_response() {
        let large = Bytes::from(vec![0; 32 * 1024 * 1024]);
        let (address, _server) = start_server_with(move || Full::new(large.clone())).await;
        let mut unread = request_with_small_buffer(address).await;
        // The response ends here when its time is over.
        sleep(2 * RESPONSE_TIMEOUT).await;
        let mut stored = Vec::new();
        let _ = unread.read_to_end(&mut stored).await;
        assert!(stored.len() < 1024 * 1024, "{} bytes", stored.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_with_nothing_to_send_has_no_time_limit() {
        let (address, _server) = start_server_with(|| {
            let events = stream::repeat(()).then(async |()| {
                sleep(100 * RESPONSE_TIMEOUT).await;
                Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"event")))
            });
            StreamBody::new(events)
        })
        .await;
        let mut client = request_with_small_buffer(address).await;
        let mut received = Vec::new();
        for _ in 0..3 {
            while !received.ends_with(b"event\r\n") {
                received.push(client.read_u8().await.unwrap());
            }
            received.clear();
        }
    }

    /// The status of the response to a request with this target and these headers besides two.
    async fn status_for(target: &str, headers: &str) -> String {
        let refusals = Arc::new(Refusals::default());
        let body = || Full::new(Bytes::from_static(b"here"));
        let (address, _server) = start_observed_server(body, Arc::clone(&refusals)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{headers}\r\n");
        // The server may close the connection before it has read the whole head.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response).await;
        let status: String = String::from_utf8_lossy(&response)
            .chars()
            .skip(9)
            .take(3)
            .collect();
        let refusals = refusals.0.lock().unwrap().clone();
        let too_large = (status == "431").then_some(ConnectionRefusal::HeadTooLarge);
        assert_eq!(refusals, Vec::from_iter(too_large), "{status}");
        status
    }

    #[tokio::test]
    async fn a_head_over_the_limits_is_431() {
        let header = |bytes| format!("long: {}\r\n", "x".repeat(bytes));
        let headers = |number| "h: 1\r\n".repeat(number);
        let path = |bytes| format!("/{}", "x".repeat(bytes));
        // The rest of the head has less than 100 bytes.
        let limit = MAX_HEAD_BYTES - 100;
        assert_eq!(status_for("/", &header(limit)).await, "200");
        assert_eq!(status_for("/", &header(MAX_HEAD_BYTES)).await, "431");
        assert_eq!(status_for("/", &headers(MAX_HEADERS - 2)).await, "200");
        assert_eq!(status_for("/", &headers(MAX_HEADERS - 1)).await, "431");
        assert_eq!(status_for(&path(limit), "").await, "200");
        assert_eq!(status_for(&path(MAX_HEAD_BYTES), "").await, "431");
        assert_eq!(status_for("/", &header(4 * MAX_HEAD_BYTES)).await, "431");
    }

    #[tokio::test]
    async fn the_first_request_of_a_connection_is_answered_after_the_server_has_stopped_accepting()
    {
        let slots = ConnectionSlots::new(9, TrustedProxies::new(Vec::new()));
        let stopping = CancellationToken::new();
        let body = || Full::new(Bytes::from_static(b"here"));
        let (address, mut server) =
            start_stoppable_server(body, Arc::default(), slots.clone(), stopping.clone()).await;
        let mut new = TcpStream::connect(address).await.unwrap();
        // That of the connection, and that of the next one to be accepted.
        while slots.open_count() < 2 {
            tokio::task::yield_now().await;
        }
        stopping.cancel();
        while TcpStream::connect(address).await.is_ok() {}
        assert!(request(&mut new).await.ends_with("here"));
        server.join_next().await.unwrap().unwrap();
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
