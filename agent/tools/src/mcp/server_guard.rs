//! Runs an MCP server over stdio and ends it, with all that it has started, when the agent was killed.
//!
//! An agent that is killed with SIGKILL cannot end its servers, and not every server ends when its stdin
//! does. This process is the leader of their process group. It leaves stdin and stdout to the server,
//! and only watches whether the other end of stdin is closed. On Linux, processes that leave the group
//! become children of this one, and end with it.

use std::ffi::OsString;
use std::process::ExitCode;

use bridge_output::print_to_stderr;

/// The exit code when the server cannot be started.
const EXIT_NOT_STARTED: u8 = 127;

/// Runs a command until it ends, or until the other end of stdin is closed.
pub fn run(command: Vec<OsString>) -> ExitCode {
    let Some((program, arguments)) = command.split_first() else {
        print_to_stderr("usage: mcp-web run-server COMMAND [ARGUMENT …]");
        return ExitCode::from(EXIT_NOT_STARTED);
    };
    #[cfg(target_os = "linux")]
    linux::adopt_descendants();
    let child = std::process::Command::new(program).args(arguments).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let program = program.to_string_lossy();
            print_to_stderr(format_args!("`{program}` cannot be started: {error}"));
            return ExitCode::from(EXIT_NOT_STARTED);
        }
    };
    #[cfg(unix)]
    unix::end_with_stdin(&child);
    let status = child.wait();
    #[cfg(target_os = "linux")]
    linux::end_descendants();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            print_to_stderr(format_args!("the server has ended: {status}"));
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

    use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process, kill_process_group};

    use crate::closed_stdin;

    /// How long a server may take to end after its stdin was closed. An agent that stops waits longer.
    const EXIT_TIMEOUT: Duration = Duration::from_millis(1500);

    /// Starts a thread that ends the server and all that it has started, some time after the other end
    /// of stdin is closed.
    pub(super) fn end_with_stdin(child: &Child) {
        let server = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        thread::spawn(move || {
            closed_stdin::wait();
            thread::sleep(EXIT_TIMEOUT);
            #[cfg(target_os = "linux")]
            super::linux::end_descendants();
            // The process leads its group unless something other than an agent has started it.
            if getpgrp() == getpid() {
                let _ = kill_process_group(getpgrp(), Signal::KILL);
            } else if let Some(server) = server {
                let _ = kill_process(server, Signal::KILL);
            }
        });
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

    /// How often the descendants are looked for: each time, those that were killed may have started
    /// others before.
    const MAX_ROUNDS: usize = 20;

    /// Makes processes whose parent ends children of this one.
    pub(super) fn adopt_descendants() {
        let _ = set_child_subreaper(Some(getpid()));
    }

    /// Kills all processes that have been started by this one or by those.
    pub(super) fn end_descendants() {
        for _ in 0..MAX_ROUNDS {
            let descendants = descendants();
            if descendants.is_empty() {
                return;
            }
            for process in descendants {
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }

    /// Returns the descendants that have not ended.
    fn descendants() -> Vec<Pid> {
        let processes = processes();
        let mut found = vec![getpid()];
        let mut index = 0;
        while let Some(parent) = found.get(index).copied() {
            let children = processes.iter().filter(|(_, of)| *of == parent);
            found.extend(children.map(|(process, _)| *process));
            index += 1;
        }
        found.split_off(1)
    }

    /// Returns all processes that have not ended, each with its parent.
    fn processes() -> Vec<(Pid, Pid)> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let stat = |entry: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()
        };
        entries
            .filter_map(stat)
            .filter_map(|text| parse(&text))
            .collect()
    }

    /// Parses a line of `/proc/PID/stat`. The name of a program may have spaces and parentheses.
    fn parse(stat: &str) -> Option<(Pid, Pid)> {
        let (head, tail) = stat.rsplit_once(") ")?;
        let process = head.split(' ').next()?.parse().ok()?;
        let mut fields = tail.split(' ');
        let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
        let has_ended = matches!(state, "Z" | "X");
        (!has_ended).then_some((Pid::from_raw(process)?, Pid::from_raw(parent)?))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_line_about_a_process_has_its_parent() {
            let pid = |raw| Pid::from_raw(raw).unwrap();
            assert_eq!(parse("7 (a) b) S 5 7 7"), Some((pid(7), pid(5))));
            assert_eq!(parse("7 (sh) Z 5 7 7"), None);
            assert_eq!(parse(""), None);
        }
    }
}
