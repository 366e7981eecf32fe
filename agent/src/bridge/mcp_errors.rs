//! Maps the errors of rmcp to failures. The texts of the errors are not used, because they may
//! contain addresses and bodies.

use std::error::Error;

use agent_tools::AgentFailure;
use bridge_edge::http_client::last_cause;
use bridge_protocol::ErrorCode;
use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::client::AgentBridge;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Creates the failure for a connection that could not be made.
pub(super) fn connect_error(bridge: &AgentBridge, error: &ClientInitializeError) -> AgentFailure {
    match error {
        ClientInitializeError::TransportError { error, .. } => transport_error(bridge, error),
        ClientInitializeError::ConnectionClosed(_) => bridge.unreachable("the connection ended"),
        // Every other error is a response of a server that is not an mcp-web bridge.
        _ => AgentFailure::new(
            ErrorCode::BridgeUnavailable,
            "what answers at `bridge_url` is not a bridge of this version",
        )
        .with_remedy("check what listens there, and that bridge and agent are of one version"),
    }
}

/// Creates the failure for a list of tools that could not be loaded.
pub(super) fn list_error(bridge: &AgentBridge, error: &ServiceError) -> AgentFailure {
    match error {
        ServiceError::McpError(error) => AgentFailure::new(
            ErrorCode::BridgeUnavailable,
            format!(
                "the bridge does not list the tools of the query: {}",
                error.message
            ),
        ),
        error => call_error(bridge, error),
    }
}

/// Creates the failure for a request that the bridge did not answer.
pub(super) fn call_error(bridge: &AgentBridge, error: &ServiceError) -> AgentFailure {
    match error {
        ServiceError::TransportSend(error) => transport_error(bridge, error),
        ServiceError::TransportClosed => bridge.unreachable("the connection ended"),
        _ => bridge.unreachable("its response does not match the request"),
    }
}

fn transport_error(bridge: &AgentBridge, error: &DynamicTransportError) -> AgentFailure {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error.error.as_ref());
    while let Some(current) = cause {
        match current.downcast_ref::<HttpError>() {
            Some(HttpError::AuthRequired(_)) => return bridge.token_refused(),
            Some(HttpError::HttpStatus(status)) => {
                return bridge.unreachable(&format!("it answers {}", status.status));
            }
            Some(HttpError::Client(error)) => return bridge.unreachable(&last_cause(error)),
            Some(HttpError::TransportChannelClosed) => {
                return bridge.unreachable("the connection ended");
            }
            Some(HttpError::ResponseBodyTooLarge { max_size }) => {
                return bridge.unreachable(&format!("it answers with more than {max_size} bytes"));
            }
            _ => cause = current.source(),
        }
    }
    bridge.unreachable("it answers something that is not MCP")
}
