//! The paths of the checkout.

use std::path::{Path, PathBuf};

/// A checkout of the project, and the paths in it.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Returns the checkout that this binary was compiled in.
    pub fn here() -> Self {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = crate_folder.ancestors().nth(2).unwrap_or(crate_folder);
        Self { root: root.into() }
    }

    /// Returns the folder with the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path that is relative to the root.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Returns the folder of the built SDK: the files that the bridge embeds and that npm would
    /// publish.
    pub fn sdk(&self) -> PathBuf {
        self.path("target/sdk")
    }

    /// Returns the folder of what builds and tests need besides Rust: Node 22, npm packages and
    /// Python packages.
    pub fn tools(&self) -> PathBuf {
        self.path("target/tools")
    }
}
