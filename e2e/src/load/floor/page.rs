//! The pages of a floor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::protocol::FloorProtocol;
use super::wire;

/// The maximum number of calls that wait to be written to the socket of a page.
const OUTGOING_QUEUE: usize = 256;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// The sender of a page's socket, and the callers that wait for its answers.
pub(super) struct Page {
    outgoing: mpsc::Sender<Message>,
    pending: Mutex<PendingAnswers>,
}

#[derive(Default)]
struct PendingAnswers {
    last_id: u64,
    callers: HashMap<u64, oneshot::Sender<Bytes>>,
}

impl Page {
    /// Creates a page and the future that serves its socket until it closes.
    pub(super) async fn new(
        protocol: FloorProtocol,
        read_buffer: usize,
        upgraded: Upgraded,
    ) -> (Arc<Self>, impl Future<Output = ()>) {
        let config = WebSocketConfig::default()
            .read_buffer_size(read_buffer)
            .write_buffer_size(0);
        let io = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let (outgoing, messages) = mpsc::channel(OUTGOING_QUEUE);
        let page = Arc::new(Self {
            outgoing,
            pending: Mutex::default(),
        });
        let serving = Arc::clone(&page).serve(protocol, socket, messages);
        (page, serving)
    }

    async fn serve(
        self: Arc<Self>,
        protocol: FloorProtocol,
        mut socket: Socket,
        mut messages: mpsc::Receiver<Message>,
    ) {
        let mut assembler = wire::PartAssembler::default();
        loop {
            tokio::select! {
                Some(message) = messages.recv() => {
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
                frame = socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => {
                        let text = Bytes::from(text);
                        let answer = match protocol {
                            FloorProtocol::Bytes => wire::parse_bytes(text),
                            FloorProtocol::Mcp => {
                                assembler.take(text).and_then(wire::parse_call_response)
                            }
                        };
                        if let Some((id, answer)) = answer {
                            self.deliver(id, answer);
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                },
            }
        }
    }

    fn deliver(&self, id: u64, answer: Bytes) {
        let caller = self.pending().callers.remove(&id);
        // It is no error when the caller has disconnected.
        let _ = caller.map(|caller| caller.send(answer));
    }

    /// Sends the frame for a new id, and waits for the answer with that id.
    pub(super) async fn request(&self, frame: impl FnOnce(u64) -> String) -> Option<Bytes> {
        let (answer, receiver) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            pending.last_id += 1;
            let id = pending.last_id;
            pending.callers.insert(id, answer);
            id
        };
        self.outgoing.send(Message::text(frame(id))).await.ok()?;
        receiver.await.ok()
    }

    /// Forwards a body, which must be text.
    pub(super) async fn forward(&self, body: &[u8]) -> Option<Bytes> {
        let body = str::from_utf8(body).ok()?;
        self.request(|id| format!("{id} {body}")).await
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, PendingAnswers> {
        self.pending.lock().expect("no holder panics")
    }
}
