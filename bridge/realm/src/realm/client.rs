//! The state of a connected MCP client.

use bridge_protocol::ConnectedClient;
use indexmap::IndexSet;

/// A connected MCP client and the URIs of the resources that it is subscribed to.
#[derive(Debug)]
pub(super) struct ClientState {
    pub(super) info: ConnectedClient,
    pub(super) subscriptions: IndexSet<String>,
}
