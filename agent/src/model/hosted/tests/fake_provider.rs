//! A fake provider: a server that replies with given bytes, in chunks of a given size.
//!
//! It does not check requests. `MockProvider` in `e2e/src/mock_provider.rs` does, and streams scripts.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use http::HeaderMap;
use reqwest::Url;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// A running server. Dropping it stops the server.
pub(super) struct FakeProvider {
    address: SocketAddr,
    state: Arc<ServerState>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct ServerState {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ReceivedRequest>>,
    request_count: watch::Sender<usize>,
    disconnected: Arc<Notify>,
}

/// A request that the server has received.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// A reply of the server.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    bytes: Vec<u8>,
    chunk_size: usize,
    end: ReplyEnd,
    /// How many requests must have been received before the reply is sent.
    after_requests: usize,
}

/// The end of a reply, after its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplyEnd {
    /// The end of the response.
    Complete,
    /// The connection breaks.
    Disconnect,
    /// Nothing, while the connection stays open.
    Hang,
}

impl Reply {
    /// Creates a successful reply in one chunk.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            bytes: text.into().into_bytes(),
            chunk_size: usize::MAX,
            end: ReplyEnd::Complete,
            after_requests: 0,
        }
    }

    /// Creates a successful reply that is one JSON value, and not a stream.
    pub(super) fn json(body: &Value) -> Self {
        Self::new(body.to_string()).header("content-type", "application/json; charset=utf-8")
    }

    pub(super) fn status(status: u16, body: impl Into<String>) -> Self {
        let whole = Self::new(body);
        Self { status, ..whole }
    }

    pub(super) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Sends the bytes in chunks of this size. Small chunks split characters.
    pub(super) fn with_chunk_size(self, chunk_size: usize) -> Self {
        Self { chunk_size, ..self }
    }

    /// Holds the reply back until this many requests have been received.
    pub(super) fn after_requests(self, after_requests: usize) -> Self {
        Self {
            after_requests,
            ..self
        }
    }

    pub(super) fn ending_with(self, end: ReplyEnd) -> Self {
        Self { end, ..self }
    }
}

impl FakeProvider {
    pub(super) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(ServerState {
            replies: Mutex::new(replies.into_iter().collect()),
            ..ServerState::default()
        });
        let router = Router::new().fallback(answer).with_state(state.clone());
        let server = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            state,
            server,
        }
    }

    pub(super) fn url(&self) -> Url {
        self.root_url().join("v1/").unwrap()
    }

    pub(super) fn root_url(&self) -> Url {
        format!("http://{}", self.address).parse().unwrap()
    }

    /// Returns the requests that the server has received, in order.
    pub(super) fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Returns when the client has closed the connection of a reply that hangs.
    pub(super) async fn disconnected(&self) {
        let closed = self.state.disconnected.notified();
        let closed = tokio::time::timeout(Duration::from_secs(60), closed).await;
        closed.expect("the connection is still open");
    }
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(state): State<Arc<ServerState>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    state.requests.lock().unwrap().push(ReceivedRequest {
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap(),
    });
    let reply = state.replies.lock().unwrap().pop_front();
    let reply = reply.expect("no reply is left");
    state.request_count.send_modify(|count| *count += 1);
    let mut received = state.request_count.subscribe();
    let wait = received.wait_for(|count| *count >= reply.after_requests);
    wait.await.unwrap();
    respond(reply, state.disconnected.clone())
}

fn respond(reply: Reply, disconnected: Arc<Notify>) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let chunks = reply
        .bytes
        .chunks(reply.chunk_size)
        .map(Bytes::copy_from_slice);
    let chunks: Vec<_> = chunks.map(Ok::<_, io::Error>).collect();
    // Each chunk is sent before the next is available.
    let chunks = stream::iter(chunks).then(|chunk| async {
        tokio::task::yield_now().await;
        chunk
    });
    let end = match reply.end {
        ReplyEnd::Complete => stream::empty().boxed(),
        ReplyEnd::Disconnect => stream::iter([Err(io::Error::other("cut"))]).boxed(),
        ReplyEnd::Hang => stream::once(hang(NotifyOnDrop(disconnected))).boxed(),
    };
    response.body(Body::from_stream(chunks.chain(end))).unwrap()
}

async fn hang(_guard: NotifyOnDrop) -> io::Result<Bytes> {
    pending().await
}

/// Notifies that the client has closed the connection.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
