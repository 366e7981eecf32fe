//! The log of a program, on stderr.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{IsTerminal, Write, stderr};
use std::panic::{self, PanicHookInfo};
use std::thread;

use tracing::Metadata;
pub use tracing_subscriber::EnvFilter as LogFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::background_writer::{BackgroundWriter, FlushGuard};

/// Parses a filter strictly: an invalid directive is an error.
///
/// # Errors
///
/// Returns an error if a directive is invalid. It names the allowed filters.
pub fn log_filter(text: &str) -> Result<LogFilter, String> {
    LogFilter::try_new(text).map_err(|error| {
        format!("allowed are error, warn, info, debug, trace, or a tracing filter: {error}")
    })
}

/// Logs to stderr from now on, including panics, until the end of the process. The returned guard
/// is for the end of `main`. `is_excluded` returns whether an event must not be logged, even if the
/// filter allows it.
///
/// # Panics
///
/// Panics when the process has a global tracing subscriber already.
pub fn log_to_stderr(
    filter: LogFilter,
    is_excluded: impl Fn(&Metadata<'_>) -> bool + Send + Sync + 'static,
) -> FlushGuard {
    let (log, guard) = open_log();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || log.clone())
        // Colour codes in a file or a journal would hinder searching.
        .with_ansi(stderr().is_terminal())
        .finish()
        .with(filter_fn(move |event| !is_excluded(event)))
        .init();
    guard
}

/// Starts the thread that writes the log, for a program with its own subscriber. Panics are logged from
/// now on.
pub fn open_log() -> (BackgroundWriter, FlushGuard) {
    let log = BackgroundWriter::new(stderr());
    log_panics(log.clone());
    let guard = log.flush_guard();
    (log, guard)
}

fn log_panics(log: BackgroundWriter) {
    panic::set_hook(Box::new(move |panic| write_panic(&log, panic)));
}

/// Writes what the standard library would write to stderr, where it would wait for a reader.
fn write_panic(log: &BackgroundWriter, panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let mut text = format!("\nthread '{name}' {panic}\n");
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("stack backtrace:\n{backtrace}"));
    }
    let _ = log.clone().write(text.as_bytes());
    // A second panic during the first aborts the process.
    log.wait_until_written();
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    struct Output(Sender<String>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0
                .send(String::from_utf8_lossy(bytes).into_owned())
                .unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_written_to_the_log() {
        let (output, written) = channel();
        log_panics(BackgroundWriter::new(Output(output)));
        let thread = thread::Builder::new().name("worker".to_owned());
        let thread = thread.spawn(|| panic!("no room")).unwrap();
        assert!(thread.join().is_err());
        let _ = panic::take_hook();
        let text = written.recv().unwrap();
        let start = format!("\nthread 'worker' panicked at {}:", file!());
        assert!(text.starts_with(&start), "{text}");
        assert!(text.contains("no room\n"), "{text}");
    }
}
