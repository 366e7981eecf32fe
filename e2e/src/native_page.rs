//! A page without a browser: the page protocol, spoken from Rust.

mod connection;

use std::sync::Arc;

use bridge_protocol::{
    App, Authenticate, BridgeToPage, CallId, ErrorCode, PageToBridge, Registered, Unregistered,
};
use futures_util::future::BoxFuture;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use self::connection::{Answer, Connection, Request};
use crate::{World, within};

type Handler = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

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
        let connection = Connection::new(socket, request, call, cancel, answer);
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
