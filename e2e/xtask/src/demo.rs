//! `cargo xtask demo`: the demo, from a fresh checkout to a running page.

use std::os::unix::process::CommandExt;

use anyhow::{Result, anyhow};

use crate::process::{cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, sdk};

/// Builds what the demo needs and replaces this process with the demo, so that Ctrl-C and signals
/// reach the demo.
///
/// # Errors
///
/// Returns an error if a build fails or the demo does not start.
pub fn start(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    sdk::ensure(workspace)?;
    step("building the demo", || {
        let mut build = cargo(workspace);
        build.args(["build", "--package", "demo-app"]);
        run(&mut build, "fix the errors above")?;
        Ok(Outcome::Done(()))
    })?;
    let mut demo = cargo(workspace);
    demo.args(["run", "--quiet", "--package", "demo-app", "--"])
        .args(arguments);
    Err(anyhow!("the demo does not start: {}", demo.exec()))
}
