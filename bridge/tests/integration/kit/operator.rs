//! The operator of a bridge: the command `admin` of the real program.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use bridge::Config;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

use super::{admin_program, with_deadline};

/// The operator of a bridge with a socket and a state folder.
pub(crate) struct Operator {
    folder: TempDir,
}

impl Operator {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("admin.sock")
    }

    pub(crate) fn state_folder(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// This configuration, with the socket and the state folder of this operator.
    pub(crate) fn config(&self, mut config: Config) -> Config {
        config.admin.admin_socket = Some(self.socket());
        config.state.state_dir = Some(self.state_folder());
        config
    }

    /// Runs the command with these words, and this standard input.
    pub(crate) async fn run_with_input(&self, words: &str, input: &str) -> Output {
        run(&self.socket(), words, input).await
    }

    /// Runs the command, which must succeed, and returns what it prints.
    pub(crate) async fn run(&self, words: &str) -> String {
        success(words, self.run_with_input(words, "").await)
    }

    /// Runs the command with this standard input. It must succeed.
    pub(crate) async fn run_with(&self, words: &str, input: &str) -> String {
        success(words, self.run_with_input(words, input).await)
    }

    /// Runs the command, which must fail, and returns the error.
    pub(crate) async fn error(&self, words: &str) -> String {
        let output = self.run_with_input(words, "").await;
        assert_eq!(output.status.code(), Some(1), "{words}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Runs a command that lists, and returns the rows and where the list continues.
    pub(crate) async fn list(&self, words: &str) -> (Vec<Value>, Option<String>) {
        let json = self.run(&format!("{words} --json")).await;
        let answer: Value = serde_json::from_str(&json).unwrap();
        let next = answer["next"].as_str().map(str::to_owned);
        (answer["rows"].as_array().unwrap().clone(), next)
    }
}

/// Runs the command for the socket at a path.
pub(crate) async fn run(socket: &Path, words: &str, input: &str) -> Output {
    let mut program = admin_program();
    program.arg("--socket").arg(socket);
    program.args(words.split(' '));
    program.stdin(Stdio::piped());
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that does not read may have ended.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    with_deadline(words, child.wait_with_output())
        .await
        .unwrap()
}

fn success(words: &str, output: Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {error}");
    String::from_utf8(output.stdout).unwrap()
}
