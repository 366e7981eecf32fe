//! The completions of shells, which the program for this machine prints.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::build::host_target;
use super::packed_file::PackedFile;
use super::product::NAME;
use super::programs::Programs;
use crate::Workspace;
use crate::folder;
use crate::process::capture;

/// The shells, each with the name that it looks for.
const SHELLS: [(&str, &str); 4] = [
    ("bash", "mcp-web.bash"),
    ("fish", "mcp-web.fish"),
    ("powershell", "_mcp-web.ps1"),
    ("zsh", "_mcp-web"),
];

/// Returns the files for shells, or none if no program of the release runs on this machine.
pub(super) fn generate(workspace: &Workspace, programs: &[Programs]) -> Result<Vec<PackedFile>> {
    let host = host_target()?;
    let architecture = host.split('-').next().unwrap_or_default();
    let system = if cfg!(target_os = "linux") {
        "linux"
    } else {
        "darwin"
    };
    // A static program also runs on a machine with glibc.
    let runs_here =
        |it: &&Programs| it.target.triple.starts_with(architecture) && it.target.npm_os == system;
    let Some(programs) = programs.iter().find(runs_here) else {
        println!("    without completions: no program of the release runs on {host}");
        return Ok(Vec::new());
    };
    let home = workspace.path("target/release-completions");
    folder::create(&home)?;
    let program = home.join(NAME);
    write_program(&program, &programs.main)?;
    let mut files = Vec::new();
    for (shell, file) in SHELLS {
        let mut command = Command::new(&program);
        let remedy = "check that the program of this machine runs";
        let text = capture(command.args(["completions", shell]), remedy)?;
        files.push(PackedFile::text(file, text));
    }
    folder::remove(&home)?;
    Ok(files)
}

fn write_program(path: &std::path::Path, content: &[u8]) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, content)?;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o755),
    )?)
}
