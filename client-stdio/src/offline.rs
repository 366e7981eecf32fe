//! What the client hears when no bridge answers: the bridge's own tools, and why a call failed.

use rmcp::model::{
    CallToolResult, ClientRequest, CompleteResult, ContentBlock, DiscoverResult, ErrorData,
    GetMeta, Implementation, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, NotificationMetaObject, ProtocolVersion, RequestId,
    ServerCapabilities, ServerJsonRpcMessage, ServerNotification, ServerResult, SubscriptionFilter,
    SubscriptionsAcknowledgedNotification, SubscriptionsAcknowledgedNotificationParams, Tool,
    ToolListChangedNotification,
};

use crate::tls::Distrust;
use crate::upstream::stateless_meta;

/// Why there is no answer of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The user has not set one.
    NoToken,
    /// Nobody listens there, the name does not resolve, or nothing comes back.
    NotReached,
    /// Something listens there with a certificate that is not accepted. Nothing was sent to it.
    Distrusted(Distrust),
    /// 401.
    TokenRefused,
    /// The bridge does not know the MCP session (404): it was started anew, or the session expired.
    SessionForgotten,
    /// Another HTTP status that is not a success, with the bridge's own words if it said any.
    Refused {
        status: u16,
        message: Option<String>,
    },
    /// The connection broke while an answer was due.
    Interrupted,
    /// Something answers that is no bridge, or that cannot be understood.
    Unusable(String),
}

impl Absence {
    /// Whether a request that ended like this was certainly not executed, so that it may be
    /// repeated at another bridge.
    pub(crate) fn not_executed(&self) -> bool {
        matches!(
            self,
            Self::NoToken
                | Self::NotReached
                | Self::Distrusted(_)
                | Self::TokenRefused
                | Self::SessionForgotten
        )
    }

    /// What happened and what to do, for people and for models. `url` has no credentials in it.
    pub(crate) fn explain(&self, url: &str) -> String {
        match self {
            Self::NoToken => {
                "no token is set: copy AUTH_TOKEN from the page's configuration panel \
                 into the configuration of this MCP server and start it again"
                    .to_owned()
            }
            Self::NotReached => {
                format!("no bridge at {url}: start it with `mcp-web-bridge` and retry")
            }
            Self::Distrusted(distrust) => {
                format!("the certificate of the bridge at {url} was not accepted: {distrust}")
            }
            Self::TokenRefused => format!(
                "the bridge at {url} refused the token: set AUTH_TOKEN to the one in the page's \
                 configuration panel, in the configuration of this MCP server"
            ),
            Self::SessionForgotten => {
                format!("the bridge at {url} was started anew before the answer came: retry")
            }
            Self::Refused {
                message: Some(message),
                ..
            } => format!("the bridge at {url} refused: {message}"),
            Self::Refused {
                status,
                message: None,
            } => format!(
                "the bridge at {url} answered HTTP {status}: retry, and look into its log if that \
                 does not help"
            ),
            Self::Interrupted => format!(
                "the connection to the bridge at {url} was lost before the answer came: the call \
                 may have been executed, check before you retry"
            ),
            Self::Unusable(reason) => format!(
                "the answer from {url} cannot be used ({reason}): check that MCP_SERVER_URL is \
                 that of a bridge"
            ),
        }
    }
}

/// Answers a request without a bridge. `explanation` says why there is none.
///
/// Must not be called for `subscriptions/listen`, which stays open: see [`acknowledgement`].
pub(crate) fn answer(
    request: &ClientRequest,
    id: RequestId,
    explanation: &str,
) -> ServerJsonRpcMessage {
    let result: ServerResult = match request {
        ClientRequest::InitializeRequest(request) => {
            initialize_result(&request.params.protocol_version, explanation).into()
        }
        ClientRequest::DiscoverRequest(_) => discover_result(explanation).into(),
        ClientRequest::PingRequest(_) | ClientRequest::SetLevelRequest(_) => {
            ServerResult::empty(())
        }
        ClientRequest::ListToolsRequest(_) => ListToolsResult::with_all_items(meta_tools()).into(),
        ClientRequest::ListPromptsRequest(_) => ListPromptsResult::default().into(),
        ClientRequest::ListResourcesRequest(_) => ListResourcesResult::default().into(),
        ClientRequest::ListResourceTemplatesRequest(_) => {
            ListResourceTemplatesResult::default().into()
        }
        ClientRequest::CompleteRequest(_) => CompleteResult::default().into(),
        _ => return failure(request, id, explanation),
    };
    ServerJsonRpcMessage::response(for_era(result, request), id)
}

