//! The log of a program, on stderr.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{Write, stderr};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::thread;

use tracing::{Level, Metadata};
pub use tracing_subscriber::EnvFilter as LogFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use crate::background_writer::{BackgroundWriter, FlushGuard};
use crate::line::{LineOutput, LineStyle, LogFormat, lines, own_line};

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

/// Replaces the filter of the log. The process has one log, which is set once.
static REPLACE_FILTER: OnceLock<Box<dyn Fn(LogFilter) -> bool + Send + Sync>> = OnceLock::new();

/// Replaces the filter of [`log_to_stderr`]. Returns false if there is no such log.
pub fn replace_log_filter(filter: LogFilter) -> bool {
    REPLACE_FILTER.get().is_some_and(|replace| replace(filter))
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
    style: LineStyle,
    is_excluded: impl Fn(&Metadata<'_>) -> bool + Send + Sync + 'static,
) -> FlushGuard {
    let output = LineOutput::stderr(style.format);
    let (log, guard) = open_output(output);
    let (filter, handle) = reload::Layer::new(filter);
    let _ = REPLACE_FILTER.set(Box::new(move |filter| handle.reload(filter).is_ok()));
    tracing_subscriber::registry()
        .with(lines(style, output, move || log.clone()))
        .with(filter)
        .with(filter_fn(move |event| !is_excluded(event)))
        .init();
    guard
}

/// Starts the thread that writes the log, for a program with its own subscriber. Panics are logged from
/// now on.
pub fn open_log(format: LogFormat) -> (BackgroundWriter, FlushGuard) {
    open_output(LineOutput::stderr(format))
}

fn open_output(output: LineOutput) -> (BackgroundWriter, FlushGuard) {
    let log = BackgroundWriter::new(stderr(), output);
    log_panics(log.clone(), output);
    let guard = log.flush_guard();
    (log, guard)
}

fn log_panics(log: BackgroundWriter, output: LineOutput) {
    panic::set_hook(Box::new(move |panic| write_panic(&log, output, panic)));
}

/// Writes what the standard library would write to stderr, where it would wait for a reader.
fn write_panic(log: &BackgroundWriter, output: LineOutput, panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let mut text = format!("\nthread '{name}' {panic}");
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("\nstack backtrace:\n{backtrace}"));
    }
    let line = own_line(output, Level::ERROR, &text);
    let _ = log.clone().write(line.as_bytes());
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
        let lines = LogFormat::Text.into();
        log_panics(BackgroundWriter::new(Output(output), lines), lines);
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
