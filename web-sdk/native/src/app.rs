//! The connection of a program to a bridge, and the items that the program offers.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use web_sdk_core::Item;

use crate::call::Call;
use crate::completion::Completers;
use crate::connection::{Connection, Setup, Warn, disconnected};
use crate::definition::{Handler, NewDefinition, Registration};
use crate::error::CallError;
use crate::events::{Event, EventSender};
use crate::handle::Handle;
use crate::program_info::ProgramInfo;
use crate::prompt::{self, Message, Prompt};
use crate::resource::{self, ReadRequest, Resource, ResourceContent, ResourceTemplate};
use crate::status::{ConnectError, Status};
use crate::tool::{self, Tool, ToolOutput};
use crate::{json, token};

/// The connection of a program to a bridge, and the items that it offers. It is cheap to clone.
///
/// Items are offered again after a reconnect. The connection ends when the last clone is dropped; a
/// handler that owns a clone keeps it open. A program should disconnect before it exits, so that AI
/// clients see immediately that it is gone: [`McpWeb::disconnect`].
#[derive(Clone)]
pub struct McpWeb(Arc<Inner>);

struct Inner {
    program: ProgramInfo,
    token: token::Token,
    events: EventSender,
    status: watch::Receiver<Status>,
    subscriptions: watch::Receiver<Vec<String>>,
    keys: AtomicU32,
    /// The task, until it is started.
    task: Mutex<Option<Connection>>,
    leaving: watch::Sender<bool>,
    /// The task ends when this is dropped.
    _handle: watch::Sender<()>,
}

impl McpWeb {
    pub(crate) fn new(program: ProgramInfo, token: token::Token, warn: Warn) -> Self {
        let (events, receiver) = EventSender::new();
        let (status, status_receiver) = watch::channel(Status::Idle);
        let (subscriptions, subscriptions_receiver) = watch::channel(Vec::new());
        let (handle, handles) = watch::channel(());
        let (leaving, leaving_receiver) = watch::channel(false);
        let setup = Setup {
            page: program.page(matches!(token.0, token::Source::Fetched(_))),
            socket_url: program.socket_url(),
            token: token.clone(),
            events: events.clone(),
            receiver,
            status,
            subscriptions,
            reports: Default::default(),
            warn,
            leaving: leaving_receiver,
            handles,
        };
        Self(Arc::new(Inner {
            program,
            token,
            events,
            status: status_receiver,
            subscriptions: subscriptions_receiver,
            keys: AtomicU32::new(0),
            task: Mutex::new(Some(Connection::new(setup))),
            leaving,
            _handle: handle,
        }))
    }

    /// Offers a tool to AI clients. The same name again replaces the tool.
    ///
    /// The handler receives the arguments as its own type, and their JSON Schema is derived from
    /// the type. The bridge validates the arguments of each call against it. Handlers of several
    /// calls run concurrently.
    ///
    /// ```
    /// # use mcp_web_sdk::{Call, McpWeb, Token, Tool};
    /// # use schemars::JsonSchema;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Area {
    ///     /// In metres.
    ///     width: f64,
    ///     height: f64,
    /// }
    /// #[derive(Serialize, JsonSchema)]
    /// struct Result {
    ///     square_metres: f64,
    /// }
    /// # let app = McpWeb::builder("Geometry").token(Token::random()).build().unwrap();
    /// app.add_tool(
    ///     Tool::new("area").describe("The area of a rectangle").read_only(),
    ///     |area: Area, _call: Call| async move {
    ///         Ok(Result { square_metres: area.width * area.height })
    ///     },
    /// );
    /// ```
    pub fn add_tool<I, O, Fut>(
        &self,
        tool: Tool,
        handler: impl Fn(I, Call) -> Fut + Send + Sync + 'static,
    ) -> Handle
    where
        I: DeserializeOwned + JsonSchema,
        O: ToolOutput,
        Fut: Future<Output = Result<O, CallError>> + Send + 'static,
    {
        let (item, definition, repeatable) = tool.into_definition::<I, O>();
        self.add(item, &definition, repeatable, tool::handler(handler))
    }

