//! Load on a bridge, or on one of the floors beneath it: pages that answer, callers that call, and
//! what a call costs.
//!
//! [`Load`] says how many of which; [`Load::run`] connects the pages, lets the callers warm up and
//! measures. [`Payload`] is what the pages answer, [`Route`] the way of the callers, [`Dialect`] what
//! is spoken with the pages. Each answer is compared with the first of its kind, which is read and
//! checked as a whole. [`floor`] are the two servers that do the least, [`mixed`] is what a bridge must
//! bear for long.
//!
//! The generator is cheap, because it shares a core with what it measures: what it sends is made
//! before, and nothing is parsed but where an id stands.

pub mod floor;
pub mod soak;

mod answers;
mod callers;
mod connection;
mod measure;
mod pages;
mod payload;
mod route;
mod run;

pub use measure::Meter;
pub use pages::{Dialect, Receipt};
pub use payload::Payload;
pub use route::{Route, TargetSelection};
pub use run::{Figures, Load, Target};
