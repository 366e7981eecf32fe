//! The page's side of the page socket as plain data: no I/O, no clock, no JavaScript.
//!
//! [`Page`] has one method per event. Afterwards [`Page::next_effect`] says what must happen, one
//! [`Effect`] after the other. JSON values are a type parameter, so that all of it is tested natively.

mod calls;
mod connection;
mod effect;
pub mod frame;
mod messages;
mod page;
mod seen;
mod text;
mod tools;

// They read the golden files, and need no browser.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;

pub use calls::Outcome;
pub use effect::{Call, Effect, Ending, Failure, Report, Status, ToolKey};
pub use messages::{
    Authenticate, BridgeToPage, Encoded, Limits, PageToBridge, RefusedTool, RegisteredTool, Token,
    ToolCall,
};
pub use page::{Introduction, Page, Sight};
