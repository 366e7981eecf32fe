//! The page of a query.

use std::sync::Arc;

use bridge_protocol::{SessionId, Subject};

/// The page that sends a query to an agent, with its description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPage {
    pub session: SessionId,
    /// The subject of its token.
    pub subject: Option<Arc<Subject>>,
    /// The name of the app.
    pub app: Option<String>,
    /// The description of the app.
    pub app_description: Option<String>,
    /// The `Origin` header, which pages outside a browser do not send.
    pub origin: Option<String>,
}
