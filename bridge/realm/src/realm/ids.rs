//! Identifiers that the bridge assigns to sockets and MCP clients.

/// Identifies a socket. The numbers increase and are never reused while the bridge runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Identifies a connected MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);
