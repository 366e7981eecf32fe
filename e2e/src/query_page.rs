//! A page that sends queries to the agent, which programs of the crate `mcp-web-sdk` do not do. It serves
//! the tools that the model calls meanwhile.

use std::sync::Arc;
use std::time::Instant;

use bridge_protocol::{
    BridgeToPage, CallError, CallId, CallReceived, Definition, ErrorCode, Kind, PageToBridge,
    Query, QueryCancel, QueryId, Register, Registered, RegistrationId, ToolCall,
};
use futures_util::future::BoxFuture;
use raw_page::{Page, call_input, call_response, raw_json};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinHandle, JoinSet};

use crate::{TestBed, with_deadline};

type Handler = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// A tool of a [`QueryPage`].
#[derive(Clone)]
pub struct PageTool {
    definition: Value,
    handler: Handler,
}

impl PageTool {
    /// Creates a tool that accepts any object, and a handler that gets its arguments.
    pub fn new<F>(name: &str, handler: impl Fn(Value) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        Self {
            definition: json!({ "name": name, "description": format!("The tool {name} of a page"),
                "inputSchema": { "type": "object" } }),
            handler: Arc::new(move |input| Box::pin(handler(input))),
        }
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.definition["inputSchema"] = schema;
        self
    }

    /// Creates a tool that returns its arguments.
    pub fn echo() -> Self {
        Self::new("echo", async |input| Ok(input))
    }

    /// Creates a tool that never answers.
    pub fn hang() -> Self {
        Self::new("hang", |_| std::future::pending())
    }
}

/// A connected page. If it is dropped, its connection breaks as if the machine had crashed.
pub struct QueryPage {
    requests: mpsc::Sender<PageToBridge>,
    /// Messages about queries, with the time of their arrival.
    query_messages: Mutex<mpsc::UnboundedReceiver<(Instant, BridgeToPage)>>,
    /// Calls and their cancellations.
    call_messages: Mutex<mpsc::UnboundedReceiver<BridgeToPage>>,
    registrations: Mutex<mpsc::UnboundedReceiver<Registered>>,
    serving: JoinHandle<Page>,
}

impl QueryPage {
    /// Connects a page with these tools.
    pub async fn open(bed: &TestBed, session: &str, tools: Vec<PageTool>) -> Self {
        let mut page = Page::connect_to(bed.address(), session, bed.token()).await;
        let definitions: Vec<_> = tools.iter().map(|tool| tool.definition.clone()).collect();
        let registered = page.register(&definitions).await;
        assert_eq!(registered.errors, [], "every definition is accepted");
        let (requests, outgoing) = mpsc::channel(16);
        let (query_sender, query_messages) = mpsc::unbounded_channel();
        let (call_sender, call_messages) = mpsc::unbounded_channel();
        let (registration_sender, registrations) = mpsc::unbounded_channel();
        let server = Server {
            page,
            tools,
            outgoing,
            query_messages: query_sender,
            call_messages: call_sender,
            registrations: registration_sender,
            running: JoinSet::new(),
        };
        Self {
            requests,
            query_messages: Mutex::new(query_messages),
            call_messages: Mutex::new(call_messages),
            registrations: Mutex::new(registrations),
            serving: tokio::spawn(server.run()),
        }
    }

    /// Sends a message.
    pub async fn send(&self, message: PageToBridge) {
        let sent = self.requests.send(message).await;
        assert!(sent.is_ok(), "the page socket is closed");
    }

    /// Sends a query to the agent.
    pub async fn send_query(&self, query: Query) {
        self.send(PageToBridge::Query(Box::new(query))).await;
    }

    /// Registers a further tool without a handler, and waits until clients can see it.
    pub async fn register(&self, tool: &PageTool) {
        let definition = raw_json(&tool.definition);
        let kind = Kind::Tool;
        self.send(PageToBridge::Register(Register {
            registration_id: RegistrationId::from("further"),
            items: vec![Definition { kind, definition }],
        }))
        .await;
        let mut registrations = self.registrations.lock().await;
        let registered = with_deadline("the registration", registrations.recv()).await;
        assert_eq!(registered.expect("the page is connected").errors, []);
    }

    /// Cancels a query.
    pub async fn cancel_query(&self, query: &QueryId) {
        let uuid = query.clone();
        let reason = Some("enough".to_owned());
        self.send(PageToBridge::QueryCancel(QueryCancel { uuid, reason }))
            .await;
    }

