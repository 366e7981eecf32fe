//! The server of llama.cpp with its models: the table model of the tests, and a small trained one for the
//! demo.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::io::{FdFlags, fcntl_setfd};
use uuid::Uuid;

use crate::step::{Outcome, step};
use crate::{Workspace, python};

/// The trained model.
pub(crate) const NAME: &str = "SmolLM2-135M-Instruct";

/// The log of the server in the demo.
const LOG: &str = "target/local-model.log";

/// The arguments of the server in the demo. The model was trained for contexts of 8,192 tokens.
const ARGUMENTS: [&str; 7] = [
    "--model",
    "smollm2",
    "--context",
    "8192",
    "--slots",
    "1",
    "--until-stdin-ends",
];

/// A running server with the trained model.
pub(crate) struct LocalModel {
    /// The URL of the server, without a slash at the end.
    pub(crate) url: String,
    /// The key that requests need: without one, any page in a browser could use the model.
    pub(crate) key: String,
}

/// Installs the server and the trained model, and returns the folder of their environment. The package of
/// the model needs others only for a program that is not used here.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let requirements = "e2e/llama-cpp/requirements.txt";
    python::ensure_complete_environment(workspace, requirements, "llama-cpp")
}

/// Starts the server. It ends with this process, or with the program that replaces it.
pub(crate) fn start(workspace: &Workspace) -> Result<LocalModel> {
    let environment = ensure(workspace)?;
    step(&format!("starting {NAME}"), || {
        // Its random numbers are those of the system.
        let key = Uuid::new_v4().simple().to_string();
        let log = workspace.path(LOG);
        let mut command = Command::new(environment.join("bin/python"));
        command
            .arg("-B")
            .arg(workspace.path("e2e/llama-cpp/server.py"))
            .args(ARGUMENTS)
            // Unlike an argument, other users cannot read it.
            .env("MCP_WEB_LOCAL_MODEL_KEY", &key)
            .stdout(Stdio::piped())
            .stderr(create_log(&log)?);
        let mut server = spawn_until_exit(&mut command)?;
        let Some(url) = read_url(&mut server)? else {
            let _ = server.wait();
            bail!("{NAME} does not start: see {}", log.display());
        };
        Ok(Outcome::Done(LocalModel { url, key }))
    })
}

fn create_log(path: &Path) -> Result<File> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| File::create(path))
        .with_context(|| format!("make {} writable", path.display()))
}

/// Starts a process whose standard input ends when this process has ended, also if another program has
/// replaced it.
fn spawn_until_exit(command: &mut Command) -> Result<Child> {
    let mut child = command
        .stdin(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} does not start", command.get_program().display()))?;
    if let Some(input) = child.stdin.take() {
        keep_over_exec(&input)?;
        std::mem::forget(input);
    }
    Ok(child)
}

/// Keeps a pipe open when another program replaces this one.
fn keep_over_exec(pipe: &impl AsFd) -> Result<()> {
    fcntl_setfd(pipe, FdFlags::empty()).context("a pipe cannot be kept open")
}

/// Reads the output of the server until it is ready. Returns `None` if it ends before.
fn read_url(server: &mut Child) -> Result<Option<String>> {
    let Some(output) = server.stdout.take() else {
        return Ok(None);
    };
    for line in BufReader::new(output).lines() {
        if let Some(url) = line?.strip_prefix("serving at ") {
            return Ok(Some(url.to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use super::*;

    /// A shell that replaces itself has the input of `cat`, as the demo has that of the server.
    #[test]
    fn the_input_of_the_server_ends_with_the_program_that_replaces_this_one() {
        let mut server = Command::new("cat");
        let server = server.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().unwrap();
        let input = server.stdin.take().unwrap();
        keep_over_exec(&input).unwrap();
        let script = "exec sh -c 'echo open > /proc/self/fd/$0' \"$0\"";
        let descriptor = input.as_raw_fd().to_string();
        let demo = Command::new("sh")
            .args(["-c", script, &descriptor])
            .status();
        assert!(demo.unwrap().success());
        drop(input);
        let mut output = String::new();
        let mut pipe = server.stdout.take().unwrap();
        pipe.read_to_string(&mut output).unwrap();
        assert_eq!(output, "open\n");
        assert!(server.wait().unwrap().success());
    }
}
