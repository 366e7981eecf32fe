//! The way back to the client of a running call.

use bridge_protocol::{ClientRequest, ClientResponse};
use bridge_realm::realm::CallEvent;
use futures_util::future::BoxFuture;

/// A client while its call runs. A leg that cannot reach its client any more says so by dropping
/// the call.
pub(crate) trait ClientChannel: Send + Sync {
    /// Tells the client. Comes back when the client took it, or will not.
    fn notify(&self, event: CallEvent) -> BoxFuture<'_, ()>;

    /// Asks the client.
    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse>;

    /// Why this cannot be asked in a round, whatever the client can do.
    fn reject(&self, _request: &ClientRequest) -> Option<ClientResponse> {
        None
    }

    /// The client is not asked within a call: it hears what it must answer as the outcome, and
    /// comes again with the answers (MCP 2026-07-28).
    fn uses_input_required(&self) -> bool;

    /// Asked when the result is about to be made fit: whether it goes out as a body of its own. Else
    /// it is an event of a stream, which some clients want shorter.
    fn uses_single_response(&self) -> bool {
        false
    }
}
