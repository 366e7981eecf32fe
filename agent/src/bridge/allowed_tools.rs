//! The tools of the page that sent the query, over MCP.

use std::sync::Arc;
use std::time::Duration;

use agent_tools::mcp::{hints, page_call_output, traced_call};
use agent_tools::{AgentFailure, CallOutput, ToolClass};
use bridge_protocol::QueryId;
use bridge_settings::Secret;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
    Tool as McpTool,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Map, Value};
use tracing::debug;

use super::client::AgentBridge;
use super::mcp_errors::{call_error, connect_error, list_error};
use crate::model::ModelTool;

/// The `_meta` key with the registered name of a tool that the bridge had to rename.
const ORIGINAL_NAME_META_KEY: &str = "mcp-web/originalName";

/// The `_meta` key with the timeout of a tool, in milliseconds.
const TIMEOUT_META_KEY: &str = "mcp-web/timeout";

/// The argument that selects a session. The bridge adds it to every schema; the token of a query
/// has selected one already.
const SESSION_ARGUMENT: &str = "session_id";

/// The description that the bridge gives [`SESSION_ARGUMENT`].
const SESSION_DESCRIPTION: &str =
    "Which page to use, if several are open; see list_active_sessions";

/// The tools that a query may use. Dropping this cancels the open calls. The bridge has no
/// session that must be closed.
#[derive(Debug)]
pub(crate) struct AllowedTools {
    bridge: AgentBridge,
    service: RunningService<RoleClient, ClientConfig>,
}

/// A tool of the page.
#[derive(Clone, Debug)]
pub(crate) struct AllowedTool {
    /// The name under which the page registered it. The model may have to use another name.
    pub(crate) registered_name: String,
    /// The timeout that the page has set for it.
    pub(crate) own_timeout: Option<Duration>,
    pub(crate) class: ToolClass,
    pub(crate) tool: ModelTool,
}

impl AllowedTools {
    /// Connects with a version of MCP that has no sessions, in which a request is cancelled by
    /// closing its connection.
    pub(crate) async fn connect(
        bridge: &AgentBridge,
        token: &Secret,
        query: &QueryId,
    ) -> Result<Self, AgentFailure> {
        let url = bridge.route(&["mcp"]);
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .auth_header(token.expose())
            // The caller decides how many calls run at the same time.
            .max_concurrent_requests(usize::MAX);
        // A call whose response breaks off is cancelled, because it cannot be resumed.
        config.retry_config = Arc::new(NeverRetry::default());
        let transport = StreamableHttpClientTransport::with_client(bridge.http().clone(), config);
        let lifecycle = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        let connecting = client_config().serve_with_lifecycle(transport, lifecycle);
        let service = connecting
            .await
            .map_err(|error| connect_error(bridge, &error))?;
        debug!(%query, "connected to the tools of the query");
        Ok(Self {
            bridge: bridge.clone(),
            service,
        })
    }

    /// Lists the tools that the bridge offers for the query.
    pub(crate) async fn list(&self) -> Result<Vec<AllowedTool>, AgentFailure> {
        let tools = self.service.list_all_tools().await;
        let tools = tools.map_err(|error| list_error(&self.bridge, &error))?;
        Ok(tools.into_iter().map(page_tool).collect())
    }

    /// Calls a tool. A refusal by the bridge and a failure in the page are results, not errors.
    /// Dropping the future cancels the call.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallOutput, AgentFailure> {
        let call = traced_call(tool, arguments, true);
        match self.service.call_tool_once(call).await {
            Ok(CallToolResponse::Complete(result)) => Ok(page_call_output(&result)),
            Ok(_) => Ok(CallOutput::from_error(
                "the tool wants to ask the user, and an agent has no user to ask",
            )),
            // The bridge or the page has responded.
            Err(ServiceError::McpError(error)) => Ok(CallOutput::from_error(error.message)),
            Err(error) => Err(call_error(&self.bridge, &error)),
        }
    }
}

/// Returns the settings of the agent's MCP client. It declares no capabilities, because it cannot
/// answer requests of a server.
fn client_config() -> ClientConfig {
    let name = Implementation::new("mcp-web-agent", env!("CARGO_PKG_VERSION"));
    // Pages show this title to people as the caller.
    let name = name.with_title("Ask AI");
    ClientConfig::new(ClientCapabilities::default(), name)
}

fn page_tool(tool: McpTool) -> AllowedTool {
    let meta = |key: &str| tool.meta.as_ref()?.0.get(key);
    let registered_name = meta(ORIGINAL_NAME_META_KEY).and_then(Value::as_str);
    let timeout_ms = meta(TIMEOUT_META_KEY).and_then(Value::as_u64);
    let mut schema = Map::clone(&tool.input_schema);
    remove_session_argument(&mut schema);
    AllowedTool {
        registered_name: registered_name.unwrap_or(&tool.name).to_owned(),
        own_timeout: timeout_ms.map(Duration::from_millis),
        class: hints(tool.annotations.as_ref()).class(),
        tool: ModelTool {
            name: tool.name.into_owned(),
            description: tool.description.map(Into::into).or(tool.title),
            input_schema: Value::Object(schema),
        },
    }
}

/// Removes the session argument that the bridge added. An argument with the same name that belongs
/// to the tool itself has another description and is not removed.
fn remove_session_argument(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    let is_from_bridge = properties
        .get(SESSION_ARGUMENT)
        .is_some_and(|argument| argument["description"] == SESSION_DESCRIPTION);
    if is_from_bridge {
        properties.shift_remove(SESSION_ARGUMENT);
    }
}
