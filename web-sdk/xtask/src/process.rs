use std::env;
use std::path::PathBuf;
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
        .map_err(|error| cannot_start(command, &error, advice))?;
    check(command, status, advice)
}

/// Runs a command and returns what it printed to stdout. Its output is shown only when it fails.
pub(crate) fn read(command: &mut Command, advice: &str) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(command, &error, advice))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprint!("{stdout}{}", String::from_utf8_lossy(&output.stderr));
    }
    check(command, output.status, advice)?;
    Ok(stdout)
}

/// The stdout of a command that is allowed to fail or not to exist.
pub(crate) fn ask(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// Runs `from | into`.
pub(crate) fn pipe(from: &mut Command, into: &mut Command, advice: &str) -> Result<()> {
    let mut source = from
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(from, &error, advice))?;
    let Some(output) = source.stdout.take() else {
        bail!("{} has no output: {advice}", name(from));
    };
    let drained = into.stdin(output).status();
    let sent = source.wait()?;
    check(
        into,
        drained.map_err(|error| cannot_start(into, &error, advice))?,
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

fn cannot_start(command: &Command, error: &std::io::Error, advice: &str) -> anyhow::Error {
    anyhow!("`{}` does not start ({error}): {advice}", name(command))
}

/// The program and its first argument: enough to know which command failed, without a screen of flags.
fn name(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let first = command.get_args().next().unwrap_or_default();
    format!("{} {}", program.to_string_lossy(), first.to_string_lossy())
        .trim_end()
        .into()
}
