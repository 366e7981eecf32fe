//! Describes why a server cannot be connected to. The texts of the errors are not used, because they
//! may contain addresses and bodies.

use std::error::Error;

use bridge_edge::http_client::last_cause;
use http::StatusCode;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;

use super::mcp_http_client::HttpError;
use super::open_error::OpenError;
use crate::timeouts::START_TIMEOUT;

/// The remedy for a server over stdio that does not answer.
pub(super) const CHECK_COMMAND: &str = "try its command in a terminal: it must wait for messages on \
    stdin, and write only MCP to stdout";

/// The remedy for a server over HTTP that cannot be reached.
pub(super) const CHECK_SERVER: &str = "check that it runs, and its `url`";

/// The remedy for a URL that is not one of an MCP server.
const CHECK_URL: &str = "check its `url`: that of Streamable HTTP often ends with /mcp";

/// Describes a server that does not answer.
pub(super) fn silence_error(remedy: &'static str) -> OpenError {
    OpenError::new(format!("it has not answered within {START_TIMEOUT:?}")).with_remedy(remedy)
}

/// Describes the failure of a server over stdio.
pub(super) fn process_error(error: &ClientInitializeError) -> OpenError {
    match last_attempt(error) {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => {
            OpenError::new("it has ended").with_remedy(CHECK_COMMAND)
        }
        error => protocol_error(error)
            .unwrap_or_else(|| OpenError::new("it does not speak MCP").with_remedy(CHECK_COMMAND)),
    }
}

/// Describes the failure of a server over HTTP.
pub(super) fn http_error(error: &ClientInitializeError) -> OpenError {
    match last_attempt(error) {
        ClientInitializeError::TransportError { error, .. } => transport_error(error),
        ClientInitializeError::ConnectionClosed(_) => {
            OpenError::new("it has closed the connection").with_remedy("look at the server's log")
        }
        error => protocol_error(error).unwrap_or_else(|| {
            OpenError::new("what answers at its URL does not speak MCP").with_remedy(CHECK_URL)
        }),
    }
}

/// Returns the error of the older handshake if both have failed: the newer one is tried first.
fn last_attempt(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => last_attempt(fallback),
        error => error,
    }
}

/// Describes an error with which a server answers in MCP.
fn protocol_error(error: &ClientInitializeError) -> Option<OpenError> {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            let code = error.code.0;
            let refused = OpenError::new(format!("it refuses to begin, with the error {code}"));
            Some(refused.with_words(&error.message))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => Some(
            OpenError::new("it has no version of MCP that the agent has")
                .with_remedy("update the server, or the agent"),
        ),
        _ => None,
    }
}

fn transport_error(error: &DynamicTransportError) -> OpenError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error.error.as_ref());
    while let Some(current) = cause {
        match current.downcast_ref::<HttpError>() {
            Some(HttpError::HttpStatus(error)) => {
                if let Ok(status) = StatusCode::from_u16(error.status) {
                    return status_error(status);
                }
            }
            Some(HttpError::Client(error)) => {
                return OpenError::new(format!("it cannot be reached: {}", last_cause(error)))
                    .with_remedy(CHECK_SERVER);
            }
            _ => {}
        }
        cause = current.source();
    }
    OpenError::new("it answers something that is not MCP").with_remedy(CHECK_URL)
}

fn status_error(status: StatusCode) -> OpenError {
    let reason = status.canonical_reason().unwrap_or_default();
    let answered = OpenError::new(format!("it answers {} {reason}", status.as_u16()).trim_end());
    match status {
        StatusCode::UNAUTHORIZED => answered.with_remedy(
            "set its credentials in `headers`, such as \"Authorization\": \"Bearer ${TOKEN}\"; \
             those that are there are refused",
        ),
        StatusCode::FORBIDDEN => {
            answered.with_remedy("the credentials in `headers` may not use it: get others")
        }
        status if status.is_redirection() => answered.with_remedy(
            "write the address to which it redirects as its `url`: credentials are not sent elsewhere",
        ),
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            answered.with_remedy("try again later, or look at the server's log")
        }
        _ => answered.with_remedy(CHECK_URL),
    }
}
