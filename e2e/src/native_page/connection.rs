//! The task that owns a native page's socket.

use std::collections::HashMap;

use bridge_protocol::{
    BridgeToPage, CallError, CallId, CallReceived, ClientResponse, ClientResponses, Definition,
    ErrorCode, Heartbeat, Item, PageToBridge, Register, Registered, RegistrationId, Unregister,
    Unregistered,
};
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::call::{Called, Deed, NativeCall, Responder, Wanted, raw, value};
use super::item::{NativeItem, NativeOutcome};

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What the page's owner wants.
pub(super) enum Request {
    Register(Vec<NativeItem>),
    Unregister(Vec<Item>),
    Say(Box<PageToBridge>),
    Close(u16),
}

/// What the bridge acknowledged.
pub(super) enum Answer {
    Registered(Registered),
    Unregistered(Unregistered),
}

/// Where the page's owner hears what the bridge says.
pub(super) struct Heard {
    pub(super) call: mpsc::UnboundedSender<CallId>,
    pub(super) cancel: mpsc::UnboundedSender<(CallId, ErrorCode)>,
    pub(super) subscribed: mpsc::UnboundedSender<Vec<String>>,
    pub(super) answer: mpsc::UnboundedSender<Answer>,
}

/// The socket, and the calls that run.
pub(super) struct Connection {
    socket: Socket,
    request: mpsc::Receiver<Request>,
    heard: Heard,
    items: HashMap<Item, NativeItem>,
    running: HashMap<CallId, AbortHandle>,
    waiting: HashMap<(CallId, String), Responder>,
    deeds: Channel<Deed>,
    finished: Channel<(CallId, NativeOutcome)>,
}

type Channel<T> = (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>);

impl Connection {
    pub(super) fn new(socket: Socket, request: mpsc::Receiver<Request>, heard: Heard) -> Self {
        Self {
            socket,
            request,
            heard,
            items: HashMap::new(),
            running: HashMap::new(),
            waiting: HashMap::new(),
            deeds: mpsc::unbounded_channel(),
            finished: mpsc::unbounded_channel(),
        }
    }

