//! What rmcp has no way to hand over: facts about the HTTP request that is being served.

use std::cell::Cell;
use std::sync::Arc;

use bridge_auth::RealmId;

use super::session::McpSession;

tokio::task_local! {
    /// The realm of the HTTP request being served: rmcp's session manager and tool lookup have no
    /// other way to know it.
    pub(super) static REALM: RealmId;

    /// The MCP session that this request opens.
    pub(super) static OPENING_SESSION: Cell<Option<Arc<McpSession>>>;
}
