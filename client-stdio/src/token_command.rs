//! The command that prints a token: how it is written, and one run of it.
//!
//! It runs without a shell. Its text is split into words as a shell does it, with quotes; a pipe needs
//! `sh -c '…'`.

use std::fmt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::bearer_token::BearerToken;
use crate::token_redactor::TokenRedactor;

/// The maximum size of what a command prints, and of what is kept of stderr, in bytes. It is several times
/// the longest token.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// The size of the end of stderr that is logged, in bytes.
const MAX_STDERR_BYTES: usize = 2 * 1024;

/// The size of the pieces in which output is read, in bytes.
const READ_BYTES: usize = 4 * 1024;

/// A command that prints a token. Its arguments may have secrets, so that only the name of the program
/// is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenCommand {
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
}

/// The output of a command that has ended.
pub(crate) struct CommandOutput {
    program: String,
    status: ExitStatus,
    stdout: Vec<u8>,
    /// The end of what it wrote to stderr, which may be longer than what is logged.
    stderr: Vec<u8>,
}

/// Why a command has not printed a token. No text of the command is part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenCommandError {
    #[error("`{0}` cannot be started: {1}")]
    Start(String, String),
    #[error("`{0}` has not ended within {1:?}")]
    Timeout(String, Duration),
    #[error("`{0}` has printed more than {MAX_OUTPUT_BYTES} bytes: it must print the token alone")]
    TooLong(String),
    #[error("`{0}` has ended with {1}")]
    Status(String, String),
    #[error("`{0}` has printed nothing: it must print the token to stdout")]
    Empty(String),
    #[error("`{0}` has printed several lines: it must print the token alone")]
    SeveralLines(String),
    #[error("`{0}` has not printed a token: visible ASCII characters without spaces")]
    Malformed(String),
}

impl TokenCommand {
    /// Parses a command. Returns `None` if it has no words, or a quote is not closed. On Windows, a backslash
    /// is a part of a path and escapes nothing.
    pub(crate) fn parse(text: &str, timeout: Duration) -> Option<Self> {
        let words = if cfg!(windows) {
            shlex::split(&text.replace('\\', r"\\"))
        } else {
            shlex::split(text)
        };
        let mut words = words?.into_iter();
        let program = words.next().filter(|program| !program.is_empty())?;
        Some(Self {
            program,
            arguments: words.collect(),
            timeout,
        })
    }

    /// Runs the command. Dropping the future kills it, and on Unix also the processes that it has started.
    pub(crate) async fn run(&self) -> Result<CommandOutput, TokenCommandError> {
        let program = || self.program.clone();
        let cannot_start = |error: std::io::Error| {
            let reason = error.kind().to_string();
            TokenCommandError::Start(program(), reason)
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(cannot_start)?;
        #[cfg(unix)]
        let group = CommandGroup::new(child.id());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdout = async {
            let too_long = || TokenCommandError::TooLong(program());
            read_limited(stdout).await.ok_or_else(too_long)
        };
        let stderr = async { Ok(read_end(stderr).await) };
        let running = async {
            let (stdout, stderr) = tokio::try_join!(stdout, stderr)?;
            // It is reaped only now: before, no other group can have the number of its group.
            let status = child.wait().await.map_err(cannot_start)?;
            #[cfg(unix)]
            group.release();
            Ok::<_, TokenCommandError>((stdout, stderr, status))
        };
        let ended = tokio::time::timeout(self.timeout, running).await;
        let timed_out = |_| Err(TokenCommandError::Timeout(program(), self.timeout));
        let (stdout, stderr, status) = ended.unwrap_or_else(timed_out)?;
        Ok(CommandOutput {
            program: program(),
            status,
            stdout,
            stderr,
        })
    }
}

/// The process group of a command. Dropping it kills all processes in it.
#[cfg(unix)]
struct CommandGroup(Option<Pid>);

#[cfg(unix)]
impl CommandGroup {
    fn new(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok());
        Self(leader.and_then(Pid::from_raw))
    }

    /// Lets the processes run that the command has left behind.
    fn release(mut self) {
        self.0 = None;
    }
}

#[cfg(unix)]
impl Drop for CommandGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Shows the program only.
impl fmt::Debug for TokenCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenCommand({:?})", self.program)
    }
}

impl CommandOutput {
    /// Returns the lines that were printed, one of which may be a token even if the output is not valid.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.stdout);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    /// Returns the end of what the command wrote to stderr. Tokens are replaced before it is cut, because a
    /// part of one would not be recognized.
    pub(crate) fn stderr_end(&self, redactor: &TokenRedactor) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let text = redactor.redact(text.trim());
        let start = text.len().saturating_sub(MAX_STDERR_BYTES);
        text[text.ceil_char_boundary(start)..].to_owned()
    }

    /// Returns the token.
    pub(crate) fn token(&self) -> Result<BearerToken, TokenCommandError> {
        let program = || self.program.clone();
        if !self.status.success() {
            let status = self.status.to_string();
            return Err(TokenCommandError::Status(program(), status));
        }
        match self.lines().as_slice() {
            [] => Err(TokenCommandError::Empty(program())),
            [line] => {
                let token = BearerToken::parse(line);
                token.ok_or_else(|| TokenCommandError::Malformed(program()))
            }
            _ => Err(TokenCommandError::SeveralLines(program())),
        }
    }
}

