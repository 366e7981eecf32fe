//! `promtool`, with which tests check the example alerts for Prometheus.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process::try_capture;
use crate::step::{Outcome, step};
use crate::{Workspace, apt, install};

/// Debian's package, which also has a server that this project does not need: it is unpacked, and not
/// installed.
const PACKAGE: &str = "prometheus";

/// Finds the program, or unpacks it from Debian's package.
///
/// `MCP_WEB_PROMTOOL` is the path of another one.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    step("promtool", || {
        if let Some(program) = env::var_os("MCP_WEB_PROMTOOL") {
            return Ok(Outcome::UpToDate(program.into()));
        }
        if try_capture(Command::new("promtool").arg("--version")).is_some() {
            return Ok(Outcome::UpToDate("promtool".into()));
        }
        if !apt::is_available() {
            bail!("install promtool, which Prometheus has, and try again");
        }
        let home = workspace.tools().join("promtool");
        let program = home.join("usr/bin/promtool");
        let unpacked = install::ensure(&home, &[PathBuf::from(apt::RELEASE)], || {
            apt::ensure_indexed(&[PACKAGE])?;
            apt::unpack(&[PACKAGE.to_owned()].into(), &home)
        });
        Ok(match unpacked? {
            Outcome::Done(()) => Outcome::Done(program),
            Outcome::UpToDate(()) => Outcome::UpToDate(program),
        })
    })
}
