//! The npm packages: the program, and the packages for pages and for Lowdefy apps.
//!
//! The program is one package, `mcp-web`. Its main version has only a launcher, and depends on the versions
//! with a program, such as `0.2.0-linux-x64`, under other names. npm installs the one that fits the
//! machine. No package has an install script, which newer versions of npm do not run.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::licences::ProductTexts;
use super::pack;
use super::packed_file::PackedFile;
use super::product::{
    AUTHOR, DESCRIPTION, LICENSE, NAME, README, REGISTRY_NAME, REPOSITORY, VERSION, fill,
};
use super::programs::Programs;
use super::release_folder::ReleaseFolder;
use super::targets::Target;
use crate::process::capture;
use crate::{Workspace, lowdefy, sdk};

const LAUNCHER: &str = include_str!("templates/launcher.cjs");

/// Writes all packages.
pub(super) fn write(
    workspace: &Workspace,
    release: &mut ReleaseFolder,
    programs: &[Programs],
    texts: &ProductTexts,
) -> Result<()> {
    let time = release.time();
    let main = main_package(programs, texts);
    release.write("npm/mcp-web.tgz", &pack::npm_tgz(&main, time)?)?;
    for one in programs {
        let path = format!("npm/{}.tgz", one.target.platform());
        let package = platform_package(one.target, &one.main, texts);
        release.write(&path, &pack::npm_tgz(&package, time)?)?;
    }
    sdk::ensure_package(workspace)?;
    let lowdefy = lowdefy::ensure(workspace)?;
    for (name, folder) in [("sdk", workspace.sdk()), ("lowdefy", lowdefy)] {
        let mut package = built_package(&folder)?;
        if name == "sdk" {
            // It has a copy of other packages in it, and the file LICENSE already.
            let texts = texts.files().into_iter();
            let texts = texts.filter(|file| file.path != "LICENSE");
            package.extend(texts.map(|file| file.below("package")));
        }
        release.write(&format!("npm/{name}.tgz"), &pack::npm_tgz(&package, time)?)?;
    }
    Ok(())
}

/// The package that `npx mcp-web` installs.
fn main_package(programs: &[Programs], texts: &ProductTexts) -> Vec<PackedFile> {
    let platforms = programs.iter().map(|one| one.target);
    let aliases: Map<String, Value> = platforms
        .map(|target| {
            let version = format!("npm:{NAME}@{}", platform_version(target));
            (alias(target), version.into())
        })
        .collect();
    let mut manifest = manifest(VERSION);
    manifest["bin"] = json!({ NAME: "launcher.cjs" });
    manifest["engines"] = json!({ "node": ">=18" });
    manifest["mcpName"] = REGISTRY_NAME.into();
    manifest["optionalDependencies"] = aliases.into();
    let launcher = PackedFile::program("launcher.cjs", &Arc::from(LAUNCHER.as_bytes()));
    package(&manifest, launcher, texts)
}

/// The package with the program for one platform.
fn platform_package(target: &Target, program: &Arc<[u8]>, texts: &ProductTexts) -> Vec<PackedFile> {
    let path = format!("bin/{}", target.file_name(NAME));
    let mut manifest = manifest(&platform_version(target));
    // Not the name of the main package's command: npm would link one of both, and which one is not defined.
    manifest["bin"] = json!({ alias(target): path });
    manifest["os"] = json!([target.npm_os]);
    manifest["cpu"] = json!([target.npm_cpu]);
    if target.is_glibc() {
        manifest["libc"] = json!(["glibc"]);
    }
    package(&manifest, PackedFile::program(path, program), texts)
}

fn platform_version(target: &Target) -> String {
    format!("{VERSION}-{}", target.platform())
}

/// Returns the name under which the main package depends on the one with the program.
fn alias(target: &Target) -> String {
    format!("{NAME}-{}", target.platform())
}

fn manifest(version: &str) -> Value {
    json!({
        "name": NAME,
        "version": version,
        "description": DESCRIPTION,
        "keywords": ["mcp", "model-context-protocol", "ai", "tools", "browser"],
        "license": LICENSE,
        "author": AUTHOR,
        "repository": { "type": "git", "url": format!("git+{REPOSITORY}.git") },
    })
}

