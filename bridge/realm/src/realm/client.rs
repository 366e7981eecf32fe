//! A connected MCP client and its subscriptions.

use bridge_protocol::ConnectedClient;
use indexmap::IndexSet;

/// A connected MCP client.
#[derive(Debug)]
pub(super) struct ClientState {
    pub(super) info: ConnectedClient,
    pub(super) subscriptions: IndexSet<String>,
}
