//! The tools of the page that asks, by MCP. Only this module knows rmcp.

mod content;
mod errors;

use std::sync::Arc;
use std::time::Duration;

use bridge_protocol::QueryId;
use bridge_service::Secret;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
    ProtocolVersion, Tool as McpTool,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceError};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tracing::debug;

use super::BridgeClient;
use crate::failure::Failure;
use crate::model::Tool;

/// Where the bridge keeps the name of a tool that it had to repair.
const ORIGINAL_NAME_META_KEY: &str = "mcp-web/originalName";

/// Where a tool says how long it takes, in milliseconds.
const TIMEOUT_META_KEY: &str = "mcp-web/timeout";

/// The argument that picks a session. The bridge adds it to every schema; the token of a query has
/// picked one already.
const SESSION_ARGUMENT: &str = "session_id";
const SESSION_DESCRIPTION: &str =
    "Which page to use, if several are open; see list_active_sessions";

/// The tools that a query may use. Dropped, it cancels the calls that are under way and leaves the
/// bridge, where nothing is kept of it: there is no session to close.
#[derive(Debug)]
pub(crate) struct BridgeTools {
    bridge: BridgeClient,
    service: RunningService<RoleClient, ClientConfig>,
}

/// A tool of the page.
#[derive(Clone, Debug)]
pub(crate) struct PageTool {
    /// Its name as registered; the model may have to call it by another one.
    pub(crate) registered_name: String,
    /// How long it says that it takes.
    pub(crate) own_timeout: Option<Duration>,
    pub(crate) tool: Tool,
}

/// How a call went.
#[derive(Debug)]
pub(crate) struct PageCallResult {
    /// For the model.
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// What the page answered, as far as MCP carries it; `None` if that was nothing.
    pub(crate) page_result: Option<Box<RawValue>>,
}

impl BridgeTools {
    /// In the era of MCP without sessions, where a request whose connection ends is cancelled.
    pub(super) async fn connect(
        bridge: &BridgeClient,
        token: &Secret,
        query: &QueryId,
    ) -> Result<Self, Failure> {
        let url = bridge.route(&["mcp"]);
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .auth_header(token.expose())
            // How many calls run at once is decided by who makes them.
            .max_concurrent_requests(usize::MAX);
        // A call whose answer breaks off is cancelled: there is nothing to come back to.
        config.retry_config = Arc::new(NeverRetry::default());
        let transport = StreamableHttpClientTransport::with_client(bridge.http.clone(), config);
        let lifecycle = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        let connecting = client_config().serve_with_lifecycle(transport, lifecycle);
        let service = connecting
            .await
            .map_err(|error| errors::connect_error(bridge, &error))?;
        debug!(%query, "the tools of the query are there");
        Ok(Self {
            bridge: bridge.clone(),
            service,
        })
    }

    /// Those that the bridge lists for the query.
    pub(crate) async fn list(&self) -> Result<Vec<PageTool>, Failure> {
        let listed = self.service.list_all_tools().await;
        let listed = listed.map_err(|error| errors::list_error(&self.bridge, &error))?;
        Ok(listed.into_iter().map(page_tool).collect())
    }

    /// Calls one. A refusal of the bridge and a failure of the page are results. Dropped, the call
    /// is cancelled.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<PageCallResult, Failure> {
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.service.call_tool_once(call).await {
            Ok(CallToolResponse::Complete(result)) => Ok(content::page_call_result(result)),
            Ok(_) => Ok(PageCallResult::from_error(
                "the tool wants to ask somebody, and an agent has nobody to ask",
            )),
            // The bridge, or the page, has answered.
            Err(ServiceError::McpError(error)) => Ok(PageCallResult::from_error(&error.message)),
            Err(error) => Err(errors::call_error(&self.bridge, &error)),
        }
    }
}

impl PageCallResult {
    /// A call that came to nothing.
    pub(crate) fn from_error(why: &str) -> Self {
        let answered = serde_json::json!({ "error": why });
        Self {
            text: why.to_owned(),
            is_error: true,
            page_result: serde_json::value::to_raw_value(&answered).ok(),
        }
    }
}

/// It can do nothing that a server could ask of it.
fn client_config() -> ClientConfig {
    let name = Implementation::new("mcp-web-agent", env!("CARGO_PKG_VERSION"));
    // Pages show people who has called.
    let name = name.with_title("Ask AI");
    ClientConfig::new(ClientCapabilities::default(), name)
}

fn page_tool(listed: McpTool) -> PageTool {
    let meta = |key: &str| listed.meta.as_ref()?.0.get(key);
    let original = meta(ORIGINAL_NAME_META_KEY).and_then(Value::as_str);
    let takes = meta(TIMEOUT_META_KEY).and_then(Value::as_u64);
    let mut schema = Map::clone(&listed.input_schema);
    remove_session_argument(&mut schema);
    PageTool {
        registered_name: original.unwrap_or(&listed.name).to_owned(),
        own_timeout: takes.map(Duration::from_millis),
        tool: Tool {
            name: listed.name.into_owned(),
            description: listed.description.map(Into::into).or(listed.title),
            input_schema: Value::Object(schema),
        },
    }
}

/// A tool's own argument of this name stays: it is described in other words.
fn remove_session_argument(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    let added = properties
        .get(SESSION_ARGUMENT)
        .is_some_and(|argument| argument["description"] == SESSION_DESCRIPTION);
    if added {
        properties.shift_remove(SESSION_ARGUMENT);
    }
}
