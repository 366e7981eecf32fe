//! Where the configuration of a client is in an environment, and whether the client is installed.

use std::path::{Path, PathBuf};

use crate::arguments::InstallScope;
use crate::client::{Client, Location, Sign};
use crate::environment::{BaseFolder, Environment, System};

/// Returns the path of the file of a client, or `None` if the client has none in this scope.
pub(crate) fn config_path(
    client: &Client,
    environment: &Environment,
    scope: InstallScope,
) -> Option<PathBuf> {
    if scope == InstallScope::Project {
        let location = Location {
            base: BaseFolder::Project,
            path: client.project?,
        };
        return candidates(location, environment).into_iter().next();
    }
    let locations = client.locations(environment.system).iter();
    let all: Vec<_> = locations
        .flat_map(|location| candidates(*location, environment))
        .collect();
    let existing = all
        .iter()
        .find(|path| path.parent().is_some_and(Path::is_dir));
    existing.or(all.last()).cloned()
}

/// Returns whether a client is installed.
pub(crate) fn is_installed(client: &Client, environment: &Environment) -> bool {
    let has_sign = match client.sign {
        Sign::Any(paths) => paths
            .iter()
            .any(|path| environment.home.join(path).exists()),
        Sign::Folder(levels) => config_path(client, environment, InstallScope::User)
            .and_then(|path| path.ancestors().nth(levels + 1).map(Path::to_owned))
            .is_some_and(|folder| folder.is_dir()),
    };
    has_sign || client.program.is_some_and(|it| is_on_path(it, environment))
}

fn is_on_path(program: &str, environment: &Environment) -> bool {
    let endings: &[&str] = match environment.system {
        System::Windows => &[".exe", ".cmd", ".ps1"],
        _ => &[""],
    };
    environment.program_folders().any(|folder| {
        let mut files = endings
            .iter()
            .map(|it| folder.join(format!("{program}{it}")));
        files.any(|file| file.is_file())
    })
}

/// Returns the paths that a place stands for, those of existing files first. A component with `*`
/// stands for all folders with this beginning, and may stand for none.
fn candidates(location: Location, environment: &Environment) -> Vec<PathBuf> {
    let mut paths: Vec<_> = environment.folder(location.base).into_iter().collect();
    for component in location.path.split('/') {
        paths = match component.strip_suffix('*') {
            Some(start) => paths.iter().flat_map(|path| folders(path, start)).collect(),
            None => paths.iter().map(|path| existing(path, component)).collect(),
        };
    }
    paths.sort_by_key(|path| !path.is_file());
    paths
}

fn existing(folder: &Path, component: &str) -> PathBuf {
    match component.strip_suffix(".json[c]") {
        None => folder.join(component),
        Some(name) => {
            let with_comments = folder.join(format!("{name}.jsonc"));
            if with_comments.exists() {
                with_comments
            } else {
                folder.join(format!("{name}.json"))
            }
        }
    }
}

fn folders(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let matching = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(start)
    });
    let mut folders: Vec<_> = matching.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}
