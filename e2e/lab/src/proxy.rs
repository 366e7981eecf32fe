//! The proxies that a node of a cluster is compared with. They do the least possible: one passes each
//! request and its response on, the other the bytes of a connection.

use std::convert::Infallible;
use std::mem;
use std::net::SocketAddr;

use anyhow::Result;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use http::header::CONNECTION;
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

/// A proxy in front of a server.
#[derive(Args)]
pub(crate) struct ProxyArguments {
    kind: ProxyKind,
    /// The server behind the proxy.
    server: SocketAddr,
}

/// The unit that a proxy passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProxyKind {
    /// Requests and responses of HTTP, with their headers unchanged.
    Http,
    /// The bytes of a connection.
    Tcp,
}

impl ProxyKind {
    /// Returns the name of this kind on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
        }
    }
}

impl ProxyArguments {
    /// Serves on a free port until the process ends.
    pub(crate) async fn run(self) -> Result<String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("listening on http://{}", listener.local_addr()?);
        self.serve(listener).await;
        Ok(String::new())
    }

    /// Serves until the future is dropped.
    async fn serve(self, listener: TcpListener) {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        loop {
            let Ok((socket, _)) = listener.accept().await else {
                continue;
            };
            let _ = socket.set_nodelay(true);
            match self.kind {
                ProxyKind::Http => {
                    tokio::spawn(pass_requests(socket, client.clone(), self.server));
                }
                ProxyKind::Tcp => {
                    tokio::spawn(pass_bytes(socket, self.server));
                }
            }
        }
    }
}

async fn pass_bytes(mut socket: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut behind = TcpStream::connect(server).await?;
    behind.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut socket, &mut behind).await?;
    Ok(())
}

async fn pass_requests(
    socket: TcpStream,
    client: Client<HttpConnector, Incoming>,
    server: SocketAddr,
) {
    let authority = Authority::try_from(server.to_string());
    let authority = authority.expect("an address is an authority");
    let service = service_fn(|request| {
        let (client, authority) = (client.clone(), authority.clone());
        async move { Ok::<_, Infallible>(pass_request(client, authority, request).await) }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    // An error means that the peer has closed the connection.
    let _ = connection.await;
}

async fn pass_request(
    client: Client<HttpConnector, Incoming>,
    authority: Authority,
    mut request: Request<Incoming>,
) -> Response<BoxBody<Bytes, hyper::Error>> {
    let mut target = mem::take(request.uri_mut()).into_parts();
    target.scheme = Some(Scheme::HTTP);
    target.authority = Some(authority);
    *request.uri_mut() = Uri::from_parts(target).expect("it has all parts");
    request.headers_mut().remove(CONNECTION);
    match client.request(request).await {
        Ok(mut response) => {
            response.headers_mut().remove(CONNECTION);
            response.map(BodyExt::boxed)
        }
        Err(_) => {
            let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed());
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::{Caller, Route};
    use crate::floor;
    use crate::page::{Page, PageAnswer, PageProtocol};
    use crate::request::{CALL_IDS, Endpoint};

    async fn listen() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    async fn start(kind: ProxyKind, server: SocketAddr) -> SocketAddr {
        let (listener, address) = listen().await;
        tokio::spawn(ProxyArguments { kind, server }.serve(listener));
        address
    }

    #[tokio::test]
    async fn callers_and_pages_reach_the_server_behind_a_proxy() {
        for (kind, bytes) in [
            (ProxyKind::Http, 1_000),
            (ProxyKind::Http, 1_000_000),
            (ProxyKind::Tcp, 1_000_000),
        ] {
            let (listener, server) = listen().await;
            tokio::spawn(floor::serve(listener));
            let payload = "x".repeat(bytes);
            let pages = start(ProxyKind::Tcp, server).await;
            let page = Page::open(pages, PageProtocol::Floor, "t", "page-0", &[])
                .await
                .unwrap();
            let answer = PageAnswer::new(PageProtocol::Floor, &payload);
            tokio::spawn(async move { page.serve(&answer).await });
            let endpoint = Endpoint::new(start(kind, server).await, "t");
            let caller = Caller::open(Route::Floor, &endpoint, 1, &payload, 0).await;
            let mut caller = caller.unwrap();
            for id in CALL_IDS.take(2) {
                caller.call(id).await.unwrap();
            }
        }
    }
}