/// Ends a request with an error: a tool result for calls, so that models can read it.
pub(crate) fn failure(
    request: &ClientRequest,
    id: RequestId,
    explanation: &str,
) -> ServerJsonRpcMessage {
    if !matches!(request, ClientRequest::CallToolRequest(_)) {
        let error = ErrorData::internal_error(explanation.to_owned(), None);
        return ServerJsonRpcMessage::error(error, Some(id));
    }
    let result = CallToolResult::error(vec![ContentBlock::text(explanation)]);
    ServerJsonRpcMessage::response(for_era(result.into(), request), id)
}

/// Tells the client that its listen is open: list changes will reach it.
pub(crate) fn acknowledgement(
    listen: &ClientRequest,
    id: &RequestId,
) -> Option<ServerJsonRpcMessage> {
    let ClientRequest::SubscriptionsListenRequest(request) = listen else {
        return None;
    };
    let mut accepted = SubscriptionFilter::new();
    accepted.tools_list_changed = request.params.notifications.tools_list_changed;
    let params = SubscriptionsAcknowledgedNotificationParams::new(accepted);
    let notification = SubscriptionsAcknowledgedNotification::new(params);
    Some(on_subscription(notification.into(), id))
}

/// The list changed, for clients that opened with `initialize`.
pub(crate) fn list_changed() -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::notification(ToolListChangedNotification::default().into())
}

/// The list changed, on the stream of a listen; `None` if that one did not ask.
pub(crate) fn list_changed_on(
    listen: &ClientRequest,
    id: &RequestId,
) -> Option<ServerJsonRpcMessage> {
    let ClientRequest::SubscriptionsListenRequest(request) = listen else {
        return None;
    };
    let asked = request.params.notifications.tools_list_changed == Some(true);
    asked.then(|| on_subscription(ToolListChangedNotification::default().into(), id))
}

fn on_subscription(mut notification: ServerNotification, id: &RequestId) -> ServerJsonRpcMessage {
    let meta: &mut NotificationMetaObject = notification.get_meta_mut();
    meta.set_subscription_id(id.clone());
    ServerJsonRpcMessage::notification(notification)
}

/// 2026-07-28 wants cache hints and `resultType`; strict older clients refuse them.
fn for_era(mut result: ServerResult, request: &ClientRequest) -> ServerResult {
    if stateless_meta(request).is_some() {
        result.fill_missing_cache_hints();
    } else {
        result.strip_result_type_for_legacy_peer();
    }
    result
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .build()
}

fn implementation() -> Implementation {
    Implementation::new("mcp-web-stdio", env!("CARGO_PKG_VERSION")).with_title("MCP-Web")
}

fn initialize_result(requested: &ProtocolVersion, explanation: &str) -> InitializeResult {
    let known = ProtocolVersion::KNOWN_VERSIONS.contains(requested) && requested.has_initialize();
    let version = if known {
        requested.clone()
    } else {
        ProtocolVersion::LATEST_WITH_INITIALIZE
    };
    InitializeResult::new(capabilities())
        .with_protocol_version(version)
        .with_server_info(implementation())
        .with_instructions(instructions(explanation))
}

fn discover_result(explanation: &str) -> DiscoverResult {
    let mut result = DiscoverResult::new(ProtocolVersion::KNOWN_VERSIONS.to_vec(), capabilities())
        .with_server_info(implementation());
    result.instructions = Some(instructions(explanation));
    result
}

fn instructions(explanation: &str) -> String {
    format!("Tools of the web page that the user has open. Not available yet: {explanation}.")
}

/// The tools of the bridge itself, word for word. Clients that freeze their first list reach every
/// page's tools through them later.
fn meta_tools() -> Vec<Tool> {
    serde_json::from_str(bridge_protocol::META_TOOLS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meta_tools_can_be_read() {
        let names: Vec<_> = meta_tools().into_iter().map(|tool| tool.name).collect();
        let expected = [
            "list_active_sessions",
            "list_session_tools",
            "call_session_tool",
            "get_connection_status",
        ];
        assert_eq!(names, expected);
    }
}
