//! The release, the tools, and programs that end with their test.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use std::{env, fs, thread};

use tempfile::TempDir;

/// The token of pages and clients.
pub(crate) const TOKEN: &str = "token-of-the-packages-0123456789";
/// How long a program may take to print its next line, on a busy machine.
const LINE_TIMEOUT: Duration = Duration::from_secs(120);
/// The version of all packages.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn variable(name: &str) -> PathBuf {
    let value = env::var_os(name);
    let value =
        value.unwrap_or_else(|| panic!("{name}: run `cargo xtask test --packages` or `--cross`"));
    value.into()
}

/// Returns the path of a file in the release.
pub(crate) fn release(path: &str) -> PathBuf {
    variable("MCP_WEB_RELEASE").join(path)
}

/// Returns the only file of a folder of the release.
pub(crate) fn only_file(folder: &str) -> PathBuf {
    let mut paths = fs::read_dir(release(folder)).unwrap();
    let path = paths.next().unwrap().unwrap().path();
    assert!(paths.next().is_none(), "{folder} has more than one file");
    path
}

/// Returns a program of the npm packages of the tests.
pub(crate) fn node_program(name: &str) -> PathBuf {
    node_modules().join(".bin").join(name)
}

pub(crate) fn node_modules() -> PathBuf {
    variable("MCP_WEB_PACKAGES_NODE_MODULES")
}

/// Returns a program of the Python packages of the tests.
pub(crate) fn python_program(name: &str) -> PathBuf {
    variable("MCP_WEB_PACKAGES_PYTHON").join("bin").join(name)
}

/// Returns a program that was unpacked from a package of Debian.
pub(crate) fn debian_program(path: &str) -> PathBuf {
    variable("MCP_WEB_PACKAGES_DEBIAN").join(path)
}

/// Returns the folder of the system that packages of Debian are installed into.
pub(crate) fn debian_system() -> PathBuf {
    variable("MCP_WEB_PACKAGES_SYSTEM")
}

pub(crate) fn chromium() -> PathBuf {
    variable("MCP_WEB_CHROMIUM")
}

pub(crate) fn claude() -> PathBuf {
    let machine = if cfg!(target_arch = "x86_64") {
        "x64"
    } else {
        "arm64"
    };
    // The program itself: the command beside it waits for a script that would put it in place.
    let package = format!("@anthropic-ai/claude-code-linux-{machine}/claude");
    variable("MCP_WEB_CLIENTS_NODE_MODULES").join(package)
}

/// An empty home folder, which is removed at the end.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command with this home and only the variables that programs need to be found. It ends after five
    /// minutes, because a tool that waits for the network may do so for longer.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = self.direct_command("timeout");
        command.arg("300").arg(program.as_ref());
        command
    }

    /// A command that is the program itself, so that a signal to it reaches only the program.
    pub(crate) fn direct_command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap())
            .env("HOME", self.path())
            .current_dir(self.path());
        command
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command, and returns its stdout. Panics with its output if it fails.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = run(command);
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub(crate) fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

/// A program that runs, with all that it starts in its group, until it is dropped.
pub(crate) struct Running {
    child: Child,
    /// The lines of its stdout, which a thread reads.
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// Starts a program that reads its stdin.
    pub(crate) fn start_with_input(command: &mut Command) -> (Self, ChildStdin) {
        let mut program = Self::spawn(command.stdin(Stdio::piped()));
        let input = program.child.stdin.take().unwrap();
        (program, input)
    }

    fn spawn(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// Returns the next line, or `None` at the end of the output.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(LINE_TIMEOUT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the program prints nothing"),
        }
    }

    /// Waits for a line that contains this, and returns what follows it.
    pub(crate) fn wait_for(&mut self, mark: &str) -> String {
        while let Some(line) = self.next_line() {
            if let Some((_, rest)) = line.split_once(mark) {
                return rest.trim().to_owned();
            }
        }
        panic!("the program ended, and no line contains {mark:?}")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until every process that has its stdout has ended, and returns how the program has.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        while self.next_line().is_some() {}
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        signal("KILL", &format!("-{}", self.child.id()));
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process, or to the group whose number follows a minus. It may have ended.
pub(crate) fn signal(name: &str, process: &str) {
    let mut kill = Command::new("kill");
    let _ = kill
        .args(["-s", name, "--", process])
        .stderr(Stdio::null())
        .status();
}
