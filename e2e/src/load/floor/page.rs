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

use super::FloorProtocol;
use super::mcp;

/// Calls that wait to be written to the socket of a page.
const OUTGOING_QUEUE: usize = 256;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// The socket of a page, and who waits for its answers.
pub(super) struct Page {
    outgoing: mpsc::Sender<Message>,
    waiting: Mutex<PendingAnswers>,
}

#[derive(Default)]
struct PendingAnswers {
    last_id: u64,
    callers: HashMap<u64, oneshot::Sender<Bytes>>,
}

impl Page {
    /// A page, and what serves its socket until it ends.
    pub(super) async fn new(
        meaning: FloorProtocol,
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
            waiting: Mutex::default(),
        });
        let serving = Arc::clone(&page).serve(meaning, socket, messages);
        (page, serving)
    }

    async fn serve(
        self: Arc<Self>,
        meaning: FloorProtocol,
        mut socket: Socket,
        mut messages: mpsc::Receiver<Message>,
    ) {
        let mut parts = mcp::Parts::default();
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
                        let answer = match meaning {
                            FloorProtocol::Bytes => split_id(text),
                            FloorProtocol::Mcp => parts.take(text).and_then(mcp::answer),
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
        let caller = self.waiting().callers.remove(&id);
        // A caller that has gone away needs no answer.
        let _ = caller.map(|caller| caller.send(answer));
    }

    /// Sends what `frame` makes of an id, and waits for the answer with that id.
    pub(super) async fn request(&self, frame: impl FnOnce(u64) -> String) -> Option<Bytes> {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting();
            waiting.last_id += 1;
            let id = waiting.last_id;
            waiting.callers.insert(id, answer);
            id
        };
        self.outgoing.send(Message::text(frame(id))).await.ok()?;
        answered.await.ok()
    }

    /// Passes bytes that are text.
    pub(super) async fn forward(&self, body: &[u8]) -> Option<Bytes> {
        let body = str::from_utf8(body).ok()?;
        self.request(|id| format!("{id} {body}")).await
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, PendingAnswers> {
        self.waiting.lock().expect("no holder panics")
    }
}

/// `ID ANSWER`
fn split_id(text: Bytes) -> Option<(u64, Bytes)> {
    let space = memchr::memchr(b' ', &text)?;
    let id = str::from_utf8(&text[..space]).ok()?.parse().ok()?;
    Some((id, text.slice(space + 1..)))
}
