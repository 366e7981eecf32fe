//! The log of the program, on stderr.

use bridge_output::{FlushGuard, LogFilter, LogFormat};
use tracing::{Level, Metadata};

/// Logs to stderr from now on. The returned guard is for the end of `main`.
///
/// # Panics
///
/// Panics when the process has a global tracing subscriber already.
pub(crate) fn log_to_stderr(filter: LogFilter, format: LogFormat) -> FlushGuard {
    bridge_output::log_to_stderr(filter, format.into(), logs_content)
}

/// Logs warnings to stderr from now on, for an agent that has started the process and logs them itself.
/// The agent stops reading after some of them.
///
/// # Panics
///
/// Panics when the process has a global tracing subscriber already.
pub(crate) fn log_for_agent() {
    tracing_subscriber::fmt()
        .with_max_level(Level::WARN)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .with_ansi(false)
        .with_level(false)
        .with_target(false)
        .without_time()
        .init();
}

/// Returns whether an event comes from a library that logs prompts, responses of providers, or
/// headers. A program that contains an agent must not log these events.
pub fn logs_content(event: &Metadata<'_>) -> bool {
    let is_from = |library: &str| event.target().starts_with(library);
    // It logs every error that fails a call, with the bodies of servers. The failure of the call contains
    // the relevant part.
    is_from("rmcp")
        || (*event.level() >= Level::DEBUG && ["hyper", "reqwest"].into_iter().any(is_from))
}
