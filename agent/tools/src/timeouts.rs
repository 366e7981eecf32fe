//! How long sources and MCP servers may take to start, to list their tools and to end, and how long
//! they may be idle. The time of a call is a setting: `call_timeout`, or `timeout` of a server.

use std::time::Duration;

/// How long a source may take to start.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How much longer than [`START_TIMEOUT`] a source may take that does not end its start itself.
pub(crate) const START_GRACE: Duration = Duration::from_millis(100);

/// How long the start of an MCP server over stdio waits for a free slot of a process.
pub(crate) const SLOT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time without calls after which a connection to an MCP server is closed, unless the server's
/// policy has another one.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// How long an MCP server may take to list its tools again.
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// The shortest time between two listings of the tools of a connection.
pub(crate) const LISTING_INTERVAL: Duration = Duration::from_secs(1);

/// How long an MCP server may take to acknowledge a subscription to changes of its tools.
pub(crate) const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(20);

/// The time until the agent subscribes again after a subscription has ended.
pub(crate) const SUBSCRIBE_INTERVAL: Duration = Duration::from_secs(10);

/// How long the process of an MCP server may take to end after its stdin was closed.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_millis(2500);

/// How long the rest of stderr is read after the process of an MCP server has ended.
pub(crate) const STDERR_TIMEOUT: Duration = Duration::from_millis(200);

/// How long closing a connection to an MCP server over HTTP may take.
pub(crate) const HTTP_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
