//! Output of the commands, and their questions.
//!
//! Servers and files of others may contain characters that change what a terminal shows. All output
//! passes through [`visible_text`] here.

use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdin, stdout};
use std::process::ExitCode;

use bridge_protocol::invisible::visible_text;

/// The exit code when a command fails.
pub(super) const EXIT_FAILED: u8 = 1;

/// Why a command ends before it is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandError {
    /// The message for the person.
    Failed(String),
    /// The reader of the output is gone, as after `| head`.
    OutputClosed,
}

impl CommandError {
    /// Prints the error, and returns the exit code for it.
    pub(super) fn exit(self) -> ExitCode {
        if let Self::Failed(error) = self {
            bridge_output::print_error(visible_text(&error));
        }
        ExitCode::from(EXIT_FAILED)
    }
}

impl From<String> for CommandError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Failed(format!("the output cannot be written: {error}")),
        }
    }
}

/// The terminal, or what is in its place.
pub(super) struct Console {
    output: Box<dyn Write + Send>,
    ask: fn(&str) -> io::Result<Option<bool>>,
}

impl Console {
    /// Creates the console of stdin, stdout and stderr.
    pub(super) fn stdio() -> Self {
        Self {
            output: Box::new(stdout()),
            ask: ask_on_terminal,
        }
    }

    /// Creates a console that prints to `output` and always has this answer.
    #[cfg(test)]
    pub(super) fn scripted(
        output: impl Write + Send + 'static,
        ask: fn(&str) -> io::Result<Option<bool>>,
    ) -> Self {
        Self {
            output: Box::new(output),
            ask,
        }
    }

    /// Prints a text to stdout. One line break follows the text.
    pub(super) fn print(&mut self, text: impl AsRef<str>) -> Result<(), CommandError> {
        let text = text.as_ref();
        let text = visible_text(text.strip_suffix('\n').unwrap_or(text));
        // One write holds the lock of stdout once.
        self.output.write_all(format!("{text}\n").as_bytes())?;
        Ok(self.output.flush()?)
    }

    /// Asks a question. Returns whether the answer is `y`, or `None` without a terminal.
    pub(super) fn ask(&self, question: &str) -> Result<Option<bool>, CommandError> {
        (self.ask)(&visible_text(question)).map_err(|error| {
            let message = format!("the answer cannot be read: {error}");
            CommandError::Failed(message)
        })
    }
}

fn ask_on_terminal(question: &str) -> io::Result<Option<bool>> {
    if !stdin().is_terminal() {
        return Ok(None);
    }
    // Stdout may be a file.
    let mut terminal = stderr().lock();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(Some(answer.trim().eq_ignore_ascii_case("y")))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FailingOutput(ErrorKind);

    impl Write for FailingOutput {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_output_ends_a_command_without_a_message() {
        let mut console = Console::scripted(FailingOutput(ErrorKind::BrokenPipe), |_| Ok(None));
        assert_eq!(console.print("a"), Err(CommandError::OutputClosed));
        let mut console = Console::scripted(FailingOutput(ErrorKind::StorageFull), |_| Ok(None));
        let error = console.print("a").unwrap_err();
        assert!(matches!(error, CommandError::Failed(text) if text.contains("cannot be written")));
    }
}
