//! rmcp's client over either transport, in either era.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
    ClientRequest, Implementation, ProtocolVersion, ReadResourceRequestParams, ServerNotification,
    ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RequestHandle, RunningService, ServiceError,
};
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::connect::{connect, server_config};
use crate::{BridgeEndpoint, Era, Transport, with_deadline};

/// A connected AI client that notices when the list of tools changes.
pub struct McpClient {
    service: RunningService<RoleClient, ListChangeHandler>,
    changes: watch::Receiver<u64>,
    subscription: Option<JoinHandle<()>>,
}

impl McpClient {
    /// Connects to `bed` and, in the era that requires it, subscribes to changes.
    pub async fn connect(bed: &impl BridgeEndpoint, transport: Transport, era: Era) -> Self {
        Self::from_config(&server_config(bed, transport), era).await
    }

    /// Connects with a client that reads messages of up to `max_message_bytes`; by default, rmcp
    /// drops those over 16 MiB.
    pub async fn connect_with_limit(
        bed: &impl BridgeEndpoint,
        transport: Transport,
        era: Era,
        max_message_bytes: usize,
    ) -> Self {
        let mut server = server_config(bed, transport);
        server["maxMessageBytes"] = max_message_bytes.into();
        Self::from_config(&server, era).await
    }

    /// Connects like an AI client with `server` in its configuration: `url` and `headers`, or
    /// `command`, `args` and `env`, where the command is a program of this workspace.
    pub async fn from_config(server: &Value, era: Era) -> Self {
        let (change_counter, changes) = watch::channel(0);
        let listener = ListChangeHandler {
            change_counter: change_counter.clone(),
        };
        let service = connect(listener, server, era).await;
        let subscription = match era {
            Era::Initialize => None,
            Era::Discover => Some(subscribe(service.peer().clone(), change_counter).await),
        };
        Self {
            service,
            changes,
            subscription,
        }
    }

    /// Returns the names in `tools/list`.
    pub async fn tools(&self) -> Vec<String> {
        let tools = with_deadline("tools/list", self.service.list_all_tools()).await;
        let tools = tools.unwrap_or_else(|error| panic!("tools/list: {error}"));
        tools.into_iter().map(|tool| tool.name.into()).collect()
    }

    /// Returns the URIs in `resources/list`.
    pub async fn resources(&self) -> Vec<String> {
        let resources = with_deadline("resources/list", self.service.list_all_resources()).await;
        let resources = resources.unwrap_or_else(|error| panic!("resources/list: {error}"));
        resources.into_iter().map(|it| it.uri).collect()
    }

    /// Returns the result of `resources/read`.
    pub async fn read(&self, uri: &str) -> Value {
        let params = ReadResourceRequestParams::new(uri);
        let read = with_deadline("resources/read", self.service.read_resource(params)).await;
        let result = read.unwrap_or_else(|error| panic!("{uri}: {error}"));
        serde_json::to_value(result).unwrap()
    }

    /// Waits until `tools/list` fulfils `condition`. The list is read again only after a
    /// notification that it has changed.
    pub async fn wait_for_tools(
        &mut self,
        what: &str,
        condition: impl Fn(&[String]) -> bool,
    ) -> Vec<String> {
        loop {
            self.changes.mark_unchanged();
            let tools = self.tools().await;
            if condition(&tools) {
                return tools;
            }
            let what = format!("list_changed, so that {what}; the list was {tools:?}");
            with_deadline(what, self.changes.changed())
                .await
                .expect("the handler is alive");
        }
    }

    /// Returns the input schemas in `tools/list`.
    pub async fn input_schemas(&self) -> Vec<Value> {
        let tools = with_deadline("tools/list", self.service.list_all_tools()).await;
        let tools = tools.unwrap_or_else(|error| panic!("tools/list: {error}"));
        let schemas = tools.into_iter().map(|tool| tool.schema_as_json_value());
        schemas.collect()
    }

    /// Waits until the description of a tool contains a text. The list is read again only after a
    /// notification that it has changed.
    pub async fn wait_for_description(&mut self, tool: &str, part: &str) {
        loop {
            self.changes.mark_unchanged();
            let tools = with_deadline("tools/list", self.service.list_all_tools()).await;
            let tools = tools.unwrap_or_else(|error| panic!("tools/list: {error}"));
            let found = tools.into_iter().find(|it| it.name == tool);
            let description = found.and_then(|tool| tool.description).unwrap_or_default();
            if description.contains(part) {
                return;
            }
            let what = format!("the description of {tool} to contain {part:?}: {description}");
            with_deadline(what, self.changes.changed())
                .await
                .expect("the handler is alive");
        }
    }

