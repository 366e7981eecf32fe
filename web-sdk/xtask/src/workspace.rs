use std::path::{Path, PathBuf};

/// Where things lie in this checkout.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The checkout that this binary was compiled in.
    pub fn here() -> Self {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = crate_folder.ancestors().nth(2).unwrap_or(crate_folder);
        Self { root: root.into() }
    }

    /// The folder with the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path given relative to the root.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The built SDK: what the bridge embeds and npm would publish.
    pub fn sdk(&self) -> PathBuf {
        self.path("target/sdk")
    }

    /// What builds and tests need beside Rust: Node 22 and npm packages.
    pub fn tools(&self) -> PathBuf {
        self.path("target/tools")
    }
}
