//! The state of one principal of the bridge, as plain data: no I/O, no clock, no async.
//!
//! A [`Realm`] is everything that belongs to one token or one subject: its sessions (tabs), their
//! definitions, its calls, its queries and its MCP clients. How a message flows:
//!
//! 1. [`page_messages`] decides what a message of a page means, and makes a [`PageEvent`] of it.
//! 2. The event is applied: a method of [`Realm`] that is named after it takes the time as an argument.
//! 3. It returns [`Effect`]s, which the hub of the bridge performs: send, close, complete a call, ask the
//!    agent.
//!
//! [`definition`] has what pages register. [`policy`] has what an operator chooses. With the feature
//! `simulation` there is a bridge without sockets and clocks, for tests of whole schedules.

pub mod definition;
pub mod fast_hash;
pub mod page_messages;
pub mod policy;
pub mod realm;
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub mod simulation;

pub use page_messages::{PageEvent, PageMessageLimits};
pub use realm::{Effect, Realm};
