//! A page without a browser: the page protocol, spoken from Rust.

use std::collections::HashMap;
use std::sync::Arc;

use bridge_protocol::{
    App, Authenticate, BridgeToPage, CallId, ErrorCode, Heartbeat, PageToBridge, RegisterTools,
    Registered, RegistrationId, ToolCall, ToolError, ToolReceived, ToolResponse, UnregisterTools,
    Unregistered,
};
use futures_util::future::BoxFuture;
use futures_util::{SinkExt, StreamExt};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::{World, within};

type Handler = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A tool and the closure that answers its calls.
#[derive(Clone)]
pub struct NativeTool {
    definition: Value,
    handler: Handler,
}

impl NativeTool {
    /// A tool that takes any object. An `Err` of the handler is a handler that threw.
    pub fn new<F>(name: &str, handler: impl Fn(Value) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let definition = json!({
            "name": name,
            "description": format!("The tool {name} of a native page"),
            "inputSchema": { "type": "object" },
        });
        Self {
            definition,
            handler: Arc::new(move |input| Box::pin(handler(input))),
        }
    }

    /// Answers with the arguments.
    pub fn echo() -> Self {
        Self::new("echo", async |input| Ok(input))
    }

    /// Never answers.
    pub fn hang() -> Self {
        Self::new("hang", |_| std::future::pending())
    }

    fn name(&self) -> String {
        self.definition["name"].as_str().unwrap().to_owned()
    }
}

/// A connected page. Dropping it cuts its connection as a crash of the machine would.
pub struct NativePage {
    requests: mpsc::Sender<Request>,
    calls: Mutex<mpsc::UnboundedReceiver<CallId>>,
    cancels: Mutex<mpsc::UnboundedReceiver<(CallId, ErrorCode)>>,
    answers: Mutex<mpsc::UnboundedReceiver<Answer>>,
    connection: JoinHandle<Option<u16>>,
}

enum Request {
    Register(Vec<NativeTool>),
    Unregister(Vec<String>),
    Leave,
    Close(u16),
}

enum Answer {
    Registered(Registered),
    Unregistered(Unregistered),
}

impl NativePage {
    /// Connects, authenticates with the world's token and registers `tools`.
    pub async fn open(world: &World, session: &str, tools: Vec<NativeTool>) -> Self {
        let url = world.page_url(session);
        let (mut socket, _) = within("the page socket", connect_async(url)).await.unwrap();
        let hello = PageToBridge::Authenticate(credentials(world, session));
        socket.send(Message::text(hello.encode())).await.unwrap();
        let answer = within("`authenticated`", socket.next()).await;
        let answer = answer.expect("an answer").unwrap().into_text().unwrap();
        let answer = BridgeToPage::decode(&answer).unwrap();
        assert!(
            matches!(answer, BridgeToPage::Authenticated(_)),
            "the bridge answered {answer:?}"
        );

        let (requests, request) = mpsc::channel(16);
        let (call, calls) = mpsc::unbounded_channel();
        let (cancel, cancels) = mpsc::unbounded_channel();
        let (answer, answers) = mpsc::unbounded_channel();
        let connection = Connection {
            socket,
            request,
            call,
            cancel,
            answer,
            tools: HashMap::new(),
            running: HashMap::new(),
            finished: mpsc::unbounded_channel(),
        };
        let page = Self {
            requests,
            calls: Mutex::new(calls),
            cancels: Mutex::new(cancels),
            answers: Mutex::new(answers),
            connection: tokio::spawn(connection.run()),
        };
        let registered = page.register(tools).await;
        assert_eq!(registered.errors, [], "every tool is accepted");
        page
    }

    /// Registers tools and waits for the acknowledgement.
    pub async fn register(&self, tools: Vec<NativeTool>) -> Registered {
        self.request(Request::Register(tools)).await;
        match self.answer().await {
            Answer::Registered(answer) => answer,
            Answer::Unregistered(answer) => panic!("not an answer to `register-tools`: {answer:?}"),
        }
    }

    /// Removes tools and waits for the acknowledgement.
    pub async fn unregister(&self, names: &[&str]) -> Unregistered {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        self.request(Request::Unregister(names)).await;
        match self.answer().await {
            Answer::Unregistered(answer) => answer,
            Answer::Registered(answer) => panic!("not an answer to `unregister-tools`: {answer:?}"),
        }
    }

    /// The next call that reached the page.
    pub async fn called(&self) -> CallId {
        let mut calls = self.calls.lock().await;
        within("a call to reach the page", calls.recv())
            .await
            .expect("the page is connected")
    }

    /// The next call that the bridge cancelled, and why.
    pub async fn cancelled(&self) -> (CallId, ErrorCode) {
        let mut cancels = self.cancels.lock().await;
        within("a call to be cancelled", cancels.recv())
            .await
            .expect("the page is connected")
    }

    /// Says `leaving`, as a document does that goes away, and stays connected.
    pub async fn leave(&self) {
        self.request(Request::Leave).await;
    }

    /// Closes the socket with `code` and waits until it is closed.
    pub async fn close(mut self, code: u16) {
        self.request(Request::Close(code)).await;
        let _ = within("the page socket to close", &mut self.connection).await;
    }

    /// Ends the TCP connection without a close frame: the other side sees 1006.
    pub fn cut(self) {}

    /// Waits until the bridge closes the socket and returns its code, if it sent one.
    pub async fn closed(mut self) -> Option<u16> {
        within("the bridge to close the page socket", &mut self.connection)
            .await
            .expect("the connection does not panic")
    }

    async fn request(&self, request: Request) {
        let sent = self.requests.send(request).await;
        assert!(sent.is_ok(), "the page socket is closed");
    }

    async fn answer(&self) -> Answer {
        let mut answers = self.answers.lock().await;
        within("an acknowledgement of the bridge", answers.recv())
            .await
            .expect("the page is connected")
    }
}

impl Drop for NativePage {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

fn credentials(world: &World, session: &str) -> Authenticate {
    Authenticate {
        protocol: Some(bridge_protocol::PROTOCOL_VERSION),
        auth_token: Some(world.token().to_owned()),
        session_id: Some(session.into()),
        session_name: None,
        origin: None,
        page_title: Some("Native page".to_owned()),
        user_agent: None,
        app: Some(App {
            name: "Native page".to_owned(),
            description: None,
            version: None,
            icon: None,
        }),
        timestamp: None,
    }
}

/// What a handler came to.
type Finished = (CallId, Result<Value, String>);

/// The task that owns the socket.
struct Connection {
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
    /// Returns the close code that the bridge sent, if any.
    async fn run(mut self) -> Option<u16> {
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
                    code: CloseCode::from(code),
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
