//! Servers that do the least possible between a request and a page; bridges are compared with them.
//!
//! They use hyper and tokio-tungstenite, like the bridge, and have no tokens, sessions, limits,
//! deadlines or cancellation. With [`FloorProtocol::Bytes`], a floor forwards the body of a request
//! to a page and the page's answer back. With [`FloorProtocol::Mcp`], it answers the same bytes as
//! the bridge.

mod mcp;
mod page;
mod protocol;
mod wire;

pub use self::protocol::FloorProtocol;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::RwLock;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use self::page::Page;

/// A server of the least possible work.
pub struct Floor {
    protocol: FloorProtocol,
    read_buffer: usize,
    pages: RwLock<Vec<Arc<Page>>>,
    next_index: AtomicUsize,
}

impl Floor {
    /// Creates a floor. `read_buffer` is the size of the read buffer for the socket of a page.
    pub fn new(protocol: FloorProtocol, read_buffer: usize) -> Arc<Self> {
        Arc::new(Self {
            protocol,
            read_buffer,
            pages: RwLock::default(),
            next_index: AtomicUsize::new(0),
        })
    }

    /// Serves pages (`GET /ws`) and callers (`POST` on any path) until the future is dropped.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            let Ok((socket, _)) = listener.accept().await else {
                continue;
            };
            let _ = socket.set_nodelay(true);
            tokio::spawn(Arc::clone(&self).serve_connection(socket));
        }
    }

    async fn serve_connection(self: Arc<Self>, socket: TcpStream) {
        let service = service_fn(|request| {
            let floor = Arc::clone(&self);
            async move { Ok::<_, Infallible>(floor.handle(request).await) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
        // An error means that the peer has closed the connection.
        let _ = connection.with_upgrades().await;
    }

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) {
            let accept = derive_accept_key(key.as_bytes());
            // With the query `idle`, the page stays connected and is never called.
            let is_idle = request.uri().query() == Some("idle");
            tokio::spawn(self.serve_page(hyper::upgrade::on(request), is_idle));
            return switching_protocols(&accept);
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return error_response(StatusCode::BAD_REQUEST, "the body is incomplete");
        };
        let body = body.to_bytes();
        let Some(page) = self.next_page().await else {
            return error_response(StatusCode::SERVICE_UNAVAILABLE, "no page is connected");
        };
        let answer = match self.protocol {
            FloorProtocol::Bytes => page.forward(&body).await,
            FloorProtocol::Mcp => mcp::call(&page, &parts, &body).await,
        };
        match answer {
            Some(body) => {
                let mut response = Response::new(Full::new(body));
                response.headers_mut().insert(CONTENT_TYPE, JSON);
                response
            }
            None => error_response(
                StatusCode::BAD_GATEWAY,
                "the request is not a call, or the page is gone",
            ),
        }
    }

    async fn next_page(&self) -> Option<Arc<Page>> {
        let pages = self.pages.read().await;
        let index = self.next_index.fetch_add(1, Ordering::Relaxed);
        pages.get(index % pages.len().max(1)).cloned()
    }

    async fn serve_page(self: Arc<Self>, upgrade: hyper::upgrade::OnUpgrade, is_idle: bool) {
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let (page, serving) = Page::new(self.protocol, self.read_buffer, upgraded).await;
        if is_idle {
            return serving.await;
        }
        self.pages.write().await.push(Arc::clone(&page));
        serving.await;
        let mut pages = self.pages.write().await;
        pages.retain(|other| !Arc::ptr_eq(other, &page));
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn switching_protocols(accept: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

fn error_response(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}
