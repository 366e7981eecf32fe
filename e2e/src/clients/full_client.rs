//! An rmcp client that supports everything that a server may request, and records notifications.
#![allow(deprecated)] // rmcp deprecates sampling, roots and logging; clients and servers use them.

use std::collections::HashMap;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, GetPromptRequestParams, GetPromptResult, Implementation,
    ListRootsResult, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResult, RequestMetaObject,
    ResourceUpdatedNotificationParam, Root, SamplingMessage, ServerNotification,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService, ServiceError};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use super::InFlightCall;
use super::connect::{connect, server_config};
use crate::{BridgeEndpoint, Era, Transport, with_deadline};

/// An AI client whose user accepts every form with the name Ada, whose model answers hello, and
/// which has one root.
pub struct FullClient {
    service: RunningService<RoleClient, FullClientHandler>,
    events: Mutex<mpsc::UnboundedReceiver<ClientEvent>>,
    subscriptions: HashMap<String, JoinHandle<()>>,
    event_sender: mpsc::UnboundedSender<ClientEvent>,
    era: Era,
}

/// A request or notification that a client receives.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// A request that the client never answers, because its user or model does not decide.
    InputRequested,
    /// The progress of a call.
    Progress(f64),
    /// A log message of a call.
    Log(Value),
    /// The URI of a resource that has changed.
    Updated(String),
}

impl FullClient {
    /// Connects, and enables log messages of all levels.
    pub async fn connect(bed: &impl BridgeEndpoint, transport: Transport, era: Era) -> Self {
        Self::connect_with(bed, transport, era, true).await
    }

    /// Connects with a user and a model that never answer.
    pub async fn connect_undecided(
        bed: &impl BridgeEndpoint,
        transport: Transport,
        era: Era,
    ) -> Self {
        Self::connect_with(bed, transport, era, false).await
    }

    async fn connect_with(
        bed: &impl BridgeEndpoint,
        transport: Transport,
        era: Era,
        responds: bool,
    ) -> Self {
        let (event_sender, events) = mpsc::unbounded_channel();
        let handler = FullClientHandler {
            event_sender: event_sender.clone(),
            responds,
        };
        let service = connect(handler, &server_config(bed, transport), era).await;
        if era == Era::Initialize {
            let level = SetLevelRequestParams::new(LoggingLevel::Debug);
            with_deadline("logging/setLevel", service.set_level(level))
                .await
                .unwrap();
        }
        Self {
            service,
            events: Mutex::new(events),
            subscriptions: HashMap::new(),
            event_sender,
            era,
        }
    }

    /// Calls a tool and answers its requests.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let mut parameters = CallToolRequestParams::new(tool.to_owned());
        parameters.arguments = arguments.as_object().cloned();
        if self.era == Era::Discover {
            let mut meta = RequestMetaObject::default();
            meta.set_log_level(LoggingLevel::Debug);
            parameters.meta = Some(meta);
        }
        with_deadline("the result of a call", self.service.call_tool(parameters)).await
    }

    /// Sends a call without answering its requests in MCP 2026-07-28.
    pub async fn start_call(&self, tool: &str, arguments: Value) -> InFlightCall {
        InFlightCall::start(&self.service, tool, arguments).await
    }

    /// Gets a prompt and answers its requests.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<GetPromptResult, ServiceError> {
        let mut parameters = GetPromptRequestParams::new(name);
        parameters.arguments = arguments.as_object().cloned();
        with_deadline("a prompt", self.service.get_prompt(parameters)).await
    }

    /// Reads a resource and answers its requests.
    pub async fn read(&self, uri: &str) -> Result<ReadResourceResult, ServiceError> {
        let parameters = ReadResourceRequestParams::new(uri);
        with_deadline("a resource", self.service.read_resource(parameters)).await
    }

    /// Completes a prompt's argument.
    pub async fn complete_prompt(&self, prompt: &str, argument: &str, prefix: &str) -> Vec<String> {
        let completions = self
            .service
            .complete_prompt_simple(prompt, argument, prefix);
        with_deadline("completions", completions).await.unwrap()
    }

    /// Completes a template's variable.
    pub async fn complete_resource(
        &self,
        uri_template: &str,
        variable: &str,
        prefix: &str,
    ) -> Vec<String> {
        let completions = self
            .service
            .complete_resource_simple(uri_template, variable, prefix);
        with_deadline("completions", completions).await.unwrap()
    }

    /// Subscribes to a resource, as the client's era requires.
    pub async fn subscribe(&mut self, uri: &str) {
        if self.era == Era::Initialize {
            let subscribed = self.service.subscribe(SubscribeRequestParams::new(uri));
            return with_deadline("resources/subscribe", subscribed)
                .await
                .unwrap();
        }
        let filter = SubscriptionFilter::builder().resource_subscription(uri);
        let subscription = with_deadline("listen", self.service.listen(filter.build())).await;
        let (mut subscription, event_sender) = (subscription.unwrap(), self.event_sender.clone());
        let listening = tokio::spawn(async move {
            while let Ok(Some(notification)) = subscription.next().await {
                if let ServerNotification::ResourceUpdatedNotification(updated) = notification {
                    let _ = event_sender.send(ClientEvent::Updated(updated.params.uri));
                }
            }
        });
        self.subscriptions.insert(uri.to_owned(), listening);
    }

    /// Unsubscribes from a resource, as the client's era requires.
    pub async fn unsubscribe(&mut self, uri: &str) {
        match self.subscriptions.remove(uri) {
            // The subscription's stream ends with its task.
            Some(listening) => listening.abort(),
            None => {
                let parameters = UnsubscribeRequestParams::new(uri);
                let unsubscribed = self.service.unsubscribe(parameters);
                with_deadline("resources/unsubscribe", unsubscribed)
                    .await
                    .unwrap();
            }
        }
    }

    /// Waits for the next request or notification.
    pub async fn next_event(&self) -> ClientEvent {
        let mut events = self.events.lock().await;
        with_deadline("an event of the client", events.recv())
            .await
            .expect("the client is connected")
    }
}

impl Drop for FullClient {
    fn drop(&mut self) {
        for subscription in self.subscriptions.values() {
            subscription.abort();
        }
    }
}

struct FullClientHandler {
    event_sender: mpsc::UnboundedSender<ClientEvent>,
    responds: bool,
}

impl FullClientHandler {
    async fn decide_or_hang(&self) {
        if !self.responds {
            self.emit(ClientEvent::InputRequested);
            std::future::pending::<()>().await;
        }
    }

    fn emit(&self, event: ClientEvent) {
        let _ = self.event_sender.send(event);
    }
}

impl ClientHandler for FullClientHandler {
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.decide_or_hang().await;
        let message = SamplingMessage::assistant_text("hello");
        Ok(CreateMessageResult::new(message, "a model".to_owned()))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///home/ada")]))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.decide_or_hang().await;
        let content = json!({ "name": "Ada" });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.emit(ClientEvent::Progress(progress.progress));
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.emit(ClientEvent::Log(message.data));
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.emit(ClientEvent::Updated(updated.uri));
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("full-client", env!("CARGO_PKG_VERSION"));
        let capabilities: ClientCapabilities =
            serde_json::from_value(json!({ "roots": {}, "sampling": {}, "elicitation": {} }))
                .expect("the capabilities are valid");
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}
