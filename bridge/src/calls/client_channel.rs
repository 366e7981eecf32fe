//! The channel to the client of a running call.

use bridge_protocol::{ClientRequest, ClientResponse};
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

    /// Whether the result will be sent as a response body of its own. Otherwise it is an event of a
    /// stream, for which some clients have a lower limit. Called when the result is about to be
    /// truncated.
    fn uses_single_response(&self) -> bool {
        false
    }
}
