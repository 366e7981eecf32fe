//! Describes failures of servers over HTTP. The texts of the errors are not used, because they may
//! contain addresses and bodies.

use std::error::Error;

use bridge_service::http_client::last_cause;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

type HttpError = StreamableHttpError<reqwest::Error>;

pub(super) fn describe(error: &DynamicTransportError) -> String {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error.error.as_ref());
    while let Some(current) = cause {
        match current.downcast_ref::<HttpError>() {
            Some(HttpError::AuthRequired(_)) => {
                return "it refuses the credentials in `headers` (401)".to_owned();
            }
            Some(HttpError::HttpStatus(status)) => return format!("it answers {}", status.status),
            Some(HttpError::Client(error)) => {
                return format!("it cannot be reached: {}", last_cause(error));
            }
            _ => cause = current.source(),
        }
    }
    "it answers something that is not MCP".to_owned()
}
