//! A writer that never waits and never fails: a separate thread writes the lines.
//!
//! The crate `tracing-appender` also has such a writer. At the end of a program, it prints to stdout if
//! the lines could not be written, which panics or waits where the streams are broken. It also bounds
//! the number of lines that wait, and not their memory.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::Level;

use crate::line::{LineOutput, own_line};

/// The memory of the lines that wait to be written: some thousands, which a burst logs before the
/// thread has written them. Further lines are dropped.
const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// How long the end of a program waits for lines that are not written. A reader that has stopped
/// reading must not delay it for long.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The time between two attempts to write to a pipe that another process has made non-blocking.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Writes lines in another thread. Each call of [`Write::write`] is one line.
///
/// Lines that cannot be written are dropped and counted. Their number is written before the next line
/// that can be written.
#[derive(Clone, Debug)]
pub struct BackgroundWriter(Arc<Shared>);

/// Waits until the lines are written when it is dropped, for at most one second.
#[derive(Debug)]
#[must_use = "lines that wait at the end of the program are lost without it"]
pub struct FlushGuard(pub(crate) BackgroundWriter);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Is notified when lines are added, and when the last one is written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    /// The length of `lines`.
    bytes: usize,
    /// The number of lines that were dropped since the last report of it.
    dropped: u64,
    is_writing: bool,
}

impl BackgroundWriter {
    /// Starts a thread that writes to `output`. `lines` is how lines about the log itself are written.
    pub(crate) fn new(output: impl Write + Send + 'static, lines: LineOutput) -> Self {
        let shared = Arc::<Shared>::default();
        let writer = Self(Arc::clone(&shared));
        // A process that cannot have this thread cannot have its others either, and reports that.
        let _ = thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || shared.write_lines(output, lines));
        writer
    }

    /// Returns what waits for the lines at the end of the program.
    pub fn flush_guard(&self) -> FlushGuard {
        FlushGuard(self.clone())
    }

    /// Waits until all lines are written or dropped, for at most one second.
    pub(crate) fn wait_until_written(&self) {
        let queue = self.0.queue();
        let _ = self
            .0
            .changed
            .wait_timeout_while(queue, FLUSH_TIMEOUT, |queue| {
                queue.is_writing || !queue.lines.is_empty()
            });
    }
}

impl Write for BackgroundWriter {
    /// Queues a line, or drops it. It never fails.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut queue = self.0.queue();
        if queue.bytes + line.len() > MAX_WAITING_BYTES {
            queue.dropped += 1;
        } else {
            queue.bytes += line.len();
            queue.lines.push_back(line.to_vec());
            self.0.changed.notify_all();
        }
        Ok(line.len())
    }

    /// Does nothing: lines are written as soon as possible.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for FlushGuard {
    fn drop(&mut self) {
        self.0.wait_until_written();
    }
}

