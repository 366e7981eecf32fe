//! The page's side of the protocol as plain data, without I/O, clock and JavaScript.
//!
//! [`Page`] has one method per event. After each event, [`Page::next_effect`] returns the
//! [`Effect`]s to perform, one after the other. The representation of JSON is a type parameter
//! ([`Json`]), so that native tests cover all of it.
#![warn(missing_docs)]

mod backoff;
mod calls;
pub mod close_codes;
mod connection;
mod definitions;
mod effect;
pub mod frame;
pub mod message_parts;
mod messages;
mod page;
mod pending_client_requests;
mod resource_updates;
mod seen_call_ids;
mod text;
mod timer;

// The tests read the golden files, which a browser cannot.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;

pub use calls::{HandlerOutcome, MAX_LOG_BYTES, MAX_UNACKNOWLEDGED, MAX_UNACKNOWLEDGED_BYTES};
pub use effect::{CallEnd, DefinitionKey, Effect, Failure, Report, StartedCall, Status};
pub use messages::{
    Answer, Authenticate, BridgeToPage, ClientRequest, ClientResponse, Definition, HandlerRequest,
    Item, Json, Kind, Limits, PageToBridge, RegisteredItem, RegistrationFailure, SizedJson, Token,
};
pub use page::{ACTIVITY_INTERVAL_MS, Page, PageInfo, PageVisibility};
