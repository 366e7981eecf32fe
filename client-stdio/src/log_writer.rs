//! The writer of the log. Each event is one line, even if its text contains line breaks, and never
//! contains the token.

use std::io::{self, Write};

use bridge_protocol::invisible::visible_line;

use crate::token_redactor::TokenRedactor;

/// Writes events of the log with visible escapes for invisible characters: text of the bridge and
/// the client cannot begin a new line or control the terminal.
pub(crate) struct LogWriter<W> {
    output: W,
    redactor: TokenRedactor,
}

impl<W> LogWriter<W> {
    pub(crate) fn new(output: W, redactor: TokenRedactor) -> Self {
        Self { output, redactor }
    }
}

impl<W: Write> Write for LogWriter<W> {
    /// Writes one event, which ends with a line feed.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let text = self
            .redactor
            .redact(text.strip_suffix('\n').unwrap_or(&text));
        // One write is one line, even if other threads write.
        let line = format!("{}\n", visible_line(&text));
        self.output.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use bridge_output::CapturedLog;

    use super::*;

    #[test]
    fn an_event_is_one_line_without_invisible_characters() {
        let writer = |log| LogWriter::new(log, TokenRedactor::default());
        let (log, _guard) = CapturedLog::start_through(writer);
        let text = "é\nERROR forged\r\u{1b}[2J\u{202e}\u{2800}";
        tracing::warn!("the bridge reports: {text}");
        tracing::warn!("the next event");
        let log = log.text();
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines.len(), 2, "{log}");
        assert!(lines[0].contains(r"é\u{a}ERROR forged\u{d}\"), "{log}");
        assert!(lines[0].contains(r"\u{202e}\u{2800}"), "{log}");
        assert!(!log.contains('\u{1b}'), "{log}");
        assert!(lines[1].contains("the next event"), "{log}");
    }
}
