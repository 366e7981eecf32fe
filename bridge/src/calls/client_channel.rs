//! The channel to the client of a running call, and clients that receive only the result.

use bridge_protocol::{ClientError, ClientRequest, ClientResponse, ErrorCode};
use bridge_realm::realm::CallerEvent;
use futures_util::future::BoxFuture;

/// The client of a running call. A transport that has lost its client drops the future of the call.
pub(crate) trait ClientChannel: Send + Sync {
    /// Sends an event to the client. Resolves when the client has received it, or never will.
    fn notify(&self, event: CallerEvent) -> BoxFuture<'_, ()>;

    /// Sends a request of the page to the client.
    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse>;

    /// Returns the error response to a request that `InputRequired` cannot carry, or `None` if it
    /// can.
    fn reject(&self, _request: &ClientRequest) -> Option<ClientResponse> {
        None
    }

    /// Whether the client receives requests as the outcome of the call and repeats the call with
    /// the responses (MCP 2026-07-28), instead of answering them while the call runs.
    fn uses_input_required(&self) -> bool;

    /// Whether the result will be sent as a separate response body. Otherwise it is an event of a
    /// stream, for which some clients have a lower limit. Called when the result is about to be
    /// truncated.
    fn uses_single_response(&self) -> bool {
        false
    }
}

/// A client that receives only the result, and no events. It answers every request with an error that
/// has this message.
pub(crate) struct SilentClient(pub(crate) &'static str);

/// The client of a call that continues in the background.
pub(crate) static DETACHED_CLIENT: SilentClient = SilentClient(
    "the client of this call did not wait, and will fetch the result later: it cannot be asked. Ask \
     before the work that takes long",
);

impl ClientChannel for SilentClient {
    fn notify(&self, _: CallerEvent) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        Box::pin(std::future::ready(self.error_response(request.key)))
    }

    fn uses_input_required(&self) -> bool {
        false
    }
}

impl SilentClient {
    /// Returns the error response to a request of a page.
    pub(super) fn error_response(&self, key: String) -> ClientResponse {
        let error = ClientError {
            code: ErrorCode::ClientCapabilityMissing,
            message: self.0.to_owned(),
            data: None,
        };
        ClientResponse {
            key,
            result: None,
            error: Some(error),
        }
    }
}
