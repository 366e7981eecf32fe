//! The audit file: a line of JSON for each call that an agent has made or refused.

mod entry;
mod file;

use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) use entry::CallEntry;
use file::AuditFile;

/// The number of lines that wait to be written. While there are more, calls of sources are refused.
const QUEUE_LINES: usize = 1024;

/// How many of them are only for calls of sources.
const RESERVED_LINES: usize = 256;

/// The time after which a write that has not ended counts as a failure.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of lines that are written at once.
const BATCH_LINES: usize = 128;

/// The time between two attempts to write lines that could not be written.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The audit file of an agent, or none.
#[derive(Debug, Default)]
pub struct AuditLog(Option<OpenLog>);

#[derive(Debug)]
struct OpenLog {
    lines: mpsc::Sender<String>,
    is_failing: Arc<AtomicBool>,
    closing: CancellationToken,
    writer: TaskTracker,
}

/// The right to write one line.
#[derive(Debug)]
pub(crate) struct LinePermit(Option<mpsc::OwnedPermit<String>>);

impl AuditLog {
    /// Opens or creates the file. The returned log writes in a task of the current runtime.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let file = AuditFile::open(path)?;
        let (lines, queue) = mpsc::channel(QUEUE_LINES);
        let (is_failing, closing) = (Arc::<AtomicBool>::default(), CancellationToken::new());
        let writer = TaskTracker::new();
        writer.spawn(write_lines(
            file,
            queue,
            Arc::clone(&is_failing),
            closing.clone(),
        ));
        writer.close();
        Ok(Self(Some(OpenLog {
            lines,
            is_failing,
            closing,
            writer,
        })))
    }

    /// Returns whether there is a file.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Writes a line for which none was reserved. Returns whether there was room: a part of the queue
    /// is only for calls that are not made without a line.
    pub(crate) fn write(&self, entry: &CallEntry) -> bool {
        let Some(log) = &self.0 else {
            return true;
        };
        log.lines.capacity() > RESERVED_LINES && log.lines.try_send(entry.to_line()).is_ok()
    }

    /// Reserves a line for a call. `None` if the file cannot be written at the moment.
    pub(crate) fn reserve(&self) -> Option<LinePermit> {
        let Some(log) = &self.0 else {
            return Some(LinePermit(None));
        };
        if log.is_failing.load(Ordering::Relaxed) {
            return None;
        }
        let permit = log.lines.clone().try_reserve_owned().ok()?;
        Some(LinePermit(Some(permit)))
    }

    /// Writes what is queued, if the file can be written, and ends.
    pub async fn close(&self) {
        if let Some(log) = &self.0 {
            log.closing.cancel();
            log.writer.wait().await;
        }
    }
}

impl LinePermit {
    pub(super) fn write(self, entry: &CallEntry) {
        if let Some(permit) = self.0 {
            permit.send(entry.to_line());
        }
    }
}

/// Writes lines until the log is closed. A line that cannot be written is tried again.
async fn write_lines(
    mut file: AuditFile,
    mut queue: mpsc::Receiver<String>,
    is_failing: Arc<AtomicBool>,
    closing: CancellationToken,
) {
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            biased;
            // Lines that are queued are still received then.
            () = closing.cancelled(), if !queue.is_closed() => {
                queue.close();
                continue;
            }
            received = queue.recv_many(&mut batch, BATCH_LINES) => if received == 0 {
                return;
            },
        }
        let mut text = batch.concat();
        batch.clear();
        loop {
            let result = {
                let mut writing = pin!(write(file, text));
                let written = tokio::select! {
                    written = &mut writing => written,
                    () = sleep(WRITE_TIMEOUT) => {
                        report_failure(&is_failing, &"a write does not end");
                        tokio::select! {
                            written = &mut writing => written,
                            () = closing.cancelled() => {
                                report_loss();
                                return;
                            }
                        }
                    }
                };
                (file, text) = (written.0, written.1);
                written.2
            };
            let Err(error) = result else {
                break;
            };
            report_failure(&is_failing, &error);
            tokio::select! {
                () = sleep(RETRY_INTERVAL) => {}
                () = closing.cancelled() => {
                    report_loss();
                    return;
                }
            }
        }
        if is_failing.swap(false, Ordering::Relaxed) {
            tracing::warn!("the audit file can be written again");
        }
    }
}

fn report_loss() {
    tracing::error!("the last lines of the audit file are lost");
}

/// Refuses calls of sources from now on, and logs why.
fn report_failure(is_failing: &AtomicBool, error: &dyn Display) {
    if !is_failing.swap(true, Ordering::Relaxed) {
        tracing::error!(%error, "the audit file cannot be written: calls of sources are refused until \
                                 it can");
    }
}

