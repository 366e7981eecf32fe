//! A registry of npm on this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::kit::*;

/// A registry that has the packages of the release.
pub(crate) struct Registry {
    url: String,
    _server: Running,
    _home: Home,
}

impl Registry {
    /// Starts a registry, and publishes the packages.
    pub(crate) fn with_packages() -> Self {
        let home = Home::new();
        // A module finds packages in the folder that it is in, and in those above it.
        let script = home.path().join("registry.mjs");
        fs::write(&script, include_str!("registry.mjs")).unwrap();
        let modules = home.path().join("node_modules");
        std::os::unix::fs::symlink(node_modules(), modules).unwrap();
        let storage = home.path().join("storage");
        fs::create_dir(&storage).unwrap();
        let mut node = home.direct_command("node");
        let mut server = Running::start(node.arg(&script).arg(&storage));
        let url = server.wait_for("registry ");
        let registry = Self {
            url,
            _server: server,
            _home: home,
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
    pub(crate) fn configure(&self, home: &Home) {
        let authority = self.url.trim_start_matches("http:");
        let settings = format!(
            "registry={}\n{authority}:_authToken=anyone\nupdate-notifier=false\naudit=false\nfund=false\n",
            self.url
        );
        fs::write(home.path().join(".npmrc"), settings).unwrap();
    }

    /// A command `npx` with these arguments.
    pub(crate) fn npx(home: &Home, arguments: &[&str]) -> Command {
        let mut npx = home.command("npx");
        npx.args(arguments);
        npx
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}
