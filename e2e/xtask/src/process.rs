//! Runs commands, with errors that describe what to do.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::Workspace;

/// Creates a cargo command that runs in the workspace's root, with the cargo that runs this
/// program.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    cargo_program(Path::new(&program), workspace)
}

/// Creates a command of a program that runs cargo in the workspace's root.
///
/// The variables that `cargo run` sets about *this* crate are removed from its environment: build
/// scripts that read them would run again each time.
pub(crate) fn cargo_program(program: &Path, workspace: &Workspace) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace.root());
    for (name, _) in env::vars_os() {
        let is_about_this_crate = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_about_this_crate {
            command.env_remove(name);
        }
    }
    command
}

/// Creates a cargo command whose compiler for the crates of the workspace is clippy, so that one build
/// also lints. `cargo clippy` compiles all dependencies once more.
pub(crate) fn cargo_with_clippy(workspace: &Workspace) -> Command {
    let mut command = cargo(workspace);
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    command
}

/// Returns the folder of cargo.
pub(crate) fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// Returns the compiler flag that removes cargo's registry folder from the source paths in compiled
/// code.
pub(crate) fn without_registry_path() -> String {
    cargo_home()
        .map(|home| {
            format!(
                "--remap-path-prefix={}=",
                home.join("registry/src").display()
            )
        })
        .unwrap_or_default()
}

/// Runs a command with its output shown to the user.
///
/// `advice` ends the error's message and describes what to do when the command fails.
pub(crate) fn run(command: &mut Command, advice: &str) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| start_error(command, &error, advice))?;
    check(command, status, advice)
}

/// Runs a command and returns its stdout. The output is shown only if the command fails.
///
/// `advice` ends the error's message and describes what to do when the command fails.
pub(crate) fn capture(command: &mut Command, advice: &str) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| start_error(command, &error, advice))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprint!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
    }
    check(command, output.status, advice)?;
    Ok(stdout)
}

/// Runs a command and returns its stdout, or `None` if it fails or does not exist.
pub(crate) fn try_capture(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// Runs `from | into`, and fails if either of the two does.
pub(crate) fn run_piped(from: &mut Command, into: &mut Command, advice: &str) -> Result<()> {
    let mut source = from
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| start_error(from, &error, advice))?;
    let Some(output) = source.stdout.take() else {
        bail!("{} has no output: {advice}", short_name(from));
    };
    let into_status = into.stdin(output).status();
    let from_status = source.wait()?;
    let into_status = into_status.map_err(|error| start_error(into, &error, advice))?;
    check(into, into_status, advice)?;
    check(from, from_status, advice)
}

/// Kills a child with its descendants: cargo does not end the programs that it runs.
///
/// The child stays in the process group of this program, because Ctrl-C in a terminal ends only one
/// group. A process whose parent has already ended is not found.
pub(crate) fn kill_with_descendants(child: &mut Child) -> Result<()> {
    let pids = descendants(child.id())?;
    child.kill()?;
    for pid in pids.into_iter().filter_map(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::KILL);
    }
    Ok(())
}

/// Returns the ids of a process's descendants, from `/proc/PID/stat` (proc_pid_stat(5)).
fn descendants(ancestor: u32) -> Result<Vec<i32>> {
    let entries = fs::read_dir("/proc").context("run this on Linux")?;
    let all: Vec<(i32, i32)> = entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The second field, the name, may contain spaces; the parent is the second after it.
            let (_, after_name) = stat.rsplit_once(')')?;
            Some((pid, after_name.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![i32::try_from(ancestor)?];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|(_, its_parent)| *its_parent == parent);
        let children: Vec<_> = children.map(|(pid, _)| *pid).collect();
        found.extend_from_slice(&children);
        parents.extend(children);
    }
    Ok(found)
}

fn check(command: &Command, status: ExitStatus, advice: &str) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("`{}` failed: {advice}", short_name(command))
}

fn start_error(command: &Command, error: &std::io::Error, advice: &str) -> anyhow::Error {
    anyhow!(
        "`{}` does not start ({error}): {advice}",
        short_name(command)
    )
}

/// Returns the program and its first argument, without their folders: enough to know which command
/// failed.
fn short_name(command: &Command) -> String {
    let parts = [Some(command.get_program()), command.get_args().next()];
    let parts = parts.into_iter().flatten().map(|part| {
        Path::new(part)
            .file_name()
            .unwrap_or(part)
            .to_string_lossy()
    });
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    #[test]
    fn an_error_contains_the_command_and_the_advice() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 3"]);
        let error = run(&mut command, "run it by hand").unwrap_err();
        assert_eq!(error.to_string(), "`sh -c` failed: run it by hand");
    }

    #[test]
    fn a_program_that_is_missing_does_not_start() {
        let error = capture(&mut Command::new("/nowhere/npm"), "install Node 20").unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("`npm` does not start"), "{message}");
        assert!(message.ends_with("install Node 20"), "{message}");
    }

    /// The output ends when no process holds it any more.
    #[test]
    fn a_child_is_killed_with_its_descendants() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'sleep infinity & echo started; wait'; true"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        kill_with_descendants(&mut child).unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(output.read_line(&mut line).unwrap(), 0);
    }

    #[test]
    fn a_pipe_fails_if_either_command_fails() {
        let sh = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert!(run_piped(&mut sh("echo a"), &mut sh("grep -q a"), "").is_ok());
        assert!(run_piped(&mut sh("exit 1"), &mut sh("cat >/dev/null"), "").is_err());
        assert!(run_piped(&mut sh("echo a"), &mut sh("cat >/dev/null; exit 1"), "").is_err());
    }
}
