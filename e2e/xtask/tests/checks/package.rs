//! Checks of the published npm package.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::Workspace;
use xtask::sdk::BUNDLED_PACKAGES;

use crate::succeed;

/// publint: the fields of `package.json` and the files that they name.
#[test]
fn publint_has_nothing_to_say() {
    let workspace = Workspace::here();
    let mut publint = Command::new("node");
    publint
        .arg(packages(&workspace).join("publint/src/cli.js"))
        .arg("--strict")
        .arg(workspace.sdk());
    succeed(&mut publint);
}

/// "Are the types wrong?": each entry has types that fit how it is resolved. The package has modules
/// only, so the results for CommonJS do not count.
#[test]
fn the_types_of_each_entry_are_found() {
    let workspace = Workspace::here();
    let package = pack(&workspace);
    let mut attw = Command::new("node");
    attw.arg(packages(&workspace).join("@arethetypeswrong/cli/dist/index.js"))
        .args(["--profile", "esm-only", "--no-color"])
        .arg(tarball(package.path()));
    succeed(&mut attw);
}

/// The packed files, and not the folder that they come from, are what an app compiles against.
#[test]
fn apps_compile_against_the_packed_package() {
    let workspace = Workspace::here();
    let packed = pack(&workspace);
    let project = tempfile::tempdir().unwrap();
    let modules = project.path().join("node_modules");
    fs::create_dir(&modules).unwrap();
    for entry in fs::read_dir(packages(&workspace)).unwrap() {
        let entry = entry.unwrap();
        std::os::unix::fs::symlink(entry.path(), modules.join(entry.file_name())).unwrap();
    }
    let mut tar = Command::new("tar");
    tar.arg("xzf")
        .arg(tarball(packed.path()))
        .current_dir(&modules);
    succeed(&mut tar);
    fs::rename(modules.join("package"), modules.join("mcp-web-sdk")).unwrap();
    for (module, resolution) in [("esnext", "bundler"), ("nodenext", "nodenext")] {
        // The declarations of Vue and Svelte need those of Node and of other packages.
        for (file, skip_lib_check) in [("usage.ts", false), ("frameworks.ts", true)] {
            compile(
                &workspace,
                project.path(),
                file,
                &json!({
                    "strict": true,
                    "noEmit": true,
                    "skipLibCheck": skip_lib_check,
                    "target": "es2022",
                    "lib": ["es2023", "dom", "dom.iterable", "esnext.disposable"],
                    "module": module,
                    "moduleResolution": resolution,
                    "types": [],
                }),
            );
        }
    }
}

/// A program carries the licences of the packages on the list.
#[test]
fn the_list_of_bundled_packages_is_complete() {
    let workspace = Workspace::here();
    let mut bundled = BTreeSet::new();
    for entry in fs::read_dir(workspace.sdk()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "map") {
            continue;
        }
        let map: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        for source in map["sources"].as_array().unwrap() {
            let source = source.as_str().unwrap();
            let Some((_, package)) = source.rsplit_once("node_modules/") else {
                continue;
            };
            let parts = if package.starts_with('@') { 2 } else { 1 };
            let name: Vec<_> = package.split('/').take(parts).collect();
            bundled.insert(name.join("/"));
        }
    }
    let listed: BTreeSet<_> = BUNDLED_PACKAGES.map(str::to_owned).into();
    assert_eq!(bundled, listed);
}

fn compile(workspace: &Workspace, project: &Path, file: &str, options: &serde_json::Value) {
    let source = workspace.path("web-sdk/tests/types").join(file);
    fs::copy(source, project.join(file)).unwrap();
    let package = json!({ "name": "consumer", "type": "module" });
    fs::write(project.join("package.json"), package.to_string()).unwrap();
    let configuration = json!({ "compilerOptions": options, "files": [file] });
    let configuration_file = project.join("tsconfig.json");
    fs::write(&configuration_file, configuration.to_string()).unwrap();
    let mut compiler = Command::new("node");
    compiler
        .arg(packages(workspace).join("typescript/bin/tsc"))
        .args(["--pretty", "false", "--project"])
        .arg(&configuration_file);
    succeed(&mut compiler);
}

/// Packs the built SDK as `npm publish` does.
fn pack(workspace: &Workspace) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--pack-destination"])
        .arg(folder.path())
        .arg(workspace.sdk())
        .current_dir(folder.path());
    succeed(&mut npm);
    folder
}

fn tarball(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).unwrap();
    files.next().unwrap().unwrap().path()
}

fn packages(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("web-sdk-node/node_modules")
}
