//! The MCP methods, answered from the realm.

use std::sync::{Arc, Mutex, PoisonError};

use bridge_protocol::SessionId;
use http::request::Parts;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool as McpTool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use serde_json::{Map, Value};

use super::clients::Client;
use super::{REALM, convert};
use crate::auth::RealmId;
use crate::calls::{self, CallError, CallRequest};
use crate::hub::Hub;
use crate::meta_tools;
use crate::realm::Refusal;
use crate::tool::Tool;

const SESSION_PIN: &str = "mcp-web-session";

const INSTRUCTIONS: &str = "The tools of this server live in web pages that a person has open in a \
    browser; calling them acts in that page, in sight of the person. The list changes as pages \
    open and close. If a tool you expect is missing, call get_connection_status or \
    list_session_tools; call_session_tool reaches every tool of every open page.";

/// One per MCP session, or per request where there are no sessions.
pub(super) struct Handler {
    hub: Arc<Hub>,
    /// The client of this MCP session, from `initialize` to its end.
    client: Mutex<Option<Client>>,
}

impl Handler {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            client: Mutex::new(None),
        }
    }

    fn tools(&self, realm: RealmId) -> Vec<McpTool> {
        let pages = self
            .hub
            .read(realm, |realm| realm.tools())
            .unwrap_or_default();
        definitions(&pages)
            .filter_map(|definition| convert::tool(definition).ok())
            .collect()
    }
}

/// What is listed: the bridge's own tools first.
fn definitions(pages: &[Arc<Tool>]) -> impl Iterator<Item = &Map<String, Value>> {
    let pages = pages.iter().map(|tool| &tool.published);
    meta_tools::DEFINITIONS.iter().chain(pages)
}

fn refused(refusal: Refusal) -> ErrorData {
    ErrorData::internal_error(refusal.message, None)
}

fn parts(context: &RequestContext<RoleServer>) -> Result<&Parts, ErrorData> {
    let parts = context.extensions.get::<Parts>();
    parts.ok_or_else(|| ErrorData::internal_error("the request came without its HTTP head", None))
}

fn realm_of(context: &RequestContext<RoleServer>) -> Result<RealmId, ErrorData> {
    let realm = parts(context)?.extensions.get::<RealmId>().copied();
    realm.ok_or_else(|| ErrorData::internal_error("the request came without its token", None))
}

/// `_meta.sessionId`, else the client's pin.
fn session_of(context: &RequestContext<RoleServer>) -> Option<SessionId> {
    let named = context.meta.0.get("sessionId").and_then(|id| id.as_str());
    let pinned = || parts(context).ok()?.headers.get(SESSION_PIN)?.to_str().ok();
    named.or_else(pinned).map(SessionId::from)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let implementation = Implementation::new(&self.hub.config.name, env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let answer = self.negotiate_initialize(&request)?;
        let version = answer.protocol_version.clone();
        let client = convert::connected_client(Some(request.client_info), Some(version));
        let mut place = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        // A client that initialises again is still one client.
        *place = None;
        *place = Client::connect(&self.hub, realm_of(&context)?, client).map_err(refused)?;
        Ok(answer)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let peer = context.peer;
        if let Some(client) = &mut *self.client.lock().unwrap_or_else(PoisonError::into_inner) {
            client.notify_with(move || {
                let peer = peer.clone();
                async move { peer.notify_tool_list_changed().await.is_ok() }
            });
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let context = subscription.request_context();
        let client = convert::connected_client(context.client_info(), context.protocol_version());
        let client = Client::connect(&self.hub, realm_of(context)?, client).map_err(refused)?;
        let Some(mut client) = client else {
            subscription.cancelled().await;
            return Ok(());
        };
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = client.changed() => {
                    if subscription.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.tools(realm_of(&context)?),
        ))
    }

    /// rmcp asks before a call, outside any request context.
    fn get_tool(&self, name: &str) -> Option<McpTool> {
        let realm = REALM.try_get().ok()?;
        let pages = self.hub.read(realm, |realm| realm.tools());
        let pages = pages.unwrap_or_default();
        definitions(&pages)
            .find(|definition| definition.get("name").is_some_and(|own| own == name))
            .and_then(|definition| convert::tool(definition).ok())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = CallRequest {
            realm: realm_of(&context)?,
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            session: session_of(&context),
            client: context.client_info().map(convert::client_info),
        };
        tokio::select! {
            // Dropping the call cancels it in the page.
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the call was cancelled", None))
            }
            result = calls::call(&self.hub, call) => match result {
                Ok(result) => Ok(convert::result(result).into()),
                Err(error @ CallError::UnknownTool { .. }) => {
                    Err(ErrorData::invalid_params(error.to_string(), None))
                }
            },
        }
    }
}
