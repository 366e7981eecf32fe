//! Load on a bridge, or on one of the floors, with pages that answer and callers that call, and
//! what a call costs.
//!
//! [`Load`] describes a run; [`Load::run`] connects the pages, lets the callers warm up and
//! measures. [`Payload`] is the result of the pages' tools, [`Route`] how callers reach the target,
//! [`Dialect`] the protocol of the pages. Each answer is compared with the first one of its kind,
//! which is checked in full. [`floor`] has two servers that do the least possible, and [`soak`] a
//! mixed load over a long time.
//!
//! The generator is cheap, because it shares a core with the target: all messages are prepared
//! beforehand, and of answers it parses only the position of the id.

pub mod floor;
pub mod soak;

mod answers;
mod call_ids;
mod callers;
pub(crate) mod connection;
mod dialect;

mod pages;
mod payload;
mod route;
mod run;

pub use dialect::{Dialect, Receipt};

pub use crate::meter::Meter;
pub use payload::Payload;
pub use route::{Route, TargetSelection};
pub use run::{Figures, Load, Target};
