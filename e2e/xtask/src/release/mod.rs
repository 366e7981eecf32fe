//! `cargo xtask release`: the packages of a version, made from given or built programs.
//!
//! `programs` loads one or two programs for each system of the table `targets`, and `machine` checks
//! that each is for the system whose name it has. Without given ones, `build` builds those for this
//! machine. Each wrapper puts them into another kind of package: `archives` (with `install_script`, which
//! installs from them), `npm`, `wheel`, `deb`, `oci` (with `glibc`), `mcpb`, and lists them: `server_json`, `plugin`.
//! `pack` makes all archives, `release_folder` writes all files. `crates` and `npm_packages`
//! list what the programs consist of, for `licences` and `sbom`; `notes` is the text of the version.
//!
//! The same programs and the same commit give the same bytes.

mod archives;
mod build;
mod completions;
mod crates;
mod deb;
mod glibc;
mod install_script;
mod licences;
mod machine;
mod mcpb;
mod notes;
mod npm;
mod npm_packages;
mod oci;
mod options;
mod pack;
mod packed_file;
mod plugin;
mod product;
mod programs;
mod release_folder;
mod sbom;
mod server_json;
mod shipped_package;
mod targets;
mod wheel;

use std::path::PathBuf;

use anyhow::Result;

use crate::Workspace;
use crate::step::{Outcome, step};
use licences::ProductTexts;
use options::Kind;
use release_folder::ReleaseFolder;

pub(crate) use build::{host_target, replace_source_paths};
pub(crate) use machine::check_program;
pub use options::Options;

/// Makes the folder `target/release-VERSION` anew, and returns its path.
///
/// # Errors
///
/// Returns an error if a program is missing or is for another system, and if a package in it has no licence.
pub fn make(workspace: &Workspace, options: &Options) -> Result<PathBuf> {
    let folder = match options.programs() {
        Some(folder) => folder.to_owned(),
        None => build::build_programs(workspace)?,
    };
    let programs = step("the programs", || {
        Ok(Outcome::Done(programs::load_all(&folder)?))
    })?;
    let mut packages = npm_packages::list(workspace)?;
    let texts = step("the licences of all packages in the programs", || {
        packages.extend(crates::list(workspace)?);
        Ok(Outcome::Done(ProductTexts::collect(workspace, &packages)?))
    })?;
    let path = workspace.path(&format!("target/release-{}", product::VERSION));
    let mut release = ReleaseFolder::create(path, product::source_time(workspace)?)?;
    let needs_completions = options.includes(Kind::Archives) || options.includes(Kind::Deb);
    let completions = if needs_completions {
        completions::generate(workspace, &programs)?
    } else {
        Vec::new()
    };
    let release = &mut release;
    make_kind(options, Kind::Archives, || {
        archives::write(release, &programs, &texts, &completions)
    })?;
    make_kind(options, Kind::Npm, || {
        npm::write(workspace, release, &programs, &texts)
    })?;
    make_kind(options, Kind::Wheel, || {
        wheel::write(release, &programs, &texts)
    })?;
    make_kind(options, Kind::Deb, || {
        deb::write(workspace, release, &programs, &texts, &completions)
    })?;
    make_kind(options, Kind::Oci, || {
        oci::write(release, &programs, &texts)
    })?;
    make_kind(options, Kind::Mcpb, || {
        mcpb::write(release, &programs, &texts)
    })?;
    make_kind(options, Kind::Plugin, || plugin::write(release))?;
    make_kind(options, Kind::InstallScript, || {
        install_script::write(release, &programs)
    })?;
    make_kind(options, Kind::Sbom, || {
        let document = sbom::document(&packages);
        release.write("mcp-web.cdx.json", format!("{document:#}\n"))
    })?;
    // After the packages that it lists.
    make_kind(options, Kind::ServerJson, || {
        let document = server_json::document(release);
        release.write("server.json", format!("{document:#}\n"))
    })?;
    release.write_sums()?;
    // The text of the page with the files, which is not one of them.
    make_kind(options, Kind::Notes, || {
        release.write("NOTES.md", notes::section(workspace)?)
    })?;
    println!("{}", release.path().display());
    Ok(release.path().to_owned())
}

/// Makes one kind of package, if it is selected.
fn make_kind(options: &Options, kind: Kind, work: impl FnOnce() -> Result<()>) -> Result<()> {
    if !options.includes(kind) {
        return Ok(());
    }
    step(&kind.name(), || {
        work()?;
        Ok(Outcome::Done(()))
    })
}
