//! A command that runs tests.

use std::process::Command;

use super::build::TestProgram;
use super::reuse::GreenResult;
use super::runner;
use super::tools::Tools;
use crate::Workspace;

/// A command that runs tests.
pub(super) struct Job {
    pub(super) name: String,
    pub(super) command: Command,
    /// The result of an earlier run that is used again while nothing changes.
    pub(super) green: Option<GreenResult>,
}

impl Job {
    pub(super) fn new(name: &str, command: Command) -> Self {
        Self {
            name: name.to_owned(),
            command,
            green: None,
        }
    }

    /// Creates the job of all tests of a program whose names contain `filter`.
    pub(super) fn new_whole(
        workspace: &Workspace,
        program: &TestProgram,
        tools: &Tools,
        filter: Option<&str>,
    ) -> Self {
        let name = format!("{}: {}", program.crate_folder.display(), program.target);
        let mut job = Self::new(&name, runner::program(workspace, program, tools));
        job.command.args(filter);
        job
    }
}
