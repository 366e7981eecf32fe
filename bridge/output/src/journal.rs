//! Lines for the journal of systemd, which reads the priority of each line from a prefix and removes
//! it, whatever follows (sd-daemon(3), `SyslogLevelPrefix=` in systemd.exec(5)).

use std::fmt::Write;

use tracing::Level;

/// Whether stderr is connected to the journal.
#[cfg(target_os = "linux")]
pub(crate) fn is_stderr() -> bool {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    // A child process inherits the variable also if its stderr is another one.
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    let stderr = std::io::stderr().as_fd().try_clone_to_owned();
    let metadata = stderr.and_then(|stderr| File::from(stderr).metadata());
    metadata.is_ok_and(|it| is_stream(&stream, it.dev(), it.ino()))
}

/// Returns false: only Linux has such a journal.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_stderr() -> bool {
    false
}

/// Returns whether `JOURNAL_STREAM` names the stream with this device and inode.
#[cfg(target_os = "linux")]
fn is_stream(variable: &str, device: u64, inode: u64) -> bool {
    let numbers = variable.split_once(':');
    let numbers =
        numbers.and_then(|(device, inode)| Some((device.parse().ok()?, inode.parse().ok()?)));
    numbers == Some((device, inode))
}

/// Returns the prefix of a line with this level.
pub(crate) fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        Level::DEBUG | Level::TRACE => "<7>",
    }
}

/// Adds the prefix to each line of a text, because each is an entry of the journal. Empty lines, which
/// the journal drops, are removed.
pub(crate) fn with_priority(level: Level, text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !line.is_empty()) {
        // Writing into memory cannot fail.
        let _ = writeln!(lines, "{}{line}", priority(level));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_stream_is_named_by_its_device_and_inode() {
        assert!(is_stream("9:18446744073709551615", 9, u64::MAX));
        for other in ["9:8", "8:7", "9", "9:", ":7", "", "9:7:", "a:7"] {
            assert!(!is_stream(other, 9, 7), "{other}");
        }
    }

    #[test]
    fn each_line_of_a_text_has_the_priority() {
        let lines = with_priority(Level::ERROR, "\nthread 'x' panicked\n\n  at y\n");
        assert_eq!(lines, "<3>thread 'x' panicked\n<3>  at y\n");
    }
}
