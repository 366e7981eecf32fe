//! Builds the programs for this machine, with source paths that do not depend on where it has its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::product::{NAME, STDIO_NAME};
use crate::process::{capture, cargo, cargo_home, run};
use crate::step::{Outcome, step};
use crate::toolchain::parse_field;
use crate::{Workspace, folder, sdk};

/// The folder of the compiled code, relative to the workspace. The flags differ from those of other builds,
/// which would each compile everything again.
const TARGET_FOLDER: &str = "target/release-build";
/// The folder of the programs, as `--programs` takes it.
const PROGRAMS: &str = "target/release-build/programs";

/// Builds the programs, and returns a folder as `--programs` takes it.
pub(super) fn build_programs(workspace: &Workspace) -> Result<PathBuf> {
    sdk::ensure(workspace)?;
    let host = host_target()?;
    let programs = workspace.path(PROGRAMS);
    let home = programs.join(&host);
    folder::remove(&programs)?;
    folder::create(&home)?;
    // One after the other: together, the stdio client would get features that only the bridge uses.
    for (package, program) in [("mcp-web-cli", NAME), ("client-stdio", STDIO_NAME)] {
        step(&format!("building {program} for {host}"), || {
            let mut build = cargo(workspace);
            build
                .args([
                    "build",
                    "--profile",
                    "dist",
                    "--locked",
                    "--package",
                    package,
                ])
                .args(["--bin", program, "--target-dir"])
                .arg(workspace.path(TARGET_FOLDER))
                .env_remove("RUSTFLAGS");
            replace_source_paths(workspace, &mut build)?;
            run(&mut build, "fix the errors above")?;
            let built = workspace.path(TARGET_FOLDER).join("dist").join(program);
            fs::copy(&built, home.join(program))
                .with_context(|| format!("cannot copy {}", built.display()))?;
            Ok(Outcome::Done(()))
        })?;
    }
    Ok(programs)
}

/// Returns Rust's name of this machine.
pub(crate) fn host_target() -> Result<String> {
    let mut rustc = Command::new("rustc");
    let text = capture(rustc.arg("-vV"), "install Rust with rustup")?;
    parse_field(&text, "host: ").context("rustc -vV names no host")
}

/// The folders with sources, each with the path that the programs have instead.
fn source_folders(workspace: &Workspace) -> Result<[(PathBuf, &'static str); 3]> {
    let home = cargo_home().context("set CARGO_HOME or HOME")?;
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "sysroot"]);
    let sysroot = capture(&mut rustc, "install Rust with rustup")?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
    Ok([
        (workspace.root().to_owned(), "/src"),
        (home, "/cargo"),
        (library, "/rustc"),
    ])
}

/// Lets the programs of a build have source paths that do not depend on this machine.
pub(crate) fn replace_source_paths(workspace: &Workspace, build: &mut Command) -> Result<()> {
    set_path_flags(build, &source_folders(workspace)?);
    Ok(())
}

/// Sets the flags of the compilers of Rust and C. The last one that fits a path wins.
fn set_path_flags(build: &mut Command, folders: &[(PathBuf, &str)]) {
    let flags = |name: &str| {
        let flag = |(from, to): &(PathBuf, &str)| format!("{name}={}={to}", from.display());
        folders.iter().map(flag).collect::<Vec<_>>()
    };
    build
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            flags("--remap-path-prefix").join("\u{1f}"),
        )
        .env("CFLAGS", flags("-ffile-prefix-map").join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilers_get_the_paths_to_replace() {
        let mut command = Command::new("cargo");
        set_path_flags(
            &mut command,
            &[("/a b".into(), "/src"), ("/h/.cargo".into(), "/cargo")],
        );
        let value = |name: &str| {
            let value = command.get_envs().find(|(key, _)| *key == name).unwrap().1;
            value.unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(
            value("CARGO_ENCODED_RUSTFLAGS"),
            "--remap-path-prefix=/a b=/src\u{1f}--remap-path-prefix=/h/.cargo=/cargo"
        );
        assert!(value("CFLAGS").starts_with("-ffile-prefix-map=/a b=/src "));
    }

    #[test]
    fn the_programs_of_this_machine_have_a_name_in_the_table() {
        assert!(crate::release::targets::find(&host_target().unwrap()).is_some());
    }
}
