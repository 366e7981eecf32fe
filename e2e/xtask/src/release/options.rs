//! The command line of `cargo xtask release`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

/// The programs and the kinds of packages of a release.
#[derive(Debug, Default, Args)]
pub struct Options {
    /// Wrap the programs in this folder: DIR/x86_64-unknown-linux-musl/mcp-web and mcp-web-stdio beside it, and
    /// those of other systems below Rust's names of them. Without this, the programs for this machine are built
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
    /// Make only these kinds of packages
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    only: Vec<Kind>,
}

/// A kind of package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Archives with the programs
    Archives,
    /// Packages for npm, also those of the SDK and of the host of Lowdefy apps
    Npm,
    /// Wheels for Python's installers
    Wheel,
    /// Packages for Debian, with the bridge as a service
    Deb,
    /// An image of the bridge for containers
    Oci,
    /// Bundles for Claude Desktop
    Mcpb,
    /// The entry in the registry of MCP servers, for the packages that are made
    ServerJson,
    /// A plugin for Claude Code
    Plugin,
    /// The script that installs from the archives
    InstallScript,
    /// The list of all packages in the programs
    Sbom,
    /// The section of CHANGELOG.md
    Notes,
}

impl Options {
    /// All kinds, from given programs.
    pub(crate) fn from_programs(programs: PathBuf) -> Self {
        Self {
            programs: Some(programs),
            only: Vec::new(),
        }
    }

    /// Returns the folder with given programs.
    pub(super) fn programs(&self) -> Option<&Path> {
        self.programs.as_deref()
    }

    /// Returns whether a kind is selected.
    pub(super) fn includes(&self, kind: Kind) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }
}

impl Kind {
    /// Returns the name on the command line.
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
