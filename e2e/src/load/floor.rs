//! The least that has to happen between a request and a page: what a bridge is measured against.
//!
//! hyper and tokio-tungstenite, the same crates as the bridge's, and nothing else: no tokens, no
//! sessions, no limits, no deadlines, no cancelling. [`FloorProtocol::Bytes`] passes the body of a request
//! to a page and the page's answer back. [`FloorProtocol::Mcp`] writes what the bridge writes, byte for byte.

mod mcp;
mod page;

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

/// What a floor makes of the bytes that it passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloorProtocol {
    /// None: the page gets the body behind an id, the caller what stands behind that id in the answer.
    Bytes,
    /// The page gets the `tool-call` that the bridge would send, the caller the answer that the bridge
    /// would give.
    Mcp,
}

/// A floor that listens.
pub struct Floor {
    meaning: FloorProtocol,
    read_buffer: usize,
    pages: RwLock<Vec<Arc<Page>>>,
    next_index: AtomicUsize,
}

impl Floor {
    /// A floor without pages. `read_buffer`: what it reads at a time from the socket of a page.
    pub fn new(meaning: FloorProtocol, read_buffer: usize) -> Arc<Self> {
        Arc::new(Self {
            meaning,
            read_buffer,
            pages: RwLock::default(),
            next_index: AtomicUsize::new(0),
        })
    }

    /// Serves pages (`GET /ws`) and callers (`POST` anywhere) until it is dropped.
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
        // A peer that breaks its connection off ends it.
        let _ = connection.with_upgrades().await;
    }

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) {
            let accept = derive_accept_key(key.as_bytes());
            // One that says so is open and never called.
            let is_idle = request.uri().query() == Some("idle");
            tokio::spawn(self.serve_page(hyper::upgrade::on(request), is_idle));
            return switching_protocols(&accept);
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return problem(StatusCode::BAD_REQUEST, "the body is cut off");
        };
        let body = body.to_bytes();
        let Some(page) = self.next_page().await else {
            return problem(StatusCode::SERVICE_UNAVAILABLE, "no page is connected");
        };
        let answer = match self.meaning {
            FloorProtocol::Bytes => page.forward(&body).await.map(|bytes| (JSON, bytes)),
            FloorProtocol::Mcp => mcp::call(&page, &parts, &body).await,
        };
        match answer {
            Some((media_type, body)) => {
                let mut response = Response::new(Full::new(body));
                response.headers_mut().insert(CONTENT_TYPE, media_type);
                response
            }
            None => problem(
                StatusCode::BAD_GATEWAY,
                "that is no call, or the page is gone",
            ),
        }
    }

    async fn next_page(&self) -> Option<Arc<Page>> {
        let pages = self.pages.read().await;
        let turn = self.next_index.fetch_add(1, Ordering::Relaxed);
        pages.get(turn % pages.len().max(1)).cloned()
    }

    async fn serve_page(self: Arc<Self>, upgrade: hyper::upgrade::OnUpgrade, is_idle: bool) {
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let (page, serving) = Page::new(self.meaning, self.read_buffer, upgraded).await;
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

fn problem(status: StatusCode, why: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(why));
    *response.status_mut() = status;
    response
}
