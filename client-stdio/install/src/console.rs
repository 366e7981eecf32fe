//! The terminal of the person, or what is in its place.

use std::io::{self, IsTerminal, Read, Write, stderr, stdin};

use bridge_protocol::invisible::visible_text;

/// The maximum length of a token on standard input, in bytes.
const MAX_TOKEN_BYTES: u64 = 64 * 1024;

/// Output, questions and the token.
pub trait Console {
    /// Prints lines to standard output.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    fn print(&mut self, text: &str) -> io::Result<()>;

    /// Whether a person can be asked.
    fn is_terminal(&self) -> bool;

    /// Asks a question, and returns whether the answer is yes.
    ///
    /// # Errors
    ///
    /// The answer cannot be read.
    fn confirm(&mut self, question: &str) -> io::Result<bool>;

    /// Asks for a text that the terminal does not show.
    ///
    /// # Errors
    ///
    /// The text cannot be read.
    fn ask_secret(&mut self, question: &str) -> io::Result<String>;

    /// Returns all of standard input.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    fn input(&mut self) -> io::Result<String>;
}

/// The streams of this process. File names of others may have characters that change what a terminal
/// shows: these are printed as escapes.
#[derive(Debug, Default)]
pub struct Terminal;

impl Console for Terminal {
    fn print(&mut self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(format!("{}\n", visible_text(text)).as_bytes())?;
        stdout.flush()
    }

    fn is_terminal(&self) -> bool {
        stdin().is_terminal()
    }

    fn confirm(&mut self, question: &str) -> io::Result<bool> {
        // Standard output may be a file.
        let mut terminal = stderr().lock();
        write!(terminal, "{} [y/N] ", visible_text(question))?;
        terminal.flush()?;
        let mut answer = String::new();
        stdin().read_line(&mut answer)?;
        let answer = answer.trim();
        Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
    }

    fn ask_secret(&mut self, question: &str) -> io::Result<String> {
        rpassword::prompt_password(format!("{question}: "))
    }

    fn input(&mut self) -> io::Result<String> {
        let mut text = String::new();
        stdin().take(MAX_TOKEN_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }
}
