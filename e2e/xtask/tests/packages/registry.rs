//! A registry of npm on this machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use crate::kit::*;

/// A registry that has the packages of the release.
struct Registry {
    url: String,
    _server: Child,
}

/// Returns the registry of all tests, which the first one starts.
fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::start);
    &REGISTRY
}

impl Registry {
    /// Starts a registry, and publishes the packages.
    fn start() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("registry");
        let _ = fs::remove_dir_all(&folder);
        let storage = folder.join("storage");
        fs::create_dir_all(&storage).unwrap();
        // A module finds packages in the folder that it is in, and in those above it.
        let script = folder.join("registry.mjs");
        fs::write(&script, include_str!("registry.mjs")).unwrap();
        std::os::unix::fs::symlink(node_modules(), folder.join("node_modules")).unwrap();
        let mut node = Command::new("node");
        node.arg(&script).arg(&storage);
        node.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = node.spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let url = line.strip_prefix("registry ").unwrap().trim().to_owned();
        let registry = Self {
            url,
            _server: server,
        };
        registry.publish_all();
        registry
    }

    /// The programs first, because the main package depends on them.
    fn publish_all(&self) {
        let home = Home::new();
        self.configure(&home);
        let mut platforms: Vec<_> = fs::read_dir(release("npm"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !["lowdefy", "mcp-web", "sdk"].contains(&stem(path).as_str()))
            .collect();
        platforms.sort();
        assert!(!platforms.is_empty());
        for path in &platforms {
            self.publish(&home, path, &stem(path));
        }
        for name in ["mcp-web", "sdk", "lowdefy"] {
            self.publish(&home, &release(&format!("npm/{name}.tgz")), "latest");
        }
    }

    fn publish(&self, home: &Home, package: &Path, tag: &str) {
        let mut npm = home.command("npm");
        succeed(npm.arg("publish").arg(package).args(["--tag", tag]));
    }

    /// Writes the settings with which npm uses only this registry.
    fn configure(&self, home: &Home) {
        let authority = self.url.trim_start_matches("http:");
        let settings = format!(
            "registry={}\n{authority}:_authToken=anyone\nupdate-notifier=false\naudit=false\nfund=false\n",
            self.url
        );
        fs::write(home.path().join(".npmrc"), settings).unwrap();
    }
}

/// A command `npx` with these arguments.
pub(crate) fn npx(home: &Home, arguments: &[&str]) -> Command {
    let mut npx = home.command("npx");
    npx.args(arguments);
    npx
}

/// A home in which npm uses only the registry of the tests.
pub(crate) fn home_with_registry() -> Home {
    let home = Home::new();
    registry().configure(&home);
    home
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}
