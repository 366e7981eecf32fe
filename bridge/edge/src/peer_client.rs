//! The HTTP client with which a server reaches another one of the same kind.
//!
//! It passes on many requests of others, so it does less than the client of [`http_client`]: it follows no
//! redirects, uses no proxy, adds no header, decodes nothing, and parses no URL.
//!
//! [`http_client`]: crate::http_client

use std::error::Error;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body::Body;
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsConnector, TlsStream};
use tower::Service;

use crate::connections::{TlsAcceptor, Transport};

/// The time limit for a connection, with its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How many connections stay open while no request uses them.
const MAX_IDLE_CONNECTIONS: usize = 64;

/// How long such a connection stays open: shorter than the time after which its server closes it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// The key of all connections in the pool, which hyper derives from the URI of a request and hashes byte
/// by byte. It is not sent, and the connector knows the server.
const AUTHORITY: &str = "p";

/// The response of a peer.
pub type PeerResponse = Response<PeerResponseBody>;

/// The body of such a response.
pub type PeerResponseBody = Incoming;

/// The connection of a response that has switched to another protocol.
pub type PeerConnection = TokioIo<Upgraded>;

/// Sends requests to one server. Clones share its connections.
#[derive(Clone, Debug)]
pub struct PeerClient<B> {
    client: Client<Connector, B>,
}

/// Why a request has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// The connection cannot be made: nothing was sent.
    NotConnected,
    /// The connection was lost after that.
    Lost,
}

impl<B> PeerClient<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Creates the client of the server at this address, with its own certificate and at the name of the
    /// certificates of all if `tls` is set.
    ///
    /// # Errors
    ///
    /// The cause, when TLS cannot be set up.
    pub fn new(address: SocketAddr, tls: Option<(&TlsAcceptor, &str)>) -> Result<Self, String> {
        let tls = tls
            .map(|(tls, name)| ClientTls::new(tls, name))
            .transpose()?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .set_host(false)
            .build(Connector { address, tls });
        Ok(Self { client })
    }

    /// Sends a request, whose URI has only a path and a query, and whose headers are complete.
    ///
    /// # Errors
    ///
    /// See [`PeerError`].
    pub async fn send(&self, mut request: Request<B>) -> Result<PeerResponse, PeerError> {
        let mut target = mem::take(request.uri_mut()).into_parts();
        target.scheme = Some(Scheme::HTTP);
        target.authority = Some(Authority::from_static(AUTHORITY));
        *request.uri_mut() = Uri::from_parts(target).map_err(|_| PeerError::NotConnected)?;
        self.client.request(request).await.map_err(|error| {
            if error.is_connect() {
                PeerError::NotConnected
            } else {
                PeerError::Lost
            }
        })
    }
}

/// Returns the connection of a response with the status 101.
///
/// # Errors
///
/// [`PeerError::Lost`] when the peer has closed it meanwhile.
pub async fn upgrade(response: PeerResponse) -> Result<PeerConnection, PeerError> {
    let upgraded = hyper::upgrade::on(response).await;
    upgraded.map(TokioIo::new).map_err(|_| PeerError::Lost)
}

/// Connects to one server, whatever the URI says.
#[derive(Clone, Debug)]
struct Connector {
    address: SocketAddr,
    tls: Option<ClientTls>,
}

#[derive(Clone, Debug)]
struct ClientTls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl ClientTls {
    fn new(tls: &TlsAcceptor, name: &str) -> Result<Self, String> {
        let config = tls.client_config();
        let name = ServerName::try_from(name.to_owned());
        Ok(Self {
            config: config.ok_or("the certificate is not one for both directions")?,
            name: name.map_err(|error| error.to_string())?,
        })
    }
}

impl Connector {
    async fn connect(self) -> io::Result<TokioIo<Transport>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let Some(ClientTls { config, name }) = self.tls else {
            return Ok(TokioIo::new(Transport::Plain(stream)));
        };
        let stream = TlsConnector::from(config).connect(name, stream).await?;
        let stream = Box::new(TlsStream::Client(stream));
        Ok(TokioIo::new(Transport::Encrypted(stream)))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Transport>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Transport>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connecting = timeout(CONNECT_TIMEOUT, self.clone().connect());
        Box::pin(async { connecting.await? })
    }
}

impl Connection for Transport {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::header::HOST;
    use http::{HeaderValue, Method, StatusCode};
    use http_body_util::{BodyExt, Full};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn listen() -> (TcpListener, PeerClient<Full<Bytes>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = PeerClient::new(listener.local_addr().unwrap(), None).unwrap();
        (listener, client)
    }

    fn request(target: &str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::from("{}"));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target.parse().unwrap();
        let host = HeaderValue::from_static("bridge.example");
        request.headers_mut().insert(HOST, host);
        request
    }

    /// Receives the head and the body of a request of [`request`].
    async fn recv(stream: &mut TcpStream) -> String {
        let mut received = Vec::new();
        while !received.ends_with(b"{}") {
            assert!(stream.read_buf(&mut received).await.unwrap() > 0);
        }
        String::from_utf8(received).unwrap()
    }

    #[tokio::test]
    async fn sends_the_headers_of_the_request_only_and_uses_a_connection_again() {
        let (listener, client) = listen().await;
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut requests = Vec::new();
            for _ in 0..2 {
                requests.push(recv(&mut stream).await);
                let response = b"HTTP/1.1 302 Found\r\nlocation: /b\r\ncontent-length: 2\r\n\r\nok";
                stream.write_all(response).await.unwrap();
            }
            requests
        });
        for _ in 0..2 {
            let response = client.send(request("/a%2F?b=%20")).await.unwrap();
            assert_eq!(response.status(), StatusCode::FOUND);
            assert_eq!(
                response.into_body().collect().await.unwrap().to_bytes(),
                "ok"
            );
        }
        let expected =
            "POST /a%2F?b=%20 HTTP/1.1\r\nhost: bridge.example\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(server.await.unwrap(), [expected, expected]);
    }

    #[tokio::test]
    async fn an_error_says_whether_something_was_sent() {
        let (listener, client) = listen().await;
        let (sent, ()) = tokio::join!(client.send(request("/")), async {
            let (mut stream, _) = listener.accept().await.unwrap();
            recv(&mut stream).await;
        });
        assert_eq!(sent.unwrap_err(), PeerError::Lost);
        drop(listener);
        let sent = client.send(request("/")).await;
        assert_eq!(sent.unwrap_err(), PeerError::NotConnected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_is_not_answered_has_a_time_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
        let connector = Connector {
            address,
            tls: Some(ClientTls {
                config: Arc::new(config),
                name: ServerName::try_from("mcp-web").unwrap(),
            }),
        };
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let client = PeerClient { client };
        assert_eq!(
            client.send(request("/")).await.unwrap_err(),
            PeerError::NotConnected
        );
    }

    #[tokio::test]
    async fn a_response_that_switches_protocols_has_the_connection() {
        let (listener, client) = listen().await;
        let (response, mut server) = tokio::join!(client.send(request("/ws")), async {
            let (mut stream, _) = listener.accept().await.unwrap();
            recv(&mut stream).await;
            let response = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhi";
            stream.write_all(response).await.unwrap();
            stream
        });
        let mut connection = upgrade(response.unwrap()).await.unwrap();
        let mut bytes = [0; 2];
        connection.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"hi");
        connection.write_all(b"you").await.unwrap();
        let mut bytes = [0; 3];
        server.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"you");
    }
}
