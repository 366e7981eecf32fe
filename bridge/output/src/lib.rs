//! Output of programs to stdout and stderr. A stream that is closed, full or not read neither stops
//! nor delays a server, and never causes a panic.
//!
//! - [`log_to_stderr`] starts the log, [`log_filter`] parses what it contains, and [`LineStyle`] says how
//!   its lines are written. They pass through a [`BackgroundWriter`], whose thread waits for stderr in
//!   place of the threads that log. Lines for the journal of systemd have priorities.
//! - [`announce`] prints the address of a server that listens.
//! - [`print`] prints the result of a command, [`print_error`] the reason of its failure, and
//!   [`print_to_stderr`] any other line.

mod background_writer;
#[cfg(any(test, feature = "testing"))]
mod captured_log;
mod journal;
mod line;
mod log;
mod print;

pub use background_writer::{BackgroundWriter, FlushGuard};
#[cfg(any(test, feature = "testing"))]
pub use captured_log::CapturedLog;
pub use line::{LineStyle, LogFormat};
pub use log::{LogFilter, log_filter, log_to_stderr, open_log, replace_log_filter};
pub use print::{announce, print, print_error, print_to_stderr};
