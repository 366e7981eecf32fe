//! Builds the test programs with one call of cargo, which also lints.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::Workspace;
use crate::process::cargo_with_clippy;
use crate::step::{Outcome, step};

/// An executable with the tests of one target of a crate.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestProgram {
    /// The folder of the crate that it belongs to, relative to the workspace.
    pub(super) crate_folder: PathBuf,
    /// The name of its target in that crate.
    pub(super) target: String,
    /// Whether its tests are inside of the code that they test.
    pub(super) has_unit_tests: bool,
    pub(super) executable: PathBuf,
}

/// The results of a build.
#[derive(Default)]
pub(super) struct TestBuild {
    pub(super) programs: Vec<TestProgram>,
    has_warnings: bool,
}

impl TestBuild {
    /// Returns an error if the compiler or clippy has printed a warning.
    pub(super) fn check_warnings(&self) -> Result<()> {
        ensure!(!self.has_warnings, "fix what clippy reports above");
        Ok(())
    }
}

/// Builds all targets of the workspace, with the warnings of clippy.
///
/// It is one call because cargo unites the features of what it builds together: a second call with
/// other packages would compile many dependencies again.
pub(super) fn build_tests(workspace: &Workspace) -> Result<TestBuild> {
    step("building everything, with clippy", || {
        let mut build = cargo_with_clippy(workspace);
        build
            .args(["build", "--workspace", "--lib", "--bins", "--tests"])
            // Without the name, cargo would also build the libraries and programs as benchmarks.
            .args(["--examples", "--bench", "*"])
            .arg("--message-format=json-diagnostic-rendered-ansi")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut cargo = build
            .spawn()
            .context("cargo does not start: install Rust with rustup")?;
        let mut build = match cargo.stdout.take() {
            Some(messages) => parse_messages(messages, workspace.root())?,
            None => TestBuild::default(),
        };
        if !cargo.wait()?.success() {
            bail!("the project does not compile: fix the errors above");
        }
        build.programs.sort();
        Ok(Outcome::Done(build))
    })
}

/// Prints the messages of the compiler, and collects the rest.
fn parse_messages(messages: ChildStdout, root: &Path) -> Result<TestBuild> {
    let mut build = TestBuild::default();
    for line in BufReader::new(messages).lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        build.programs.extend(parse_test_program(&message, root));
        if let Some(text) = message["message"]["rendered"].as_str() {
            eprint!("{text}");
            build.has_warnings |= message["message"]["level"] == "warning";
        }
    }
    Ok(build)
}

fn parse_test_program(message: &Value, root: &Path) -> Option<TestProgram> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    if !is_test || message["target"]["kind"] == json!(["bench"]) {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(TestProgram {
        crate_folder: folder.strip_prefix(root).unwrap_or(folder).into(),
        target: message["target"]["name"].as_str()?.into(),
        has_unit_tests: message["target"]["kind"] != json!(["test"]),
        executable: message["executable"].as_str()?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(test: bool, executable: Value) -> Value {
        json!({
            "reason": "compiler-artifact",
            "manifest_path": "/repo/bridge/protocol/Cargo.toml",
            "target": { "name": "golden", "kind": ["test"] },
            "profile": { "test": test },
            "executable": executable,
        })
    }

    #[test]
    fn a_test_program_is_parsed_from_a_message_of_cargo() {
        let root = Path::new("/repo");
        let program = parse_test_program(
            &artifact(true, json!("/repo/target/debug/deps/golden-1")),
            root,
        );
        let golden = TestProgram {
            crate_folder: "bridge/protocol".into(),
            target: "golden".into(),
            has_unit_tests: false,
            executable: "/repo/target/debug/deps/golden-1".into(),
        };
        assert_eq!(program, Some(golden));
    }

    #[test]
    fn messages_about_other_artifacts_are_ignored() {
        let root = Path::new("/repo");
        assert_eq!(
            parse_test_program(&artifact(false, json!("/repo/target/debug/golden")), root),
            None
        );
        assert_eq!(parse_test_program(&artifact(true, Value::Null), root), None);
        assert_eq!(
            parse_test_program(&json!({ "reason": "build-finished" }), root),
            None
        );
    }
}
