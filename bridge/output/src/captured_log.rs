//! The log of code under test.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

use crate::line::{EventLine, LineStyle, LogFormat};

/// The log of a thread, in lines without times.
#[derive(Clone, Debug, Default)]
pub struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    /// Captures what this thread logs until the guard is dropped: all of it in a test whose runtime has
    /// one thread.
    pub fn start() -> (Self, DefaultGuard) {
        Self::start_through(|log| log)
    }

    /// Captures what a writer makes of the lines. Like the programs, it omits the frames that the
    /// WebSocket library traces.
    pub fn start_through<W: io::Write>(
        writer: impl Fn(Self) -> W + Send + Sync + 'static,
    ) -> (Self, DefaultGuard) {
        Self::start_in_style(LogFormat::Text.into(), writer)
    }

    /// Captures what this thread logs, as lines in this style.
    pub fn start_with(style: LineStyle) -> (Self, DefaultGuard) {
        Self::start_in_style(style, |log| log)
    }

    /// Returns what this thread logs meanwhile through a layer that writes to the given log.
    #[cfg(test)]
    pub(crate) fn in_layer(
        layer: impl FnOnce(Self) -> Box<dyn Layer<Registry> + Send + Sync>,
        log: impl FnOnce(),
    ) -> String {
        let captured = Self::default();
        let _guard = start_subscriber(layer(captured.clone()));
        log();
        captured.text()
    }

    fn start_in_style<W: io::Write>(
        style: LineStyle,
        writer: impl Fn(Self) -> W + Send + Sync + 'static,
    ) -> (Self, DefaultGuard) {
        let log = Self::default();
        let output = log.clone();
        let make_writer = move || writer(output.clone());
        let layer = match style.format {
            LogFormat::Text => layer::<Registry>()
                .with_ansi(false)
                .event_format(EventLine::plain_text(style))
                .with_writer(make_writer)
                .boxed(),
            LogFormat::Json => layer::<Registry>()
                .json()
                .event_format(EventLine::json(style))
                .with_writer(make_writer)
                .boxed(),
        };
        (log, start_subscriber(layer))
    }

    /// Returns the text that was logged until now.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the text since the last call.
    pub fn take(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&std::mem::take(&mut *bytes)).into_owned()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "it has the second subscriber that others lack"
)]
fn start_subscriber(layer: Box<dyn Layer<Registry> + Send + Sync>) -> DefaultGuard {
    // With a single subscriber in the process, tracing decides whether an event is enabled by the
    // subscriber of the thread that reaches it first, and other test threads have none.
    std::mem::forget(tracing::Dispatch::new(tracing_subscriber::registry()));
    let frames = filter_fn(|event| {
        !(event.target().starts_with("tungstenite") || event.target().starts_with("tokio_tung"))
    });
    let subscriber = tracing_subscriber::registry().with(layer).with(frames);
    tracing::subscriber::set_default(subscriber)
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
