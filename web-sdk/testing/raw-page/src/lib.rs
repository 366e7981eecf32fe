//! Pages that send and receive single messages, for tests: of frames and their order, of pages that
//! break the protocol, and of queries, which native programs do not send. All other pages without a
//! browser are programs of the crate `mcp-web-sdk`.
//!
//! [`PageSocket`] has the frames, [`Page`] the messages of the page protocol, and [`V1Page`] those of
//! mcp-web 0.1. [`strict_set`] has definitions that a strict client must survive. [`built_program`] finds a program.
//! A wait that does not end within [`with_deadline`] panics, and [`poll_pause`] is for what sends no event.
#![allow(clippy::unwrap_used)] // The whole crate is test code: a failed step fails the test.
#![warn(missing_docs)]

mod built_program;
mod page;
mod poll_pause;
mod socket;
mod strict_set;
mod v1_page;

pub use built_program::built_program;
pub use page::{Page, authenticate_message, call_input, call_response, raw_json};
pub use poll_pause::poll_pause;
pub use socket::{PageSocket, with_deadline};
pub use strict_set::{StrictCase, control_definitions, register_strict_set, strict_set};
pub use v1_page::V1Page;
