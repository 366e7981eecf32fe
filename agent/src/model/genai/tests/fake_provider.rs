//! A server that answers with given bytes, in pieces of a given size.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

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
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A running server. It ends when this is dropped.
pub(super) struct FakeProvider {
    address: SocketAddr,
    state: Arc<ServerState>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct ServerState {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ReceivedRequest>>,
    disconnected: Arc<Notify>,
}

/// What it was asked.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// What it answers.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    bytes: Vec<u8>,
    chunk_size: usize,
    end: ReplyEnd,
}

/// What comes after the bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplyEnd {
    Complete,
    /// The connection breaks.
    Disconnect,
    /// Nothing.
    Hang,
}

impl Reply {
    /// In one piece, and whole.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            bytes: text.into().into_bytes(),
            chunk_size: usize::MAX,
            end: ReplyEnd::Complete,
        }
    }

    pub(super) fn status(status: u16, body: impl Into<String>) -> Self {
        let whole = Self::new(body);
        Self { status, ..whole }
    }

    pub(super) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// So small that characters are split.
    pub(super) fn with_chunk_size(self, piece: usize) -> Self {
        Self {
            chunk_size: piece,
            ..self
        }
    }

    pub(super) fn ending_with(self, then: ReplyEnd) -> Self {
        Self { end: then, ..self }
    }
}

impl FakeProvider {
    pub(super) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stage = Arc::new(ServerState {
            replies: Mutex::new(replies.into_iter().collect()),
            ..ServerState::default()
        });
        let router = Router::new().fallback(answer).with_state(stage.clone());
        let server = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            state: stage,
            server,
        }
    }

    pub(super) fn url(&self) -> Url {
        format!("http://{}/v1/", self.address).parse().unwrap()
    }

    /// What it was asked, in order.
    pub(super) fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Returns when the connection of an answer that hangs is closed.
    pub(super) async fn disconnected(&self) {
        self.state.disconnected.notified().await;
    }
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(stage): State<Arc<ServerState>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    stage.requests.lock().unwrap().push(ReceivedRequest {
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap(),
    });
    let reply = stage.replies.lock().unwrap().pop_front();
    respond(reply.expect("no reply is left"), stage.disconnected.clone())
}

fn respond(reply: Reply, gone: Arc<Notify>) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let pieces = reply
        .bytes
        .chunks(reply.chunk_size)
        .map(Bytes::copy_from_slice);
    let pieces: Vec<_> = pieces.map(Ok::<_, io::Error>).collect();
    // Each piece is sent before the next is there.
    let said = stream::iter(pieces).then(|piece| async {
        tokio::task::yield_now().await;
        piece
    });
    let after = match reply.end {
        ReplyEnd::Complete => stream::empty().boxed(),
        ReplyEnd::Disconnect => stream::iter([Err(io::Error::other("cut"))]).boxed(),
        ReplyEnd::Hang => stream::once(hang(NotifyOnDrop(gone))).boxed(),
    };
    response.body(Body::from_stream(said.chain(after))).unwrap()
}

async fn hang(_gone: NotifyOnDrop) -> io::Result<Bytes> {
    pending().await
}

/// Tells that the reader has gone away.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
