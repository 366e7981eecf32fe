//! Projects in temporary folders, with the SDK installed in different ways.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::{ProcessGroup, packed_sdk, program_paths};
use tempfile::TempDir;
use tokio::process::Command;

/// Bundlers take longer than anything else in a test, most of all while others run beside them.
const BUILD_WITHIN: Duration = Duration::from_secs(180);

/// Waits for something that a bundler does.
pub(crate) async fn within_build_time<Output>(
    what: &str,
    doing: impl Future<Output = Output>,
) -> Output {
    let done = tokio::time::timeout(BUILD_WITHIN, doing).await;
    done.unwrap_or_else(|_| panic!("waited {} s for {what}", BUILD_WITHIN.as_secs()))
}

/// How the project has got the SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Install {
    /// As npm installs a published package.
    Npm,
    /// As pnpm does: packages are links into a store.
    Pnpm,
    /// In the `node_modules` of a workspace whose subfolder is the project.
    HoistedWorkspace,
    /// `npm install ./target/sdk`: a link to the folder.
    LinkedFolder,
}

/// A project of a user.
pub(crate) struct Project {
    folder: TempDir,
    /// The folder of the app, which may be below that of the workspace.
    app: PathBuf,
}

impl Project {
    /// Copies a folder of `e2e/bundlers`, and installs the SDK.
    pub(crate) async fn new(source: &str, install: Install) -> Self {
        // Not in /tmp, which may be another file system: packages are hard links.
        let parent = program_paths::workspace().join("target/tmp");
        fs::create_dir_all(&parent).unwrap();
        let folder = TempDir::with_prefix_in("bundler-", parent).unwrap();
        let app = match install {
            Install::HoistedWorkspace => folder.path().join("apps/board"),
            _ => folder.path().to_owned(),
        };
        copy_tree(
            &program_paths::workspace().join("e2e/bundlers").join(source),
            &app,
        );
        let project = Self { folder, app };
        project.install_sdk(install).await;
        project
    }

    async fn install_sdk(&self, install: Install) {
        let modules = self.folder.path().join("node_modules");
        let package = modules.join("mcp-web-sdk");
        match install {
            Install::Npm => packed_sdk::install(&package),
            Install::HoistedWorkspace => {
                packed_sdk::install(&package);
                let workspace = r#"{ "private": true, "workspaces": ["apps/*"] }"#;
                fs::write(self.folder.path().join("package.json"), workspace).unwrap();
            }
            Install::LinkedFolder => {
                fs::create_dir_all(&modules).unwrap();
                std::os::unix::fs::symlink(program_paths::sdk_package(), package).unwrap();
            }
            Install::Pnpm => self.install_with_pnpm().await,
        }
    }

    async fn install_with_pnpm(&self) {
        fs::write(self.app.join("mcp-web-sdk.tgz"), packed_sdk::archive()).unwrap();
        let mut pnpm = Command::new(program_paths::node());
        pnpm.arg(packages("tools").join("pnpm/bin/pnpm.cjs")).args([
            "add",
            "--offline",
            "./mcp-web-sdk.tgz",
        ]);
        self.run("pnpm add", pnpm).await;
    }

    /// Installs packages of `e2e/bundlers` as files, for tools that follow no links out of a project.
    pub(crate) fn add_packages(&self, name: &str) {
        link_tree(&packages(name), &self.folder.path().join("node_modules"));
    }

    /// Returns the folder of the app.
    pub(crate) fn path(&self) -> &Path {
        &self.app
    }

    /// Writes a file of the app.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.app.join(name), text).unwrap();
    }

    /// Starts a script with Node 22 in the folder of the app.
    pub(crate) fn node(&self, script: &Path, arguments: &[&str]) -> ProcessGroup {
        let name = script.file_name().unwrap().to_string_lossy().into_owned();
        ProcessGroup::start(&name, self.node_command(script, arguments))
    }

    /// Runs a script with Node 22 in the folder of the app until it ends.
    pub(crate) async fn run_node(&self, script: &Path, arguments: &[&str]) {
        let name = script.display().to_string();
        self.run(&name, self.node_command(script, arguments)).await;
    }

    /// Runs a program in the folder of the app until it ends.
    pub(crate) async fn run(&self, name: &str, mut command: Command) {
        command.current_dir(&self.app).kill_on_drop(true);
        let output = within_build_time(name, command.output()).await.unwrap();
        assert!(
            output.status.success(),
            "{name}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn node_command(&self, script: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program_paths::node());
        command
            .arg(script)
            .args(arguments)
            .env("NO_COLOR", "1")
            .env("NEXT_TELEMETRY_DISABLED", "1")
            .current_dir(&self.app);
        command
    }
}

/// Returns the installed packages of a folder of `e2e/bundlers`.
pub(crate) fn packages(name: &str) -> PathBuf {
    let folder = format!("target/tools/bundlers-{name}/node_modules");
    let path = program_paths::workspace().join(folder);
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask test`",
        path.display()
    );
    path
}

fn copy_tree(source: &Path, target: &Path) {
    each_file(source, target, &|from, to| {
        fs::copy(from, to).unwrap();
    });
}

/// Makes the files of the target the same as those of the source, without copying them.
fn link_tree(source: &Path, target: &Path) {
    each_file(source, target, &|from, to| fs::hard_link(from, to).unwrap());
}

fn each_file(source: &Path, target: &Path, make: &dyn Fn(&Path, &Path)) {
    fs::create_dir_all(target).unwrap();
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        let copy = target.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            each_file(&entry.path(), &copy, make);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), copy).unwrap();
        } else {
            make(&entry.path(), &copy);
        }
    }
}
