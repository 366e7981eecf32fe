use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Result, anyhow, bail};

use crate::Workspace;

/// Cargo as the caller runs it, in the workspace's root.
///
/// What `cargo run` says about *this* crate is taken out of the environment: build scripts that look at
/// it would run again each time.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace.root());
    for (name, _) in env::vars_os() {
        let about_this_crate = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if about_this_crate {
            command.env_remove(name);
        }
    }
    command
}

/// The compiler flag that leaves cargo's own folder out of the source paths in what it compiles.
pub(crate) fn without_registry_path() -> String {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    home.map(|home| {
        format!(
            "--remap-path-prefix={}=",
            home.join("registry/src").display()
        )
    })
    .unwrap_or_default()
}

/// Runs a command whose output the user should see. `advice` is what to do when it fails.
pub(crate) fn run(command: &mut Command, advice: &str) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| start_error(command, &error, advice))?;
    check(command, status, advice)
}

/// Runs a command and returns what it printed to stdout. Its output is shown only when it fails.
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

/// The stdout of a command that is allowed to fail or not to exist.
pub(crate) fn try_capture(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// Runs `from | into`.
pub(crate) fn run_piped(from: &mut Command, into: &mut Command, advice: &str) -> Result<()> {
    let mut source = from
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| start_error(from, &error, advice))?;
    let Some(output) = source.stdout.take() else {
        bail!("{} has no output: {advice}", name(from));
    };
    let drained = into.stdin(output).status();
    let sent = source.wait()?;
    check(
        into,
        drained.map_err(|error| start_error(into, &error, advice))?,
        advice,
    )?;
    check(from, sent, advice)
}

fn check(command: &Command, status: ExitStatus, advice: &str) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("`{}` failed: {advice}", name(command))
}

fn start_error(command: &Command, error: &std::io::Error, advice: &str) -> anyhow::Error {
    anyhow!("`{}` does not start ({error}): {advice}", name(command))
}

/// The program and its first argument, without their folders: enough to know which command failed.
fn name(command: &Command) -> String {
    let words = [Some(command.get_program()), command.get_args().next()];
    let words = words.into_iter().flatten().map(|word| {
        Path::new(word)
            .file_name()
            .unwrap_or(word)
            .to_string_lossy()
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_says_what_to_do() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 3"]);
        let error = run(&mut command, "do it yourself").unwrap_err();
        assert_eq!(error.to_string(), "`sh -c` failed: do it yourself");
    }

    #[test]
    fn a_missing_program_is_reported_as_missing() {
        let error = capture(&mut Command::new("/nowhere/npm"), "install Node 20").unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("`npm` does not start"), "{message}");
        assert!(message.ends_with("install Node 20"), "{message}");
    }

    #[test]
    fn a_pipe_fails_when_either_end_does() {
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
