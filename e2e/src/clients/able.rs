//! An rmcp client that can do whatever a server may ask of one, and keeps what it hears.
#![allow(deprecated)] // rmcp marks sampling, roots and logging so; clients and servers use them.

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

use super::InFlight;
use super::connect::{connect, server};
use crate::{Era, Leg, World, within};

/// An AI client whose user accepts every form with the name Ada, whose model says hello, and which
/// has one root.
pub struct AbleClient {
    service: RunningService<RoleClient, Able>,
    heard: Mutex<mpsc::UnboundedReceiver<Heard>>,
    subscriptions: HashMap<String, JoinHandle<()>>,
    tell: mpsc::UnboundedSender<Heard>,
    era: Era,
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// What it must decide, and never does.
    Asked,
    /// How far a call is.
    Progress(f64),
    /// What a call logs.
    Log(Value),
    /// A resource that changed.
    Updated(String),
}

impl AbleClient {
    /// Connects, and asks for every log message.
    pub async fn connect(world: &World, leg: Leg, era: Era) -> Self {
        Self::connect_with(world, leg, era, true).await
    }

    /// The same with a user and a model that never answer.
    pub async fn undecided(world: &World, leg: Leg, era: Era) -> Self {
        Self::connect_with(world, leg, era, false).await
    }

    async fn connect_with(world: &World, leg: Leg, era: Era, answers: bool) -> Self {
        let (tell, heard) = mpsc::unbounded_channel();
        let able = Able {
            tell: tell.clone(),
            answers,
        };
        let service = connect(able, &server(world, leg), era).await;
        if era == Era::Initialize {
            let level = SetLevelRequestParams::new(LoggingLevel::Debug);
            within("logging/setLevel", service.set_level(level))
                .await
                .unwrap();
        }
        Self {
            service,
            heard: Mutex::new(heard),
            subscriptions: HashMap::new(),
            tell,
            era,
        }
    }

    /// Calls a tool and answers what it asks.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let mut parameters = CallToolRequestParams::new(tool.to_owned());
        parameters.arguments = arguments.as_object().cloned();
        if self.era == Era::Discover {
            let mut meta = RequestMetaObject::default();
            meta.set_log_level(LoggingLevel::Debug);
            parameters.meta = Some(meta);
        }
        within("the result of a call", self.service.call_tool(parameters)).await
    }

    /// Sends a call, whose first round is the caller's to look at in MCP 2026-07-28.
    pub async fn start_call(&self, tool: &str, arguments: Value) -> InFlight {
        InFlight::start(&self.service, tool, arguments).await
    }

    /// Gets a prompt and answers what it asks.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<GetPromptResult, ServiceError> {
        let mut parameters = GetPromptRequestParams::new(name);
        parameters.arguments = arguments.as_object().cloned();
        within("a prompt", self.service.get_prompt(parameters)).await
    }

    /// Reads a resource and answers what it asks.
    pub async fn read(&self, uri: &str) -> Result<ReadResourceResult, ServiceError> {
        let parameters = ReadResourceRequestParams::new(uri);
        within("a resource", self.service.read_resource(parameters)).await
    }

    /// Completions of a prompt's argument.
    pub async fn complete_prompt(&self, prompt: &str, argument: &str, begun: &str) -> Vec<String> {
        let completions = self.service.complete_prompt_simple(prompt, argument, begun);
        within("completions", completions).await.unwrap()
    }

    /// Completions of a template's variable.
    pub async fn complete_resource(
        &self,
        uri_template: &str,
        variable: &str,
        begun: &str,
    ) -> Vec<String> {
        let completions = self
            .service
            .complete_resource_simple(uri_template, variable, begun);
        within("completions", completions).await.unwrap()
    }

    /// Subscribes to a resource as the era has it.
    pub async fn subscribe(&mut self, uri: &str) {
        if self.era == Era::Initialize {
            let subscribed = self.service.subscribe(SubscribeRequestParams::new(uri));
            return within("resources/subscribe", subscribed).await.unwrap();
        }
        let filter = SubscriptionFilter::builder().resource_subscription(uri);
        let subscription = within("listen", self.service.listen(filter.build())).await;
        let (mut subscription, tell) = (subscription.unwrap(), self.tell.clone());
        let listening = tokio::spawn(async move {
            while let Ok(Some(notification)) = subscription.next().await {
                if let ServerNotification::ResourceUpdatedNotification(updated) = notification {
                    let _ = tell.send(Heard::Updated(updated.params.uri));
                }
            }
        });
        self.subscriptions.insert(uri.to_owned(), listening);
    }

    /// Takes a subscription back as the era has it.
    pub async fn unsubscribe(&mut self, uri: &str) {
        match self.subscriptions.remove(uri) {
            // Its stream ends with the task that holds it.
            Some(listening) => listening.abort(),
            None => {
                let parameters = UnsubscribeRequestParams::new(uri);
                let unsubscribed = self.service.unsubscribe(parameters);
                within("resources/unsubscribe", unsubscribed).await.unwrap();
            }
        }
    }

    /// The next thing that it is told.
    pub async fn heard(&self) -> Heard {
        let mut heard = self.heard.lock().await;
        within("something to be told", heard.recv())
            .await
            .expect("the client is connected")
    }
}

impl Drop for AbleClient {
    fn drop(&mut self) {
        for subscription in self.subscriptions.values() {
            subscription.abort();
        }
    }
}

struct Able {
    tell: mpsc::UnboundedSender<Heard>,
    answers: bool,
}

impl Able {
    async fn decide(&self) {
        if !self.answers {
            self.hears(Heard::Asked);
            std::future::pending::<()>().await;
        }
    }

    fn hears(&self, heard: Heard) {
        let _ = self.tell.send(heard);
    }
}

impl ClientHandler for Able {
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.decide().await;
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
        self.decide().await;
        let content = json!({ "name": "Ada" });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hears(Heard::Progress(progress.progress));
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hears(Heard::Log(message.data));
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hears(Heard::Updated(updated.uri));
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("able", env!("CARGO_PKG_VERSION"));
        let capabilities: ClientCapabilities =
            serde_json::from_value(json!({ "roots": {}, "sampling": {}, "elicitation": {} }))
                .expect("these are capabilities");
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}