    /// Offers a prompt: messages that a person chooses to send. The same name again replaces it.
    ///
    /// ```
    /// # use mcp_web_sdk::{McpWeb, Message, Prompt, Token};
    /// # let app = McpWeb::builder("Board").token(Token::random()).build().unwrap();
    /// app.add_prompt(
    ///     Prompt::new("review").required("card", "The title of the card"),
    ///     |arguments, _call| async move {
    ///         let card = &arguments["card"];
    ///         Ok(vec![Message::user(format!("Review the card \"{card}\""))])
    ///     },
    /// );
    /// ```
    pub fn add_prompt<Fut>(
        &self,
        prompt: Prompt,
        get: impl Fn(BTreeMap<String, String>, Call) -> Fut + Send + Sync + 'static,
    ) -> Handle
    where
        Fut: Future<Output = Result<Vec<Message>, CallError>> + Send + 'static,
    {
        let (item, definition, completers) = prompt.into_parts();
        self.add(item, &definition, true, prompt::handler(get, completers))
    }

    /// Offers a resource that clients can read. The same URI again replaces it.
    ///
    /// ```
    /// # use mcp_web_sdk::{McpWeb, Resource, Token};
    /// # let app = McpWeb::builder("Notes").token(Token::random()).build().unwrap();
    /// let notes = app.add_resource(
    ///     Resource::new("notes://all", "all").mime_type("text/plain"),
    ///     |_request, _call| async move { Ok("every note") },
    /// );
    /// notes.notify_updated();
    /// ```
    pub fn add_resource<Content, Fut>(
        &self,
        resource: Resource,
        read: impl Fn(ReadRequest, Call) -> Fut + Send + Sync + 'static,
    ) -> Handle
    where
        Content: Into<ResourceContent>,
        Fut: Future<Output = Result<Content, CallError>> + Send + 'static,
    {
        let (item, definition) = resource.into_definition();
        let handler = resource::handler(read, mime_type(&definition), Completers::default());
        self.add(item, &definition, true, handler)
    }

    /// Offers all resources whose URIs fit a template. The same template again replaces it.
    pub fn add_resource_template<Content, Fut>(
        &self,
        template: ResourceTemplate,
        read: impl Fn(ReadRequest, Call) -> Fut + Send + Sync + 'static,
    ) -> Handle
    where
        Content: Into<ResourceContent>,
        Fut: Future<Output = Result<Content, CallError>> + Send + 'static,
    {
        let (item, definition, completers) = template.into_parts();
        let handler = resource::handler(read, mime_type(&definition), completers);
        self.add(item, &definition, true, handler)
    }

    fn add(&self, item: Item, definition: &Value, repeatable: bool, handler: Handler) -> Handle {
        let key = self.0.keys.fetch_add(1, Ordering::Relaxed);
        let (registration, receiver) = watch::channel(Registration::Pending);
        let name = item.name.clone();
        self.send(Event::Added(NewDefinition {
            key,
            item,
            json: json::sized(definition),
            repeatable,
            handler,
            registration,
        }));
        Handle::new(key, name, self.0.events.clone(), receiver)
    }

    /// Notifies subscribed clients that the content of a resource has changed.
    pub fn notify_resource_updated(&self, uri: impl Into<String>) {
        self.send(Event::ResourceUpdated(uri.into()));
    }

    /// Connects, and waits until the connection is established. The connection runs in the runtime
    /// in which this is first called; it reconnects automatically.
    ///
    /// # Errors
    /// Fails if the connection fails permanently: the bridge rejects the token, another program has
    /// taken over the session, or the program has disconnected. While no bridge answers, this keeps
    /// waiting.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime. Use [`McpWeb::spawn`] there.
    pub async fn connect(&self) -> Result<(), ConnectError> {
        self.start();
        let mut status = self.0.status.clone();
        if status.has_changed().is_err() {
            return Err(disconnected());
        }
        status.mark_unchanged();
        self.send(Event::Connect);
        let is_connected = |status: &Status| *status == Status::Connected;
        if is_connected(&status.borrow()) {
            return Ok(());
        }
        loop {
            if status.changed().await.is_err() {
                return Err(disconnected());
            }
            match &*status.borrow_and_update() {
                Status::Connected => return Ok(()),
                Status::Failed(error) => return Err(error.clone()),
                Status::Disconnected => return Err(disconnected()),
                Status::Idle | Status::Connecting | Status::Reconnecting { .. } => {}
            }
        }
    }

