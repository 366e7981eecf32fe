//! The server that bridges are compared with: it does the least possible between a request and a
//! page.
//!
//! It passes the body of a request, with an id before it, to one of the pages in turn, and what comes
//! back with that id to the caller. It uses hyper and tokio-tungstenite, like the bridge, and has no
//! tokens, sessions, names, limits, deadlines or cancellation.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Result;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{RwLock, mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The maximum number of calls that wait to be written to the socket of a page.
const OUTGOING_QUEUE: usize = 256;

/// The size of the read buffer for the socket of a page, in bytes.
const READ_BUFFER: usize = 16 * 1024;

/// Serves on a free port until the process ends.
pub(crate) async fn run() -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener).await;
    Ok(String::new())
}

/// Serves pages and callers until the future is dropped.
pub(crate) async fn serve(listener: TcpListener) {
    Arc::<Floor>::default().serve(listener).await;
}

/// A server that passes bytes on.
#[derive(Default)]
struct Floor {
    pages: RwLock<Vec<Arc<FloorPage>>>,
    next_index: AtomicUsize,
}

impl Floor {
    /// Serves pages (`GET /ws`) and callers (`POST` on any path) until the future is dropped.
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            if let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                tokio::spawn(Arc::clone(&self).serve_connection(socket));
            }
        }
    }

    async fn serve_connection(self: Arc<Self>, socket: TcpStream) {
        let service = service_fn(|request| {
            let floor = Arc::clone(&self);
            async move { Ok::<_, Infallible>(floor.respond(request).await) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
        // An error means that the peer has closed the connection.
        let _ = connection.with_upgrades().await;
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) {
            let accept = derive_accept_key(key.as_bytes());
            tokio::spawn(self.serve_page(hyper::upgrade::on(request)));
            return switching_protocols(&accept);
        }
        let body = request.into_body().collect().await;
        let answer = async {
            let body = body.ok()?.to_bytes();
            self.next_page()
                .await?
                .pass_on(str::from_utf8(&body).ok()?)
                .await
        };
        let Some(answer) = answer.await else {
            let mut response = Response::new(Full::from("the page or the body is missing"));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            return response;
        };
        let mut response = Response::new(Full::new(answer));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        response
    }

    async fn next_page(&self) -> Option<Arc<FloorPage>> {
        let pages = self.pages.read().await;
        let index = self.next_index.fetch_add(1, Ordering::Relaxed);
        pages.get(index % pages.len().max(1)).cloned()
    }

    async fn serve_page(self: Arc<Self>, upgrade: OnUpgrade) {
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let config = config.write_buffer_size(0);
        let io = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let (outgoing, messages) = mpsc::channel(OUTGOING_QUEUE);
        let page = Arc::new(FloorPage {
            outgoing,
            pending: Mutex::default(),
        });
        // Pages stay connected for as long as a floor is measured.
        self.pages.write().await.push(Arc::clone(&page));
        page.serve(socket, messages).await;
    }
}

fn switching_protocols(accept: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

/// The sender of a page's socket, and the callers that wait for its answers.
struct FloorPage {
    outgoing: mpsc::Sender<Message>,
    pending: Mutex<PendingAnswers>,
}

#[derive(Default)]
struct PendingAnswers {
    last_id: u64,
    callers: HashMap<u64, oneshot::Sender<Bytes>>,
}

impl FloorPage {
    async fn serve(
        &self,
        mut socket: WebSocketStream<TokioIo<Upgraded>>,
        mut messages: mpsc::Receiver<Message>,
    ) {
        loop {
            tokio::select! {
                Some(message) = messages.recv() => {
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
                frame = socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => self.deliver(text.into()),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                },
            }
        }
    }

    /// Passes `ID ANSWER` to the caller that waits for it.
    fn deliver(&self, message: Bytes) {
        let id = memchr::memchr(b' ', &message).and_then(|space| {
            let id = str::from_utf8(&message[..space]).ok()?.parse().ok()?;
            Some((id, message.slice(space + 1..)))
        });
        if let Some((id, answer)) = id {
            let caller = self.pending().callers.remove(&id);
            // The caller may have disconnected.
            let _ = caller.map(|caller| caller.send(answer));
        }
    }

    /// Sends a body with a new id, and waits for the answer with that id.
    async fn pass_on(&self, body: &str) -> Option<Bytes> {
        let (answer, receiver) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            pending.last_id += 1;
            let id = pending.last_id;
            pending.callers.insert(id, answer);
            id
        };
        let frame = Message::text(format!("{id} {body}"));
        self.outgoing.send(frame).await.ok()?;
        receiver.await.ok()
    }

    fn pending(&self) -> MutexGuard<'_, PendingAnswers> {
        self.pending.lock().expect("no holder panics")
    }
}

#[cfg(test)]
mod tests {
    use crate::caller::{Caller, Route};
    use crate::page::{Page, PageAnswer, PageProtocol};
    use crate::request::{CALL_IDS, Endpoint};

    use super::*;

    #[tokio::test]
    async fn a_caller_gets_what_the_page_sent_whatever_its_size() {
        for bytes in [1_000, 1_000_000] {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(serve(listener));
            let payload = "x".repeat(bytes);
            let page = Page::open(address, PageProtocol::Floor, "t", "page-0", &[])
                .await
                .unwrap();
            let answer = PageAnswer::new(PageProtocol::Floor, &payload);
            tokio::spawn(async move { page.serve(&answer).await });
            let endpoint = Endpoint::new(address, "t");
            let caller = Caller::open(Route::Floor, &endpoint, 1, &payload, 0).await;
            caller.unwrap().call(CALL_IDS.start).await.unwrap();
        }
    }
}
