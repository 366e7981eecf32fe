//! The page's side of the page socket as plain data: no I/O, no clock, no JavaScript.
//!
//! [`Page`] has one method per event. Afterwards [`Page::next_effect`] says what must happen, one
//! [`Effect`] after the other. JSON values are a type parameter, so that all of it is tested natively.

mod asking;
mod calls;
mod connection;
mod definitions;
mod effect;
pub mod frame;
mod messages;
mod page;
pub mod parts;
mod seen;
mod text;
mod timer;
mod updates;

// They read the golden files, and need no browser.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;

pub use calls::{MAX_KEPT, MAX_KEPT_BYTES, MAX_LOG_BYTES, Outcome};
pub use effect::{Call, DefinitionKey, Effect, Ending, Failure, Report, Status};
pub use messages::{
    Answer, Authenticate, BridgeToPage, CallRequest, ClientRequest, ClientResponse, Definition,
    Encoded, Item, Kind, Limits, PageToBridge, Refusal, RegisteredItem, Token,
};
pub use page::{ACTIVITY_EVERY_MS, Introduction, Page, Sight};
