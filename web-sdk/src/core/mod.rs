//! The page's side of the page socket as plain data: no I/O, no clock, no JavaScript.
//!
//! [`Page`] has one method per event. Afterwards [`Page::next_effect`] says what must happen, one
//! [`Effect`] after the other. JSON values are a type parameter, so that all of it is tested natively.

mod calls;
mod connection;
mod definitions;
mod effect;
pub mod frame;
mod messages;
mod page;
pub mod parts;
mod pending_client_requests;
mod resource_updates;
mod seen_call_ids;
mod text;
mod timer;

// They read the golden files, and need no browser.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;

pub use calls::{HandlerOutcome, MAX_LOG_BYTES, MAX_UNACKNOWLEDGED, MAX_UNACKNOWLEDGED_BYTES};
pub use effect::{Call, CallOutcome, DefinitionKey, Effect, Failure, Report, Status};
pub use messages::{
    Answer, Authenticate, BridgeToPage, CallRequest, ClientRequest, ClientResponse, Definition,
    Item, Kind, Limits, PageToBridge, RegisteredItem, RegistrationFailure, SizedJson, Token,
};
pub use page::{ACTIVITY_INTERVAL_MS, Page, PageInfo, PageVisibility};
