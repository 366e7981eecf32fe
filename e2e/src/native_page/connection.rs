//! The task that owns a native page's socket.

use std::collections::HashMap;

use bridge_protocol::{
    BridgeToPage, CallId, ErrorCode, Heartbeat, PageToBridge, RegisterTools, Registered,
    RegistrationId, ToolCall, ToolError, ToolReceived, ToolResponse, UnregisterTools, Unregistered,
};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::{Handler, NativeTool};

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What the page's owner wants said.
pub(super) enum Request {
    Register(Vec<NativeTool>),
    Unregister(Vec<String>),
    Leave,
    Close(u16),
}

/// What the bridge acknowledged.
pub(super) enum Answer {
    Registered(Registered),
    Unregistered(Unregistered),
}

/// What a handler came to.
type Finished = (CallId, Result<Value, String>);

/// The socket, and the calls that run.
pub(super) struct Connection {
    socket: Socket,
    request: mpsc::Receiver<Request>,
    call: mpsc::UnboundedSender<CallId>,
    cancel: mpsc::UnboundedSender<(CallId, ErrorCode)>,
    answer: mpsc::UnboundedSender<Answer>,
    tools: HashMap<String, Handler>,
    running: HashMap<CallId, AbortHandle>,
    finished: (
        mpsc::UnboundedSender<Finished>,
        mpsc::UnboundedReceiver<Finished>,
    ),
}

impl Connection {
    pub(super) fn new(
        socket: Socket,
        request: mpsc::Receiver<Request>,
        call: mpsc::UnboundedSender<CallId>,
        cancel: mpsc::UnboundedSender<(CallId, ErrorCode)>,
        answer: mpsc::UnboundedSender<Answer>,
    ) -> Self {
        Self {
            socket,
            request,
            call,
            cancel,
            answer,
            tools: HashMap::new(),
            running: HashMap::new(),
            finished: mpsc::unbounded_channel(),
        }
    }

    /// Returns the close code that the bridge sent, if any.
    pub(super) async fn run(mut self) -> Option<u16> {
        loop {
            tokio::select! {
                frame = self.socket.next() => match frame {
                    Some(Ok(Message::Text(text))) => self.received(&text).await,
                    Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                },
                Some(request) = self.request.recv() => self.requested(request).await,
                Some((id, outcome)) = self.finished.1.recv() => self.finished(id, outcome).await,
            }
        }
    }

    async fn received(&mut self, text: &str) {
        match BridgeToPage::decode(text).unwrap() {
            BridgeToPage::ToolCall(call) => self.called(call).await,
            BridgeToPage::ToolCancel(cancel) => {
                if let Some(handler) = self.running.remove(&cancel.request_id) {
                    handler.abort();
                }
                let _ = self.cancel.send((cancel.request_id, cancel.code));
            }
            BridgeToPage::Heartbeat(Heartbeat { sequence }) => {
                self.send(PageToBridge::HeartbeatAck(Heartbeat { sequence }))
                    .await;
            }
            BridgeToPage::Registered(answer) => {
                let _ = self.answer.send(Answer::Registered(answer));
            }
            BridgeToPage::Unregistered(answer) => {
                let _ = self.answer.send(Answer::Unregistered(answer));
            }
            _ => {}
        }
    }

    async fn called(&mut self, call: ToolCall) {
        let id = call.request_id;
        self.send(PageToBridge::ToolReceived(ToolReceived {
            request_id: id.clone(),
        }))
        .await;
        let _ = self.call.send(id.clone());
        let Some(handler) = self.tools.get(&call.tool_name) else {
            let outcome = Err(format!("no tool {}", call.tool_name));
            return self.finished(id, outcome).await;
        };
        let work = handler(serde_json::from_str(call.tool_input.get()).unwrap());
        let (finished, key) = (self.finished.0.clone(), id.clone());
        let task = tokio::spawn(async move {
            let _ = finished.send((id, work.await));
        });
        self.running.insert(key, task.abort_handle());
    }

    async fn finished(&mut self, request_id: CallId, outcome: Result<Value, String>) {
        self.running.remove(&request_id);
        self.send(match outcome {
            Ok(result) => PageToBridge::ToolResponse(ToolResponse {
                request_id,
                result: Some(raw(&result)),
            }),
            Err(message) => PageToBridge::ToolError(ToolError {
                request_id,
                code: ErrorCode::ToolFailed,
                message,
                data: None,
            }),
        })
        .await;
    }

    async fn requested(&mut self, request: Request) {
        match request {
            Request::Register(tools) => {
                let definitions = tools.iter().map(|tool| raw(&tool.definition)).collect();
                for tool in tools {
                    self.tools.insert(tool.name(), tool.handler);
                }
                self.send(PageToBridge::RegisterTools(RegisterTools {
                    registration_id: RegistrationId::from("register"),
                    tools: definitions,
                }))
                .await;
            }
            Request::Unregister(names) => {
                self.send(PageToBridge::UnregisterTools(UnregisterTools {
                    registration_id: RegistrationId::from("unregister"),
                    names,
                }))
                .await;
            }
            Request::Leave => self.send(PageToBridge::Leaving {}).await,
            Request::Close(code) => {
                let frame = CloseFrame {
                    code: code.into(),
                    reason: "".into(),
                };
                let _ = self.socket.close(Some(frame)).await;
            }
        }
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

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("a value is JSON")
}