fn package(manifest: &Value, program: PackedFile, texts: &ProductTexts) -> Vec<PackedFile> {
    let mut files = texts.files();
    files.push(program);
    files.push(PackedFile::text("README.md", fill(README)));
    files.push(PackedFile::text("package.json", format!("{manifest:#}\n")));
    files
        .into_iter()
        .map(|file| file.below("package"))
        .collect()
}

/// The files that npm would publish of a folder.
fn built_package(folder: &Path) -> Result<Vec<PackedFile>> {
    let mut npm = Command::new("npm");
    npm.args([
        "pack",
        "--dry-run",
        "--json",
        "--ignore-scripts",
        "--loglevel=error",
    ])
    .current_dir(folder);
    let list = capture(&mut npm, "install Node 20 or later with npm")?;
    let list: Value = serde_json::from_str(&list).context("npm pack printed no JSON")?;
    // npm 11 prints a list with one package, and npm 12 an object with one member.
    let package = list.get(0).or_else(|| list.as_object()?.values().next());
    let files = package.and_then(|package| package["files"].as_array());
    let files = files.context("npm pack listed no files")?;
    let pack = |file: &Value| {
        let path = file["path"].as_str().context("npm pack listed no path")?;
        let source = folder.join(path);
        let content =
            fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let content = Arc::from(content);
        let is_program = file["mode"].as_u64().unwrap_or(0) & 0o100 != 0;
        let packed = PackedFile {
            path: path.to_owned(),
            mode: if is_program { 0o755 } else { 0o644 },
            content,
        };
        Ok(packed.below("package"))
    };
    files.iter().map(pack).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::targets::find;

    fn programs() -> Vec<Programs> {
        ["x86_64-unknown-linux-musl", "aarch64-pc-windows-msvc"]
            .map(|triple| Programs {
                target: find(triple).unwrap(),
                main: b"main"[..].into(),
                stdio: b"stdio"[..].into(),
            })
            .to_vec()
    }

    fn manifest_of(files: &[PackedFile]) -> Value {
        let file = files.iter().find(|it| it.path == "package/package.json");
        serde_json::from_slice(&file.unwrap().content).unwrap()
    }

    #[test]
    fn the_main_package_depends_on_versions_of_itself() {
        let files = main_package(&programs(), &ProductTexts::for_tests());
        let manifest = manifest_of(&files);
        assert_eq!(manifest["name"], "mcp-web");
        assert_eq!(manifest["version"], VERSION);
        assert_eq!(manifest["bin"], json!({ "mcp-web": "launcher.cjs" }));
        assert_eq!(
            manifest["optionalDependencies"],
            json!({
                "mcp-web-linux-x64": format!("npm:mcp-web@{VERSION}-linux-x64"),
                "mcp-web-win32-arm64": format!("npm:mcp-web@{VERSION}-win32-arm64"),
            })
        );
        assert!(manifest.get("dependencies").is_none());
        assert!(manifest.get("scripts").is_none());
        let launcher = files.iter().find(|it| it.path == "package/launcher.cjs");
        assert_eq!(launcher.unwrap().mode, 0o755);
    }

    #[test]
    fn the_package_of_a_platform_has_one_program() {
        let windows = &programs()[1];
        let texts = ProductTexts::for_tests();
        let files = platform_package(windows.target, &windows.main, &texts);
        let manifest = manifest_of(&files);
        assert_eq!(manifest["version"], format!("{VERSION}-win32-arm64"));
        assert_eq!(manifest["os"], json!(["win32"]));
        assert_eq!(manifest["cpu"], json!(["arm64"]));
        let bin = manifest["bin"].as_object().unwrap();
        assert_eq!(bin.len(), 1);
        assert_eq!(bin["mcp-web-win32-arm64"], "bin/mcp-web.exe");
        assert!(manifest.get("scripts").is_none() && manifest.get("libc").is_none());
        let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        for name in ["LICENSE", "THIRD-PARTY.txt", "README.md", "bin/mcp-web.exe"] {
            assert!(
                names.contains(&format!("package/{name}").as_str()),
                "{names:?}"
            );
        }
    }

    /// The launcher finds the package by the name that the main package gives it.
    #[test]
    fn the_launcher_looks_for_the_alias_of_the_platform() {
        assert!(LAUNCHER.contains("`mcp-web-${PLATFORM}/package.json`"));
        let linux = find("x86_64-unknown-linux-musl").unwrap();
        assert_eq!(alias(linux), "mcp-web-linux-x64");
    }
}
