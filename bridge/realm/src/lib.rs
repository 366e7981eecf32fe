//! The state of one principal of the bridge as plain data, without I/O, clock or async code.
//!
//! A [`Realm`] is everything that belongs to one token or one subject: its sessions (tabs), their
//! definitions, its calls, its queries and its MCP clients. A message takes three steps:
//!
//! 1. [`page_messages`] validates a page's message and turns it into a [`PageEvent`].
//! 2. The event is applied by the method of [`Realm`] that is named after it and takes the time as
//!    an argument.
//! 3. The method returns [`Effect`]s, which the bridge's hub performs: send, close, complete a
//!    call, query the agent.
//!
//! [`definition`] contains what pages register, and [`policy`] what an operator chooses. The
//! feature `in-memory` adds a bridge without sockets or clocks, which simulations and the test kit of
//! the web SDK use.

pub mod definition;
pub mod fast_hash;
#[cfg(feature = "in-memory")]
pub mod in_memory;
pub mod page_messages;
pub mod policy;
pub mod realm;

pub use page_messages::{PageEvent, PageMessageLimits};
pub use realm::{Effect, Realm};