    /// Returns how many times the client was notified that the list had changed.
    pub fn changes(&self) -> u64 {
        *self.changes.borrow()
    }

    /// Waits until the client has been notified of more than `seen` changes.
    pub async fn wait_for_change(&mut self, seen: u64) {
        with_deadline("list_changed", self.changes.wait_for(|&count| count > seen))
            .await
            .expect("the handler is alive");
    }

    /// Disconnects; over stdio, this closes the child's standard input.
    pub async fn close(mut self) {
        let closed = with_deadline("the client to close", self.service.close()).await;
        closed.expect("the client does not panic");
    }

    /// Calls a tool and waits for its result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        self.start_call(tool, arguments).await.result().await
    }

    /// Calls a tool of a bridge that may be gone, and waits for any outcome.
    pub(crate) async fn try_call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let mut parameters = CallToolRequestParams::new(tool.to_owned());
        parameters.arguments = arguments.as_object().cloned();
        self.service.call_tool(parameters).await
    }

    /// Sends a call.
    pub async fn start_call(&self, tool: &str, arguments: Value) -> InFlightCall {
        InFlightCall::start(&self.service, tool, arguments).await
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        if let Some(subscription) = &self.subscription {
            subscription.abort();
        }
    }
}

/// A call that was sent and may not have ended.
pub struct InFlightCall {
    handle: RequestHandle<RoleClient>,
}

impl InFlightCall {
    pub(super) async fn start(peer: &Peer<RoleClient>, tool: &str, arguments: Value) -> Self {
        let mut parameters = CallToolRequestParams::new(tool.to_owned());
        parameters.arguments = arguments.as_object().cloned();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(parameters));
        let handle = peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await;
        Self {
            handle: handle.unwrap_or_else(|error| panic!("the call of {tool}: {error}")),
        }
    }

    /// Waits for the result.
    pub async fn result(self) -> Result<CallToolResult, ServiceError> {
        match with_deadline("the result of a call", self.handle.await_response()).await? {
            ServerResult::CallToolResult(result) => Ok(result),
            other => panic!("not the result of a call: {other:?}"),
        }
    }

    /// Waits until the server requests input of the client (MCP 2026-07-28).
    pub async fn input_required(self) {
        match with_deadline("the first round of a call", self.handle.await_response()).await {
            Ok(ServerResult::InputRequiredResult(_)) => {}
            other => panic!("not a round of a call: {other:?}"),
        }
    }

    /// Cancels the call as era and transport require: with `notifications/cancelled` or, over HTTP
    /// in 2026-07-28, by closing the request's stream.
    pub async fn cancel(self) {
        let cancelled = self.handle.cancel(Some("the user stopped it".to_owned()));
        with_deadline("the cancel to be sent", cancelled)
            .await
            .unwrap();
    }
}

#[derive(Clone)]
struct ListChangeHandler {
    change_counter: watch::Sender<u64>,
}

impl ClientHandler for ListChangeHandler {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.change_counter.send_modify(|count| *count += 1);
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("journeys", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

async fn subscribe(peer: Peer<RoleClient>, change_counter: watch::Sender<u64>) -> JoinHandle<()> {
    let subscription = listen(&peer).await;
    let mut subscription = subscription.unwrap_or_else(|error| panic!("listen: {error}"));
    tokio::spawn(async move {
        loop {
            match subscription.next().await {
                Ok(Some(ServerNotification::ToolListChangedNotification(_))) => {
                    change_counter.send_modify(|count| *count += 1);
                }
                Ok(Some(_)) => {}
                // The connection broke: subscribe again, and report a change that may have been
                // missed.
                Ok(None) | Err(_) => {
                    let Ok(next) = listen(&peer).await else {
                        return;
                    };
                    subscription = next;
                    change_counter.send_modify(|count| *count += 1);
                }
            }
        }
    })
}

async fn listen(peer: &Peer<RoleClient>) -> Result<rmcp::service::Subscription, ServiceError> {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    with_deadline("subscriptions/listen", peer.listen(filter)).await
}