    /// Connects in a separate thread, for programs without a tokio runtime. All handlers run in
    /// that thread, so only one runs between two `await` points. The thread ends with the last
    /// clone of this.
    ///
    /// # Errors
    /// Fails if the thread cannot be started, or the connection is already running.
    pub fn spawn(&self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let Some(connection) = self.take_task() else {
            return Err(io::Error::other("the connection runs already"));
        };
        self.send(Event::Connect);
        std::thread::Builder::new()
            .name("mcp-web".to_owned())
            .spawn(move || runtime.block_on(connection.run()))?;
        Ok(())
    }

    /// Ends the connection and its calls, and waits until the bridge has been notified, at most 4
    /// s. The added items stay, and are offered again after another [`McpWeb::connect`].
    pub async fn disconnect(&self) {
        let (sender, done) = oneshot::channel();
        if self.is_started() {
            self.send(Event::Disconnect(sender));
            let _ = done.await;
        }
    }

    /// Ends the connection like [`McpWeb::disconnect`], for programs without a tokio runtime.
    ///
    /// # Panics
    /// Panics in a task of a tokio runtime.
    pub fn blocking_disconnect(&self) {
        let (sender, done) = oneshot::channel();
        if self.is_started() {
            self.send(Event::Disconnect(sender));
            let _ = done.blocking_recv();
        }
    }

    /// Leaves the session to another process, such as a newer version of the program with the same
    /// session id. That process continues the calls that [`Call::hand_over`] has armed; the others
    /// end. Waits until the bridge has been notified, at most 4 s. This object does not connect
    /// again.
    pub async fn leave(&self) {
        // A task that was never started ends here.
        if self.take_task().is_none() {
            self.0.leaving.send_replace(true);
            let mut status = self.0.status.clone();
            while status.changed().await.is_ok() {}
        }
    }

    /// Pauses the connection's task, for tests.
    #[cfg(feature = "faults")]
    pub fn inject_fault(&self, fault: crate::Fault) {
        self.send(Event::Fault(fault));
    }

    /// Returns the state of the connection, as a channel of its changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.0.status.clone()
    }

    /// Returns the URIs that AI clients are subscribed to, as a channel of their changes.
    pub fn subscriptions(&self) -> watch::Receiver<Vec<String>> {
        self.0.subscriptions.clone()
    }

    /// Returns the id of the session.
    pub fn session_id(&self) -> &str {
        &self.0.program.session_id
    }

    /// Returns the address of the MCP server, for the configuration of AI clients.
    pub fn mcp_url(&self) -> String {
        self.0.program.mcp_url()
    }

    /// Returns the token, for the configuration of AI clients.
    pub fn token(&self) -> &token::Token {
        &self.0.token
    }

    pub(crate) fn send(&self, event: Event) {
        self.0.events.send(event);
    }

    fn start(&self) {
        // This panics outside of a runtime, before the task is taken.
        let runtime = tokio::runtime::Handle::current();
        if let Some(connection) = self.take_task() {
            runtime.spawn(connection.run());
        }
    }

    fn is_started(&self) -> bool {
        let task = self.0.task.lock();
        task.unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn take_task(&self) -> Option<Connection> {
        let task = self.0.task.lock();
        task.unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn mime_type(definition: &Value) -> Option<String> {
    definition["mimeType"].as_str().map(str::to_owned)
}

impl fmt::Debug for McpWeb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0.status.borrow();
        f.debug_struct("McpWeb")
            .field("session_id", &self.session_id())
            .field("status", &*status)
            .finish_non_exhaustive()
    }
}