    /// Returns the close code that the bridge sent, if any.
    pub(super) async fn run(mut self) -> Option<u16> {
        loop {
            tokio::select! {
                // What a handler did comes before what it came to.
                biased;
                Some(deed) = self.deeds.1.recv() => self.done(deed).await,
                Some((id, outcome)) = self.finished.1.recv() => self.finished(id, outcome).await,
                frame = self.socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => self.received(&text).await,
                    Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                },
                Some(request) = self.request.recv() => self.requested(request).await,
            }
        }
    }

    async fn received(&mut self, text: &str) {
        match BridgeToPage::decode(text).unwrap() {
            BridgeToPage::ToolCall(call) => self.called(call.into()).await,
            BridgeToPage::PromptGet(get) => self.called(get.into()).await,
            BridgeToPage::ResourceRead(read) => self.called(read.into()).await,
            BridgeToPage::Completion(completion) => self.called(completion.into()).await,
            BridgeToPage::CallCancel(cancel) => {
                self.over(&cancel.request_id);
                let _ = self.heard.cancel.send((cancel.request_id, cancel.code));
            }
            BridgeToPage::ClientResponses(answers) => self.answered(answers),
            BridgeToPage::Subscriptions(subscriptions) => {
                let _ = self.heard.subscribed.send(subscriptions.uris);
            }
            BridgeToPage::Heartbeat(Heartbeat { sequence, .. }) => {
                self.send(PageToBridge::HeartbeatAck(Heartbeat {
                    sequence,
                    answers: 0,
                }))
                .await;
            }
            BridgeToPage::Registered(answer) => {
                let _ = self.heard.answer.send(Answer::Registered(answer));
            }
            BridgeToPage::Unregistered(answer) => {
                let _ = self.heard.answer.send(Answer::Unregistered(answer));
            }
            _ => {}
        }
    }

    async fn called(&mut self, called: Called) {
        let Called {
            id,
            item,
            wanted,
            context,
        } = called;
        let request_id = id.clone();
        self.send(PageToBridge::CallReceived(CallReceived { request_id }))
            .await;
        let _ = self.heard.call.send(id.clone());
        let Some(native) = self.items.get(&item) else {
            let name = &item.name;
            let failure = format!("nothing is called {name}").as_str().into();
            return self.finished(id, Err(failure)).await;
        };
        let handler = match &wanted {
            Wanted::Completion { .. } => native.completer.clone(),
            _ => Some(native.handler.clone()),
        };
        let Some(handler) = handler else {
            let nothing = json!({ "values": [] });
            return self.finished(id, Ok(nothing.into())).await;
        };
        let work = handler(NativeCall {
            id: id.clone(),
            wanted,
            context,
            deeds: self.deeds.0.clone(),
        });
        let (finished, key) = (self.finished.0.clone(), id.clone());
        let task = tokio::spawn(async move {
            let _ = finished.send((id, work.await));
        });
        self.running.insert(key, task.abort_handle());
    }

    async fn done(&mut self, deed: Deed) {
        match deed {
            Deed::Say(message) => self.send(message).await,
            Deed::Ask(requests, responders) => {
                for (request, responder) in requests.requests.iter().zip(responders) {
                    let key = (requests.request_id.clone(), request.key.clone());
                    self.waiting.insert(key, responder);
                }
                self.send(PageToBridge::ClientRequests(requests)).await;
            }
        }
    }

    fn answered(&mut self, answers: ClientResponses) {
        for ClientResponse { key, result, error } in answers.responses {
            let waiting = self.waiting.remove(&(answers.request_id.clone(), key));
            let answer = match (result, error) {
                (_, Some(error)) => Err(error),
                (Some(result), None) => Ok(value(&result)),
                (None, None) => panic!("an answer has a result or an error"),
            };
            if let Some(waiting) = waiting {
                let _ = waiting.send(answer);
            }
        }
    }

    async fn finished(&mut self, request_id: CallId, outcome: NativeOutcome) {
        self.over(&request_id);
        self.send(match outcome {
            Ok(answer) => PageToBridge::CallResponse(answer.into_response(request_id)),
            Err(failure) => PageToBridge::CallError(CallError {
                request_id,
                code: failure.code,
                message: failure.message,
                data: failure.data.as_ref().map(raw),
                content: failure.content.as_ref().map(raw),
            }),
        })
        .await;
    }

    fn over(&mut self, id: &CallId) {
        if let Some(handler) = self.running.remove(id) {
            handler.abort();
        }
        self.waiting.retain(|(call, _), _| call != id);
    }

    async fn requested(&mut self, request: Request) {
        match request {
            Request::Register(items) => self.register(items).await,
            Request::Unregister(items) => {
                self.send(PageToBridge::Unregister(Unregister {
                    registration_id: RegistrationId::from("unregister"),
                    items,
                }))
                .await;
            }
            Request::Say(message) => self.send(*message).await,
            Request::Close(code) => {
                let frame = CloseFrame {
                    code: code.into(),
                    reason: "".into(),
                };
                let _ = self.socket.close(Some(frame)).await;
            }
        }
    }

    async fn register(&mut self, items: Vec<NativeItem>) {
        let definition = |item: &NativeItem| Definition {
            kind: item.kind,
            definition: raw(&item.definition),
        };
        let definitions = items.iter().map(definition).collect();
        for item in items {
            let key = Item {
                kind: item.kind,
                name: item.name(),
            };
            self.items.insert(key, item);
        }
        self.send(PageToBridge::Register(Register {
            registration_id: RegistrationId::from("register"),
            items: definitions,
        }))
        .await;
    }

    async fn send(&mut self, message: PageToBridge) {
        // A socket that is gone shows itself at the next read.
        let _ = self.socket.send(Message::text(message.encode())).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for handler in self.running.values() {
            handler.abort();
        }
    }
}
