//! Node projects with the pinned packages.

use std::path::Path;

use tempfile::TempDir;
use tokio::process::Command;

use crate::{ProcessGroup, packed_sdk, program_paths};

/// A copy of a folder of this crate in a temporary folder, which is removed when this is dropped.
#[derive(Debug)]
pub struct NodeProject {
    folder: TempDir,
    /// For the temporary files of its programs, which may be killed before they remove them.
    temporary: TempDir,
}

impl NodeProject {
    /// Copies the files of `e2e/<folder>`.
    pub fn copy_of(folder: &str) -> Self {
        let source = program_paths::workspace().join("e2e").join(folder);
        let project = Self::empty();
        for entry in std::fs::read_dir(&source).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), project.path().join(entry.file_name())).unwrap();
            }
        }
        project
    }

    /// Creates an empty project without packages.
    pub fn empty() -> Self {
        let [folder, temporary] =
            ["mcp-web-node-", "mcp-web-tmp-"].map(|prefix| TempDir::with_prefix(prefix).unwrap());
        Self { folder, temporary }
    }

    /// Copies an example of `demo-app/examples` with its subfolders, and installs the pinned packages
    /// and the built SDK in it.
    pub fn copy_of_example(name: &str) -> Self {
        let examples = program_paths::workspace().join("demo-app/examples");
        let project = Self::empty();
        copy_tree(&examples.join(name), project.path());
        project.install_packages_and_sdk();
        project
    }

    /// Copies the Lowdefy app of `e2e/lowdefy` with its tests, and installs Lowdefy, the built SDK and the
    /// built host in it.
    pub fn copy_of_lowdefy() -> Self {
        let project = Self::with_tree("e2e/lowdefy");
        project.install_lowdefy();
        project
    }

    /// Creates an empty project with Lowdefy, the built SDK, and the built host and its command.
    pub fn empty_with_lowdefy() -> Self {
        let project = Self::empty();
        project.install_lowdefy();
        // The folder is a link to the programs of all projects.
        let programs = project.path().join("node_modules/.bin");
        std::fs::remove_file(&programs).unwrap();
        std::fs::create_dir(&programs).unwrap();
        let command = "../mcp-web-lowdefy/dist/mcp-web-lowdefy.js";
        std::os::unix::fs::symlink(command, programs.join("mcp-web-lowdefy")).unwrap();
        project
    }

    fn install_lowdefy(&self) {
        self.install_packages_of(&program_paths::lowdefy_node_modules("lowdefy"));
        let host = self.path().join("node_modules/mcp-web-lowdefy");
        std::fs::create_dir(&host).unwrap();
        copy_tree(&program_paths::lowdefy_package(), &host);
    }

    /// Copies the sources of the host of Lowdefy apps with their tests, and installs the packages that its
    /// lock file pins and the built SDK.
    pub fn copy_of_lowdefy_host() -> Self {
        let project = Self::with_tree("web-sdk/lowdefy");
        project.install_packages_of(&program_paths::lowdefy_node_modules("lowdefy-host"));
        project
    }

    /// Copies a folder of the workspace with its subfolders, without installed packages.
    fn with_tree(folder: &str) -> Self {
        let project = Self::empty();
        let source = program_paths::workspace().join(folder);
        for entry in std::fs::read_dir(source).unwrap() {
            let entry = entry.unwrap();
            let copy = project.path().join(entry.file_name());
            if entry.file_name() == "node_modules" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                std::fs::create_dir(&copy).unwrap();
                copy_tree(&entry.path(), &copy);
            } else {
                std::fs::copy(entry.path(), copy).unwrap();
            }
        }
        project
    }

    /// Creates an empty project with the packages of a page of `e2e/agui` and the built SDK.
    pub fn empty_with_agui_packages(name: &str) -> Self {
        let project = Self::empty();
        project.install_packages_of(&program_paths::agui_node_modules(name));
        project
    }

    /// Links the packages that the SDK is built with, and bundles `main.js` with the built SDK into
    /// `dist`, by esbuild.
    pub async fn bundle_with_sdk(&self) {
        self.link(&program_paths::sdk_node_modules());
        let esbuild = program_paths::sdk_node_modules().join("esbuild/bin/esbuild");
        let program = esbuild.display().to_string();
        let sdk = program_paths::sdk_package().join("mcp-web.js");
        let alias = format!("--alias:mcp-web-sdk={}", sdk.display());
        let options = ["--bundle", "--format=esm", "--splitting", "--outdir=dist"];
        let mut arguments = vec![program.as_str(), "main.js"];
        arguments.extend(options);
        arguments.push(&alias);
        let mut build = self.node("esbuild", &arguments);
        build.wait_for_line("Done in").await;
    }

    /// Links the pinned packages into the project, and installs the published SDK.
    pub fn install_packages_and_sdk(&self) {
        self.install_packages_of(&program_paths::node_modules());
    }

    fn install_packages_of(&self, node_modules: &Path) {
        let packages = self.path().join("node_modules");
        std::fs::create_dir(&packages).unwrap();
        for package in std::fs::read_dir(node_modules).unwrap() {
            let package = package.unwrap();
            let name = package.file_name();
            // The programs of the packages, and no caches.
            if name == ".bin" || !name.to_string_lossy().starts_with('.') {
                std::os::unix::fs::symlink(package.path(), packages.join(name)).unwrap();
            }
        }
        packed_sdk::install(&packages.join("mcp-web-sdk"));
    }

    /// Installs React 18 instead of the pinned version.
    pub fn install_react_18(&self) {
        let packages = self.path().join("node_modules");
        for package in std::fs::read_dir(program_paths::react_18_node_modules()).unwrap() {
            let package = package.unwrap();
            if package.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let installed = packages.join(package.file_name());
            if installed.is_symlink() {
                std::fs::remove_file(&installed).unwrap();
            }
            std::fs::create_dir(&installed).unwrap();
            copy_tree(&package.path(), &installed);
        }
    }

    /// Returns the path of the copy.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Links the pinned packages into the project.
    pub fn link_packages(&self) {
        self.link(&program_paths::node_modules());
    }

    /// Links these packages into the project.
    pub fn link(&self, node_modules: &Path) {
        std::os::unix::fs::symlink(node_modules, self.path().join("node_modules")).unwrap();
    }

    /// Starts Node 22 in the project. `name` is used in messages.
    pub fn node(&self, name: &str, arguments: &[&str]) -> ProcessGroup {
        ProcessGroup::start(name, self.node_command(arguments))
    }

    /// Returns the command that runs Node 22 in the project.
    pub fn node_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program_paths::node());
        // Journeys read the output, and with `CI` set some programs colour it even in a pipe.
        command
            .args(arguments)
            .env("NO_COLOR", "1")
            .env("TMPDIR", self.temporary.path())
            .current_dir(self.path());
        command
    }
}

/// Copies what is in a folder into an existing one.
fn copy_tree(source: &Path, target: &Path) {
    for entry in std::fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        let copy = target.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&copy).unwrap();
            copy_tree(&entry.path(), &copy);
        } else {
            std::fs::copy(entry.path(), copy).unwrap();
        }
    }
}
