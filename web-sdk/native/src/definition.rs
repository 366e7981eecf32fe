//! The definitions of a program, as the connection stores them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bridge_protocol::BridgeToPage;
use tokio::sync::watch;
use web_sdk_core::{HandlerOutcome, Item, SizedJson};

use crate::call::Call;
use crate::status::ConnectError;

pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = HandlerOutcome<String>> + Send>>;

/// Runs a call. It gets the message that requests the call.
pub(crate) type Handler = Arc<dyn Fn(BridgeToPage, Call) -> HandlerFuture + Send + Sync>;

/// A definition that was added.
pub(crate) struct NewDefinition {
    pub(crate) key: u32,
    pub(crate) item: Item,
    /// The complete MCP object.
    pub(crate) json: SizedJson<String>,
    /// Whether the call may safely be repeated.
    pub(crate) repeatable: bool,
    pub(crate) handler: Handler,
    pub(crate) registration: watch::Sender<Registration>,
}

/// Whether AI clients can use a definition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Registration {
    Pending,
    /// The name that clients see, if the bridge reported one.
    Registered(Option<String>),
    Rejected(ConnectError),
    Removed,
}