impl Shared {
    /// Locks the queue. A poisoned lock is used anyway, because no code panics while it holds it.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lines(&self, mut output: impl Write, lines: LineOutput) {
        loop {
            let (line, dropped) = self.next_line();
            let mut reported = 0;
            let mut written = Ok(());
            if dropped > 0 {
                let report = format!("{dropped} lines of the log could not be written");
                let report = own_line(lines, Level::WARN, &report);
                written = write_all(&mut output, report.as_bytes());
                if written.is_ok() {
                    reported = dropped;
                }
            }
            let written = written.and_then(|()| write_all(&mut output, &line));
            let mut queue = self.queue();
            queue.dropped -= reported;
            queue.dropped += u64::from(written.is_err());
            queue.is_writing = false;
            self.changed.notify_all();
        }
    }

    /// Waits for the next line. Returns it, and the number of lines that were dropped.
    fn next_line(&self) -> (Vec<u8>, u64) {
        let mut queue = self.queue();
        loop {
            if let Some(line) = queue.lines.pop_front() {
                queue.bytes -= line.len();
                queue.is_writing = true;
                return (line, queue.dropped);
            }
            let waiting = self.changed.wait(queue);
            queue = waiting.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Writes a whole line, and waits where the output would not.
fn write_all(output: &mut impl Write, mut line: &[u8]) -> io::Result<()> {
    while !line.is_empty() {
        match output.write(line) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => line = &line[length..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(RETRY_INTERVAL),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::line::LogFormat;

    /// An output that reports each write, and waits until the test decides how it ends.
    struct ControlledOutput {
        writes: Sender<String>,
        results: Receiver<io::Result<usize>>,
    }

    impl Write for ControlledOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.writes.send(text).unwrap();
            self.results.recv().unwrap()
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Control {
        writes: Receiver<String>,
        results: Sender<io::Result<usize>>,
    }

    impl Control {
        fn new() -> (BackgroundWriter, Self) {
            let (writes, test_writes) = channel();
            let (test_results, results) = channel();
            let output = ControlledOutput { writes, results };
            let writer = BackgroundWriter::new(output, LogFormat::Text.into());
            let control = Self {
                writes: test_writes,
                results: test_results,
            };
            (writer, control)
        }

        /// Waits for the next write.
        fn begun(&self) -> String {
            self.writes.recv().unwrap()
        }

        /// Waits for the next write, lets it succeed, and returns its text.
        fn succeed(&self) -> String {
            let text = self.begun();
            self.results.send(Ok(text.len())).unwrap();
            text
        }

        fn fail(&self, error: ErrorKind) {
            self.begun();
            self.results.send(Err(error.into())).unwrap();
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_before_the_next_that_can() {
        let (mut writer, control) = Control::new();
        for _ in 0..2 {
            writer.write_all(b"lost\n").unwrap();
        }
        control.fail(ErrorKind::StorageFull);
        // The report of the first line.
        control.fail(ErrorKind::BrokenPipe);
        writer.write_all(b"written\n").unwrap();
        assert_eq!(
            control.succeed(),
            "2 lines of the log could not be written\n"
        );
        assert_eq!(control.succeed(), "written\n");
        writer.write_all(b"the next\n").unwrap();
        assert_eq!(
            control.succeed(),
            "the next\n",
            "the number is reported once"
        );
    }

    #[test]
    fn lines_are_dropped_while_the_output_waits_and_too_many_wait_for_it() {
        let (mut writer, control) = Control::new();
        writer.write_all(b"first\n").unwrap();
        control.begun();
        let line = vec![b'x'; MAX_WAITING_BYTES / 4];
        for _ in 0..7 {
            writer.write_all(&line).unwrap();
        }
        control.results.send(Ok("first\n".len())).unwrap();
        assert_eq!(
            control.succeed(),
            "3 lines of the log could not be written\n"
        );
        for _ in 0..4 {
            assert_eq!(control.succeed().len(), line.len());
        }
        writer.write_all(b"last\n").unwrap();
        assert_eq!(control.succeed(), "last\n");
    }

    #[test]
    fn a_line_is_completed_where_the_output_takes_a_part_or_would_wait() {
        let (mut writer, control) = Control::new();
        writer.write_all(b"whole\n").unwrap();
        control.begun();
        control.results.send(Ok(2)).unwrap();
        control.fail(ErrorKind::WouldBlock);
        assert_eq!(control.succeed(), "ole\n");
    }

    #[test]
    fn the_guard_waits_until_the_lines_are_written() {
        let (writer, control) = Control::new();
        let guard = writer.flush_guard();
        let count = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&count);
        thread::spawn(move || {
            while let Ok(line) = control.writes.recv() {
                written.fetch_add(1, Ordering::Relaxed);
                control.results.send(Ok(line.len())).unwrap();
            }
        });
        for line in ["one\n", "two\n"] {
            writer.clone().write_all(line.as_bytes()).unwrap();
        }
        drop(guard);
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
