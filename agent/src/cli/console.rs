//! What the commands print, and what they ask.
//!
//! Servers and files of others may contain characters that change what a terminal shows. All output
//! passes through [`escape`] here.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdin, stdout};
use std::process::ExitCode;

/// The exit code when a command fails.
pub(super) const EXIT_FAILED: u8 = 1;

/// Why a command ends before it is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandError {
    /// The message for the person.
    Failed(String),
    /// Nobody reads the output any more, as after `| head`.
    OutputClosed,
}

impl CommandError {
    /// Prints the error, and returns the exit code for it.
    pub(super) fn exit(self) -> ExitCode {
        if let Self::Failed(error) = self {
            bridge_output::print_error(escape(&error));
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

    /// Prints a text to stdout, which ends with a line break then.
    pub(super) fn print(&mut self, text: impl AsRef<str>) -> Result<(), CommandError> {
        let text = text.as_ref();
        let text = escape(text.strip_suffix('\n').unwrap_or(text));
        // One write holds the lock of stdout once.
        self.output.write_all((text + "\n").as_bytes())?;
        Ok(self.output.flush()?)
    }

    /// Asks a question. Returns whether the answer is `y`, or `None` if there is nobody to answer.
    pub(super) fn ask(&self, question: &str) -> Result<Option<bool>, CommandError> {
        (self.ask)(&escape(question)).map_err(|error| {
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

/// Shows the characters that a terminal obeys, and those that nobody sees, as `\u{1b}`. Line breaks and
/// tabs stay.
pub(super) fn escape(text: &str) -> String {
    escape_characters(text, |it| is_hidden(it) && !matches!(it, '\n' | '\t'))
}

/// Escapes a text that must stay on its line, such as a name: line breaks and tabs, too.
pub(super) fn escape_line(text: &str) -> String {
    escape_characters(text, is_hidden)
}

fn escape_characters(text: &str, is_escaped: fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_escaped(character) {
            let _ = write!(escaped, "{}", character.escape_unicode());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Returns whether a terminal obeys a character, or shows nothing for it: control characters, marks of
/// direction and of zero width, fillers, selectors of variants, separators of lines, and tags.
fn is_hidden(character: char) -> bool {
    let is_format = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    is_format || character.is_control()
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
    fn what_a_terminal_obeys_and_what_nobody_sees_is_escaped() {
        for (text, expected) in [
            ("a\n\tä 語 \\u{1b}", "a\n\tä 語 \\u{1b}"),
            ("\u{1b}[2Ja\r\u{7}\u{9b}", r"\u{1b}[2Ja\u{d}\u{7}\u{9b}"),
            (
                "a\u{200b}b\u{202e}c\u{2066}",
                r"a\u{200b}b\u{202e}c\u{2066}",
            ),
            (
                "\u{e0041}\u{feff}\u{ad}\u{3164}",
                r"\u{e0041}\u{feff}\u{ad}\u{3164}",
            ),
            ("\u{2028}\u{fe0f}\0", r"\u{2028}\u{fe0f}\u{0}"),
        ] {
            assert_eq!(escape(text), expected);
        }
        assert_eq!(escape_line("a\n\tb"), r"a\u{a}\u{9}b");
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
