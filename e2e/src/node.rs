//! Projects that run under Node with the pinned packages.

use std::path::Path;

use tempfile::TempDir;
use tokio::process::Command;

use crate::{ProcessGroup, program_paths};

/// A copy of a folder of this crate in a folder of its own, gone on drop.
#[derive(Debug)]
pub struct NodeProject {
    folder: TempDir,
}

impl NodeProject {
    /// Copies `e2e/<folder>` (files only).
    pub fn copy_of(folder: &str) -> Self {
        let source = program_paths::workspace().join("e2e").join(folder);
        let project = TempDir::with_prefix("mcp-web-node-").unwrap();
        for entry in std::fs::read_dir(&source).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), project.path().join(entry.file_name())).unwrap();
            }
        }
        Self { folder: project }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes the pinned packages importable.
    pub fn link_packages(&self) {
        self.link(&program_paths::node_modules());
    }

    /// Makes these packages importable.
    pub fn link(&self, node_modules: &Path) {
        std::os::unix::fs::symlink(node_modules, self.path().join("node_modules")).unwrap();
    }

    /// Starts Node 22 in the project with `arguments`.
    pub fn node(&self, name: &str, arguments: &[&str]) -> ProcessGroup {
        let mut command = Command::new(program_paths::node());
        // Journeys read what it prints, and with `CI` set some programs colour it even in a pipe.
        command
            .args(arguments)
            .env("NO_COLOR", "1")
            .current_dir(self.path());
        ProcessGroup::start(name, command)
    }
}