    /// Waits for the next message about any of the page's queries, and returns when it arrived.
    pub async fn next_query_message(&self) -> (Instant, BridgeToPage) {
        let mut messages = self.query_messages.lock().await;
        with_deadline("a message about a query", messages.recv())
            .await
            .expect("the page is connected")
    }

    /// Returns the next message about any of the page's queries that has already arrived.
    pub async fn try_next_query_message(&self) -> Option<(Instant, BridgeToPage)> {
        self.query_messages.lock().await.try_recv().ok()
    }

    /// Waits for the next call that reaches the page.
    pub async fn next_call(&self) -> CallId {
        match self.next_call_message().await {
            BridgeToPage::ToolCall(call) => call.request_id,
            other => panic!("expected a call, got {other:?}"),
        }
    }

    /// Waits for the next call that the bridge cancels.
    pub async fn next_cancel(&self) -> CallId {
        match self.next_call_message().await {
            BridgeToPage::CallCancel(cancel) => cancel.request_id,
            other => panic!("expected a cancellation, got {other:?}"),
        }
    }

    async fn next_call_message(&self) -> BridgeToPage {
        let mut messages = self.call_messages.lock().await;
        with_deadline("a message about a call", messages.recv())
            .await
            .expect("the page is connected")
    }

    /// Closes the socket as a browser does for a closed document.
    pub async fn close(self) {
        self.into_page().await.close().await;
    }

    /// Breaks the connection without a close frame.
    pub async fn cut(self) {
        drop(self.into_page().await);
    }

    async fn into_page(self) -> Page {
        drop(self.requests);
        self.serving.await.expect("the page does not panic")
    }
}

/// The task that owns the socket of a page.
struct Server {
    page: Page,
    tools: Vec<PageTool>,
    outgoing: mpsc::Receiver<PageToBridge>,
    query_messages: mpsc::UnboundedSender<(Instant, BridgeToPage)>,
    call_messages: mpsc::UnboundedSender<BridgeToPage>,
    registrations: mpsc::UnboundedSender<Registered>,
    /// The handlers of calls, which return the answers.
    running: JoinSet<PageToBridge>,
}

impl Server {
    /// Runs until the connection has ended, or the test ends it.
    async fn run(mut self) -> Page {
        loop {
            tokio::select! {
                message = self.page.recv_without_deadline() => match message {
                    Some(message) => self.on_message(message).await,
                    None => return self.page,
                },
                Some(answer) = self.running.join_next() => {
                    self.send(&answer.expect("no handler panics")).await;
                }
                message = self.outgoing.recv() => match message {
                    Some(message) => self.send(&message).await,
                    None => return self.page,
                },
            }
        }
    }

    async fn on_message(&mut self, message: BridgeToPage) {
        match &message {
            BridgeToPage::ToolCall(call) => {
                let request_id = call.request_id.clone();
                self.send(&PageToBridge::CallReceived(CallReceived { request_id }))
                    .await;
                self.start(call);
                let _ = self.call_messages.send(message);
            }
            BridgeToPage::CallCancel(_) => {
                let _ = self.call_messages.send(message);
            }
            BridgeToPage::QueryAccepted(_)
            | BridgeToPage::QueryProgress(_)
            | BridgeToPage::QueryComplete(_)
            | BridgeToPage::QueryFailure(_)
            | BridgeToPage::QueryCancel(_) => {
                let _ = self.query_messages.send((Instant::now(), message));
            }
            BridgeToPage::Registered(registered) => {
                let _ = self.registrations.send(registered.clone());
            }
            _ => {}
        }
    }

    /// Starts the handler of a call. The bridge ignores the answer to a call that it has cancelled.
    fn start(&mut self, call: &ToolCall) {
        let mut tools = self.tools.iter();
        let tool = tools.find(|tool| tool.definition["name"] == call.tool_name);
        let outcome = (tool.expect("the tool is registered").handler)(call_input(call));
        let request_id = call.request_id.clone();
        self.running.spawn(async move {
            match outcome.await {
                Ok(result) => call_response(&request_id, raw_json(&result)),
                Err(message) => PageToBridge::CallError(CallError {
                    request_id,
                    code: ErrorCode::HandlerFailed,
                    message,
                    data: None,
                    content: None,
                    meta: None,
                }),
            }
        });
    }

    async fn send(&mut self, message: &PageToBridge) {
        // If the connection has ended, the next read notices it.
        let _ = self.page.send_split(message).await;
    }
}