/// Reads all output. Returns `None` if it is too long.
async fn read_limited(output: Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(output) = output {
        let mut limited = output.take(MAX_OUTPUT_BYTES as u64 + 1);
        // A pipe that breaks ends the output.
        let _ = limited.read_to_end(&mut text).await;
    }
    (text.len() <= MAX_OUTPUT_BYTES).then_some(text)
}

/// Reads all output, and returns its end, which is longer than any token.
async fn read_end(output: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut end = Vec::new();
    let mut piece = [0; READ_BYTES];
    if let Some(mut output) = output {
        while let Ok(length @ 1..) = output.read(&mut piece).await {
            end.extend_from_slice(&piece[..length]);
            end.drain(..end.len().saturating_sub(MAX_OUTPUT_BYTES));
        }
    }
    end
}

#[cfg(all(test, unix))]
mod tests {
    use tokio::net::unix::pipe::OpenOptions;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn shell(script: &str) -> TokenCommand {
        TokenCommand {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            timeout: TIMEOUT,
        }
    }

    async fn run(command: &TokenCommand) -> Result<String, TokenCommandError> {
        let token = command.run().await?.token()?;
        Ok(token.expose().to_owned())
    }

    #[test]
    fn a_command_is_split_like_a_shell_does_it() {
        let words = |text: &str| {
            let command = TokenCommand::parse(text, TIMEOUT)?;
            let mut words = vec![command.program];
            words.extend(command.arguments);
            Some(words.join("|"))
        };
        for (text, expected) in [
            (
                "gcloud auth print-identity-token",
                Some("gcloud|auth|print-identity-token"),
            ),
            (
                "'/opt/my tools/login' --user \"a b\" c\\ d",
                Some("/opt/my tools/login|--user|a b|c d"),
            ),
            (
                "sh -c 'login | jq -r .token'",
                Some("sh|-c|login | jq -r .token"),
            ),
            (
                "login $HOME `id` | cat > f",
                Some("login|$HOME|`id`|||cat|>|f"),
            ),
            ("'login", None),
            ("'' login", None),
            ("  ", None),
        ] {
            assert_eq!(words(text).as_deref(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn a_token_is_alone_on_its_line() {
        use TokenCommandError as E;
        let sh = || "sh".to_owned();
        for (script, expected) in [
            ("echo one-token", Ok("one-token")),
            (
                "printf 'Bearer one-token\\r\\n\\n'; echo hint >&2",
                Ok("one-token"),
            ),
            ("true", Err(E::Empty(sh()))),
            ("echo; echo", Err(E::Empty(sh()))),
            ("echo one; echo two", Err(E::SeveralLines(sh()))),
            ("echo two words", Err(E::Malformed(sh()))),
            ("printf '\\377'", Err(E::Malformed(sh()))),
            ("yes", Err(E::TooLong(sh()))),
            (
                "echo one; exit 3",
                Err(E::Status(sh(), "exit status: 3".to_owned())),
            ),
        ] {
            let outcome = run(&shell(script)).await;
            assert_eq!(outcome.as_deref(), expected.as_ref().copied(), "{script}");
        }
        let missing = TokenCommand::parse("/no/such/program s3cret", TIMEOUT).unwrap();
        let error = run(&missing).await.unwrap_err().to_string();
        assert!(
            error.contains("/no/such/program") && !error.contains("s3cret"),
            "{error}"
        );
        assert!(!format!("{missing:?}").contains("s3cret"));
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_is_killed_with_what_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let mut mkfifo = std::process::Command::new("mkfifo");
        assert!(mkfifo.arg(&path).status().unwrap().success());
        let mut fifo = OpenOptions::new().open_receiver(&path).unwrap();
        let script = format!(
            "(echo started; exec sleep 600) > '{}' & wait",
            path.display()
        );
        let command = TokenCommand {
            timeout: Duration::from_secs(3),
            ..shell(&script)
        };
        let error = run(&command).await.unwrap_err();
        assert_eq!(
            error,
            TokenCommandError::Timeout("sh".to_owned(), command.timeout)
        );
        // It ends when no process has it any more.
        let mut text = String::new();
        let ended = tokio::time::timeout(TIMEOUT, fifo.read_to_string(&mut text));
        ended.await.unwrap().unwrap();
        assert_eq!(text, "started\n");
    }

    #[tokio::test]
    async fn the_end_of_stderr_has_no_part_of_a_token_however_much_there_is() {
        let script = "i=0; while [ $i -lt 9000 ]; do echo line $i >&2; i=$((i+1)); done; \
                      t=$(printf %03000d 7 | tr 0 a); echo $t >&2; echo the end >&2; echo $t";
        let output = shell(script).run().await.unwrap();
        let redactor = TokenRedactor::for_renewed_tokens();
        redactor.learn(&output.lines());
        let end = output.stderr_end(&redactor);
        assert!(end.ends_with("line 8999\n[token]\nthe end"), "{end}");
        assert!(end.len() <= MAX_STDERR_BYTES && output.stderr.len() <= MAX_OUTPUT_BYTES);
        assert!(output.token().is_ok());
    }
}
