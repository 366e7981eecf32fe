//! The log of the program, on stderr.

use std::io::IsTerminal;

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Parses a filter strictly: an invalid part is an error.
pub(crate) fn log_filter(text: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(text).map_err(|error| {
        format!("allowed are error, warn, info, debug, trace, or a tracing filter: {error}")
    })
}

/// Logs to stderr from now on.
///
/// # Panics
///
/// Panics when the process has a global tracing subscriber already.
pub(crate) fn log_to_stderr(filter: EnvFilter) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // In a file or a journal, escape sequences for colours would break searches.
        .with_ansi(std::io::stderr().is_terminal())
        .finish()
        .with(filter_fn(|event| !logs_content(event)))
        .init();
}

/// Logs warnings to stderr from now on, for an agent that has started the process and logs them itself.
///
/// # Panics
///
/// Panics when the process has a global tracing subscriber already.
pub(crate) fn log_for_agent() {
    tracing_subscriber::fmt()
        .with_max_level(Level::WARN)
        .with_writer(std::io::stderr)
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
    // These libraries log every error that fails a query, with the bodies of providers. The failure
    // of the query contains the relevant part.
    ["genai", "rmcp"].into_iter().any(is_from)
        || (*event.level() >= Level::DEBUG && ["hyper", "reqwest"].into_iter().any(is_from))
}