/// Writes on a thread that may block.
async fn write(mut file: AuditFile, text: String) -> (AuditFile, String, io::Result<()>) {
    let path = file.path().to_owned();
    let writing = spawn_blocking(move || {
        let result = file.append(text.as_bytes());
        (file, text, result)
    });
    match writing.await {
        Ok(done) => done,
        Err(error) => {
            let text = String::new();
            (AuditFile::new(path), text, Err(io::Error::other(error)))
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::invisible::is_invisible;
    use bridge_protocol::{QueryCaller, QueryId};
    use serde_json::value::RawValue;

    use super::*;
    use crate::testing::staff;

    fn entry() -> CallEntry {
        let arguments = RawValue::from_string(r#"{"a":1}"#.to_owned()).unwrap();
        let query = QueryId::from("q");
        let mut entry = CallEntry::new(None, Some("staff"), &query, "notes", "read", arguments);
        entry.end("ok", Duration::from_millis(7), 12);
        entry
    }

    #[test]
    fn a_reader_of_a_line_sees_all_of_its_characters() {
        let text = "ann\u{202e}\u{200b}\u{fe0f}\u{2800}\u{2028}\u{9b}\u{e0041}❤\u{fe0f}";
        let arguments = serde_json::json!({ "to": text, text: 1 });
        let raw = RawValue::from_string(arguments.to_string()).unwrap();
        let caller = QueryCaller {
            app: text.to_owned(),
            ..staff(text)
        };
        let query = QueryId::from(text);
        let line = CallEntry::new(Some(&caller), Some(text), &query, text, text, raw).to_line();
        let line = line.strip_suffix('\n').unwrap();
        assert!(!line.contains(is_invisible), "{line}");
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["arguments"], arguments);
        assert_eq!(
            (&value["tool"], &value["user"]),
            (&text.into(), &text.into())
        );
    }

    #[tokio::test]
    async fn lines_are_json_and_only_the_owner_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let log = AuditLog::open(path.clone()).unwrap();
        for _ in 0..3 {
            log.reserve().unwrap().write(&entry());
        }
        log.close().await;
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            (&lines[0]["ms"], &lines[0]["bytes"]),
            (&7.into(), &12.into())
        );
        assert_eq!(lines[0]["arguments"], serde_json::json!({ "a": 1 }));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn a_file_that_was_renamed_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let log = AuditLog::open(path.clone()).unwrap();
        std::fs::rename(&path, folder.path().join("old")).unwrap();
        log.reserve().unwrap().write(&entry());
        log.close().await;
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn while_the_file_cannot_be_written_no_line_can_be_reserved_and_none_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs").join("audit.jsonl");
        std::fs::create_dir(folder.path().join("logs")).unwrap();
        let log = AuditLog::open(path.clone()).unwrap();
        std::fs::remove_dir_all(folder.path().join("logs")).unwrap();
        log.reserve().unwrap().write(&entry());
        while log.reserve().is_some() {
            tokio::task::yield_now().await;
        }
        std::fs::create_dir(folder.path().join("logs")).unwrap();
        while log.reserve().is_none() {
            // The paused clock advances when nothing else is to do.
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        log.close().await;
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    /// Creates a pipe without a reader. Opening it does not end.
    #[cfg(unix)]
    fn pipe(folder: &tempfile::TempDir) -> PathBuf {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        path
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_write_that_does_not_end_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(&folder);
        let file = AuditFile::new(path.clone());
        let (lines, queue) = mpsc::channel(QUEUE_LINES);
        let (is_failing, closing) = (Arc::<AtomicBool>::default(), CancellationToken::new());
        let writing = write_lines(file, queue, Arc::clone(&is_failing), closing);
        let writing = tokio::spawn(writing);
        lines.send(entry().to_line()).await.unwrap();
        while !is_failing.load(Ordering::Relaxed) {
            sleep(WRITE_TIMEOUT / 10).await;
        }
        let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
        drop(lines);
        writing.await.unwrap();
        assert_eq!(reader.join().unwrap().lines().count(), 1);
        assert!(!is_failing.load(Ordering::Relaxed));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_write_that_does_not_end_delays_the_end_by_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(&folder);
        let file = AuditFile::new(path.clone());
        let (lines, queue) = mpsc::channel(QUEUE_LINES);
        let (is_failing, closing) = (Arc::<AtomicBool>::default(), CancellationToken::new());
        lines.send(entry().to_line()).await.unwrap();
        let began_at = std::time::Instant::now();
        closing.cancel();
        write_lines(file, queue, is_failing, closing).await;
        let elapsed = began_at.elapsed();
        assert!(
            elapsed >= WRITE_TIMEOUT && elapsed < 3 * WRITE_TIMEOUT,
            "{elapsed:?}"
        );
        // The thread that opens the pipe would not end.
        let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
        assert_eq!(reader.join().unwrap().lines().count(), 1);
    }

    #[tokio::test]
    async fn a_full_queue_refuses_more_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::open(folder.path().join("audit.jsonl")).unwrap();
        let permits: Vec<_> = (0..QUEUE_LINES).map(|_| log.reserve().unwrap()).collect();
        assert!(log.reserve().is_none());
        assert!(!log.write(&entry()));
        drop(permits);
        assert!(log.reserve().is_some() && log.write(&entry()));
        log.close().await;
    }

    #[tokio::test]
    async fn lines_without_a_reservation_leave_room_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::open(folder.path().join("audit.jsonl")).unwrap();
        let written = (0..QUEUE_LINES).filter(|_| log.write(&entry())).count();
        assert_eq!(written, QUEUE_LINES - RESERVED_LINES);
        let reserved = (0..RESERVED_LINES).map(|_| log.reserve().unwrap());
        assert_eq!(reserved.collect::<Vec<_>>().len(), RESERVED_LINES);
        log.close().await;
    }

    #[test]
    fn a_log_without_a_file_reserves_nothing() {
        let log = AuditLog::default();
        assert!(!log.is_open());
        log.reserve().unwrap().write(&entry());
    }
}
