//! Page tools without a user interface: the texts that AI clients read, and the rules for their
//! actions.
//!
//! A driver looks and acts: it turns a user interface into a [`Tree`] of [`Node`]s, and performs
//! one [`Action`] at a time. Everything else is here, as plain data without I/O and without a
//! clock:
//!
//! 1. [`action`] parses the list of actions of a call, or rejects it as a whole.
//! 2. [`Interaction`] takes events, such as "the facts of the target are …", and returns the next
//!    [`Step`] for the driver. It decides the order, the refusals ([`refusal`]) and the time
//!    limits, and writes the [`log`].
//! 3. [`clean`] makes a tree safe and small. [`outline`] and [`markdown`] write it as text, and
//!    [`changes`] writes only the differences from an earlier text. [`query`] finds elements.
//! 4. [`page_text`] joins header, text and footer, within a limit of bytes.
#![warn(missing_docs)]

pub mod action;
pub mod changes;
pub mod clean;
pub mod code;
mod encode;
pub mod interaction;
#[cfg(target_arch = "wasm32")]
mod js;
pub mod limits;
mod line;
pub mod log;
pub mod markdown;
pub mod node;
pub mod outline;
pub mod page_text;
pub mod query;
pub mod refusal;
pub mod report;
pub mod text;
pub mod value;

pub use action::{Action, ActionKind, Find, Target};
pub use code::ActionCode;
pub use interaction::{Event, Inspection, Interaction, OnError, Outcome, ReadBack, Step};
pub use limits::Limits;
pub use log::LogEntry;
pub use node::{Category, Choice, Node, NodeValue, Rows, State, Tree};
pub use refusal::TargetFacts;
pub use report::Report;
pub use value::Value;

/// A small allocator with constant time: the default one would be a tenth of the wasm.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
