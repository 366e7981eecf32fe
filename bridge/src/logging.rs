//! What the programs log, and what they never log.

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Logs to stderr what the filter lets through, for a program that contains a bridge. Frames of
/// pages are never logged: the first one carries the token.
///
/// # Panics
///
/// When the process has a global tracing subscriber already.
pub fn log_to_stderr(filter: EnvFilter) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .finish()
        .with(filter_fn(|event| !shows_frames(event)))
        .init();
}

/// The WebSocket library traces whole frames.
fn shows_frames(event: &Metadata<'_>) -> bool {
    *event.level() == Level::TRACE && event.target().starts_with("tungstenite")
}
