//! The log of a bridge in the process of the test.

use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// The complete captured log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The text that was logged until now.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Captures the log of this thread, which is the whole log of the bridge in a single-threaded test.
/// Like the program, it omits the frames that the WebSocket library traces.
pub(crate) fn capture_log() -> (Log, tracing::subscriber::DefaultGuard) {
    // With a single subscriber in the process, tracing decides whether an event is enabled by the
    // subscriber of the thread that reaches it first, and other test threads have none.
    std::mem::forget(tracing::Dispatch::new(tracing_subscriber::registry()));
    let log = Log::default();
    let frames = tracing_subscriber::filter::filter_fn(|event| {
        !(event.target().starts_with("tungstenite") || event.target().starts_with("tokio_tung"))
    });
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .with_ansi(false)
        .finish()
        .with(frames);
    (log, tracing::subscriber::set_default(subscriber))
}
