//! Runs an MCP server over stdio and ends it, with all that it has started, when the agent was killed.
//!
//! An agent that is killed with SIGKILL cannot end its servers, and not every server ends when its stdin
//! does. This process is the leader of their process group. It leaves stdin and stdout to the server,
//! and only watches whether the other end of stdin is closed.

use std::ffi::OsString;
use std::process::ExitCode;

/// The exit code when the server cannot be started.
const EXIT_NOT_STARTED: u8 = 127;

/// Runs a command until it ends, or until the other end of stdin is closed.
pub(crate) fn run(command: Vec<OsString>) -> ExitCode {
    let Some((program, arguments)) = command.split_first() else {
        eprintln!("usage: mcp-web-agent run-server COMMAND [ARGUMENT …]");
        return ExitCode::from(EXIT_NOT_STARTED);
    };
    let child = std::process::Command::new(program).args(arguments).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let program = program.to_string_lossy();
            eprintln!("`{program}` cannot be started: {error}");
            return ExitCode::from(EXIT_NOT_STARTED);
        }
    };
    #[cfg(unix)]
    unix::end_with_stdin(&mut child);
    match child.wait() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("the server has ended: {status}");
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            ExitCode::from(code.unwrap_or(1))
        }
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(unix)]
mod unix {
    use std::process::Child;
    use std::thread;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process, kill_process_group};

    /// How long a server may take to end after its stdin was closed.
    const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

    /// Starts a thread that ends the process group some time after the other end of stdin is closed.
    pub(super) fn end_with_stdin(child: &mut Child) {
        let server = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        thread::spawn(move || {
            wait_until_closed();
            thread::sleep(EXIT_TIMEOUT);
            // The process is the leader of its group unless somebody else than an agent has started it.
            if getpgrp() == getpid() {
                let _ = kill_process_group(getpgrp(), Signal::KILL);
            } else if let Some(server) = server {
                let _ = kill_process(server, Signal::KILL);
            }
        });
    }

    /// Waits until nobody can write to stdin any more. Nothing is read from it.
    fn wait_until_closed() {
        let stdin = std::io::stdin();
        loop {
            let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_) => return,
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}
