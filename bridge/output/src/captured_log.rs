//! The log of code under test.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

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
    #[expect(
        clippy::disallowed_methods,
        reason = "it has the second subscriber that others lack"
    )]
    pub fn start_through<W: io::Write>(
        writer: impl Fn(Self) -> W + Send + Sync + 'static,
    ) -> (Self, DefaultGuard) {
        // With a single subscriber in the process, tracing decides whether an event is enabled by the
        // subscriber of the thread that reaches it first, and other test threads have none.
        std::mem::forget(tracing::Dispatch::new(tracing_subscriber::registry()));
        let log = Self::default();
        let output = log.clone();
        let frames = filter_fn(|event| {
            !(event.target().starts_with("tungstenite") || event.target().starts_with("tokio_tung"))
        });
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || writer(output.clone()))
            .with_ansi(false)
            .without_time()
            .finish()
            .with(frames);
        (log, tracing::subscriber::set_default(subscriber))
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
