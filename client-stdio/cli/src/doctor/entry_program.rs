//! The program that an entry of an AI client starts: whether it exists, and which version it is.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

/// How long a program may take to print its version. A package runner takes a second.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// How much of its output is read.
const MAX_OUTPUT_BYTES: u64 = 4096;

/// The exit code of a shell, and of `env`, for a program that does not exist.
const EXIT_NOT_FOUND: i32 = 127;

/// The argument of an entry that is replaced.
const STDIO: &str = "stdio";

/// Variables with which package runners use only their cache.
const OFFLINE: [(&str, &str); 2] = [("npm_config_offline", "true"), ("UV_OFFLINE", "1")];

/// A program with the arguments of an entry.
pub(super) struct EntryProgram<'a> {
    program: &'a Path,
    arguments: &'a [String],
}

/// Why a program does not print its version.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProgramProblem {
    /// Nothing is at its path.
    Missing,
    /// It is a package runner that is missing, or lacks Node.js.
    NoRunner,
    /// It is a package runner that does not have the package.
    NotInCache,
    /// It cannot be started, or ends with an error.
    Failed(String),
}

impl<'a> EntryProgram<'a> {
    pub(super) fn new(program: &'a Path, arguments: &'a [String]) -> Self {
        Self { program, arguments }
    }

    /// Runs the program for its version.
    pub(super) async fn version(&self) -> Result<String, ProgramProblem> {
        let failed = |reason: &str| Err(ProgramProblem::Failed(reason.to_owned()));
        let mut command = Command::new(self.program);
        command
            .args(self.version_arguments())
            .envs(OFFLINE)
            .env_remove("AUTH_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let running = tokio::time::timeout(VERSION_TIMEOUT, output(&mut command));
        let (status, text) = match running.await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {
                return Err(if self.is_runner() {
                    ProgramProblem::NoRunner
                } else {
                    ProgramProblem::Missing
                });
            }
            Ok(Err(error)) => return failed(&error.to_string()),
            Err(_) => return failed("it does not print its version"),
        };
        match status.code() {
            Some(0) => {}
            Some(EXIT_NOT_FOUND) if self.is_runner() => return Err(ProgramProblem::NoRunner),
            _ if self.is_runner() => return Err(ProgramProblem::NotInCache),
            _ => return failed(&format!("it ends with {status}")),
        }
        let text = String::from_utf8_lossy(&text);
        let word = text
            .lines()
            .next()
            .and_then(|line| line.split_whitespace().last());
        match word {
            Some(version) => Ok(version.to_owned()),
            None => failed("it prints no version"),
        }
    }

    /// Whether it is a program that starts the one of a package.
    fn is_runner(&self) -> bool {
        let name = self.program.to_string_lossy();
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        !name.starts_with("mcp-web")
    }

    fn version_arguments(&self) -> Vec<&str> {
        const VERSION: &str = "--version";
        if !self.is_runner() {
            return vec![VERSION];
        }
        let arguments = self.arguments.iter().map(String::as_str);
        let mut arguments: Vec<_> = arguments.take_while(|it| *it != STDIO).collect();
        arguments.push(VERSION);
        arguments
    }
}

/// Runs a program, and returns how it ended and the beginning of its output.
async fn output(command: &mut Command) -> io::Result<(ExitStatus, Vec<u8>)> {
    let mut group = ProgramGroup::spawn(command)?;
    let mut text = Vec::new();
    if let Some(stdout) = group.0.stdout.take() {
        stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut text).await?;
    }
    Ok((group.0.wait().await?, text))
}

/// A program and its descendants, which are killed on drop: a package runner starts the program of a package.
struct ProgramGroup(Child);

impl ProgramGroup {
    fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        command.process_group(0);
        command.kill_on_drop(true).spawn().map(Self)
    }
}

#[cfg(unix)]
impl Drop for ProgramGroup {
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};

        // Without an id, the program has ended.
        let id = self
            .0
            .id()
            .and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(id) = id {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_runner_stay_before_the_version() {
        let words = |program: &str, arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(|&it| it.to_owned()).collect();
            let program = EntryProgram::new(Path::new(program), &arguments);
            program.version_arguments().join(" ")
        };
        assert_eq!(words("/opt/mcp-web", &["stdio"]), "--version");
        assert_eq!(words(r"C:\mcp-web-stdio.exe", &[]), "--version");
        let npx = ["-y", "--prefer-offline", "mcp-web@0.2.0", "stdio"];
        let expected = "-y --prefer-offline mcp-web@0.2.0 --version";
        assert_eq!(words("/usr/bin/npx", &npx), expected);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_programs_that_a_runner_has_started_end_with_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'echo started; exec sleep 1000'; true"]);
        let mut group = ProgramGroup::spawn(command.stdout(Stdio::piped())).unwrap();
        let mut output = group.0.stdout.take().unwrap();
        let mut started = [0; 8];
        output.read_exact(&mut started).await.unwrap();
        drop(group);
        // The output ends when no process has it open.
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).await.unwrap();
        assert_eq!((&started, rest), (b"started\n", Vec::new()));
    }
}
