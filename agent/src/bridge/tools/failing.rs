//! Why the bridge was of no use. In our own words: those of rmcp may quote addresses and bodies.

use std::error::Error;

use bridge_protocol::ErrorCode;
use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::bridge::Bridge;
use crate::failure::Failure;
use crate::outgoing::last_cause;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Before anything was asked of it.
pub(super) fn not_connected(bridge: &Bridge, error: &ClientInitializeError) -> Failure {
    match error {
        ClientInitializeError::TransportError { error, .. } => in_transport(bridge, error),
        ClientInitializeError::ConnectionClosed(_) => bridge.out_of_reach("the connection ended"),
        // Anything else is an answer, of something that is no bridge of ours.
        _ => Failure::new(
            ErrorCode::BridgeUnavailable,
            "what answers at `bridge_url` is no bridge of this version",
        )
        .with_remedy("see what listens there, and whether bridge and agent are of one version"),
    }
}

pub(super) fn not_listed(bridge: &Bridge, error: &ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) => Failure::new(
            ErrorCode::BridgeUnavailable,
            format!(
                "the bridge does not list the tools of the query: {}",
                error.message
            ),
        ),
        error => not_called(bridge, error),
    }
}

/// The bridge has not answered.
pub(super) fn not_called(bridge: &Bridge, error: &ServiceError) -> Failure {
    match error {
        ServiceError::TransportSend(error) => in_transport(bridge, error),
        ServiceError::TransportClosed => bridge.out_of_reach("the connection ended"),
        _ => bridge.out_of_reach("it answered something else than was asked"),
    }
}

fn in_transport(bridge: &Bridge, error: &DynamicTransportError) -> Failure {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error.error.as_ref());
    while let Some(current) = cause {
        match current.downcast_ref::<HttpError>() {
            Some(HttpError::AuthRequired(_)) => return bridge.token_refused(),
            Some(HttpError::HttpStatus(status)) => {
                return bridge.out_of_reach(&format!("it answers {}", status.status));
            }
            Some(HttpError::Client(error)) => return bridge.out_of_reach(&last_cause(error)),
            Some(HttpError::TransportChannelClosed) => {
                return bridge.out_of_reach("the connection ended");
            }
            Some(HttpError::ResponseBodyTooLarge { max_size }) => {
                return bridge.out_of_reach(&format!("it answers with more than {max_size} bytes"));
            }
            _ => cause = current.source(),
        }
    }
    bridge.out_of_reach("it answers something that is not MCP")
}
