//! Lines that programs print without a log. A failed write never panics.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tracing::Level;

use crate::background_writer::FlushGuard;
use crate::journal;

/// How long a server waits until its announcement is written. A reader that does not read must not
/// delay it for long.
const ANNOUNCEMENT_TIMEOUT: Duration = Duration::from_secs(1);

/// Prints a line to stdout, after what the log has of the start. A server that listens continues,
/// whatever becomes of the line.
pub fn announce(line: &str, log: &FlushGuard) {
    log.0.wait_until_written();
    let line = format!("{line}\n");
    let (is_written, written) = mpsc::channel();
    let _ = thread::Builder::new()
        .name("announcement".to_owned())
        .spawn(move || {
            let _ = write_to_stdout(&line);
            let _ = is_written.send(());
        });
    let _ = written.recv_timeout(ANNOUNCEMENT_TIMEOUT);
}

/// Prints the result of a command to stdout, and returns the exit code. A reader that has closed the
/// pipe, as `| head` does, has all that it wants.
pub fn print(result: &str) -> u8 {
    match write_to_stdout(result) {
        Ok(()) => 0,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => 0,
        Err(error) => {
            print_error(format_args!("the output cannot be written: {error}"));
            1
        }
    }
}

/// Prints the reason why a program ends to stderr.
pub fn print_error(error: impl Display) {
    let mut text = format!("error: {error}\n");
    if journal::is_stderr() {
        text = journal::with_priority(Level::ERROR, &text);
    }
    // One write, so that the lines stay together.
    let _ = stderr().write_all(text.as_bytes());
}

/// Prints a line to stderr.
pub fn print_to_stderr(line: impl Display) {
    // One write, so that the line stays together.
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

fn write_to_stdout(text: &str) -> std::io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
