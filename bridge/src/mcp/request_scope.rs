//! Facts about the HTTP request being served that cannot be passed through rmcp.

use std::cell::Cell;
use std::sync::Arc;

use bridge_auth::RealmId;

use super::session::McpSession;

tokio::task_local! {
    /// The realm of the HTTP request being served. rmcp's session manager and tool lookup have no
    /// other access to it.
    pub(super) static REALM: RealmId;

    /// The MCP session that the request opens.
    pub(super) static OPENING_SESSION: Cell<Option<Arc<McpSession>>>;
}
