//! The programs that a release wraps: given ones, or those that this machine builds.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::machine;
use super::product::{NAME, STDIO_NAME};
use super::targets::{self, TARGETS, Target};

/// The programs for one system.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    pub(super) target: &'static Target,
    /// The program `mcp-web`.
    pub(super) main: Arc<[u8]>,
    /// The program `mcp-web-stdio`.
    pub(super) stdio: Arc<[u8]>,
}

impl Programs {
    /// Loads the programs of one system, and checks that they are for it.
    fn load(target: &'static Target, folder: &Path) -> Result<Self> {
        let load = |name: &str| -> Result<Arc<[u8]>> {
            let path = folder.join(target.file_name(name));
            let content = fs::read(&path)
                .with_context(|| format!("{} is missing: build it first", path.display()))?;
            machine::check(target, &content).with_context(|| path.display().to_string())?;
            Ok(content.into())
        };
        Ok(Self {
            target,
            main: load(NAME)?,
            stdio: load(STDIO_NAME)?,
        })
    }
}

/// Loads the programs below a folder, which has a folder for each system with Rust's name.
pub(super) fn load_all(folder: &Path) -> Result<Vec<Programs>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("{} must contain the programs", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    if let Some(unknown) = names.iter().find(|name| targets::find(name).is_none()) {
        let known: Vec<_> = TARGETS.iter().map(|target| target.triple).collect();
        bail!(
            "{}: {unknown} is not one of {}",
            folder.display(),
            known.join(", ")
        );
    }
    // In the order of the table, so that no output depends on the order of a folder.
    let present = TARGETS
        .iter()
        .filter(|target| names.iter().any(|name| name == target.triple));
    let programs: Vec<Programs> = present
        .map(|target| Programs::load(target, &folder.join(target.triple)))
        .collect::<Result<_>>()?;
    if programs.is_empty() {
        bail!("{} contains no programs", folder.display());
    }
    for (index, one) in programs.iter().enumerate() {
        let platform = one.target.platform();
        let same = |other: &&Programs| other.target.platform() == platform;
        if let Some(other) = programs[index + 1..].iter().find(same) {
            bail!(
                "{} and {} are the same platform: give one of them",
                one.target.triple,
                other.target.triple
            );
        }
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::machine::header_of;

    /// A folder with programs that are headers only.
    fn programs_of(triples: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for triple in triples {
            let home = folder.path().join(triple);
            fs::create_dir(&home).unwrap();
            let target = targets::find(triple).unwrap();
            for name in [NAME, STDIO_NAME] {
                fs::write(home.join(target.file_name(name)), header_of(target)).unwrap();
            }
        }
        folder
    }

    #[test]
    fn programs_of_all_systems_are_loaded_in_the_order_of_the_table() {
        let triples: Vec<_> = TARGETS
            .iter()
            .filter(|target| !target.is_glibc())
            .map(|target| target.triple)
            .collect();
        let folder = programs_of(&triples);
        let loaded = load_all(folder.path()).unwrap();
        let order: Vec<_> = loaded.iter().map(|it| it.target.triple).collect();
        assert_eq!(order, triples);
    }

    #[test]
    fn a_program_for_another_system_is_refused() {
        let folder = programs_of(&["x86_64-unknown-linux-musl"]);
        let arm = targets::find("aarch64-unknown-linux-musl").unwrap();
        let program = folder
            .path()
            .join("x86_64-unknown-linux-musl/mcp-web-stdio");
        fs::write(&program, header_of(arm)).unwrap();
        let message = format!("{:#}", load_all(folder.path()).unwrap_err());
        assert!(message.contains("mcp-web-stdio"), "{message}");
        assert!(message.contains("Aarch64"), "{message}");
    }

    #[test]
    fn unknown_missing_and_repeated_systems_are_refused() {
        let message_of = |folder: &Path| format!("{:#}", load_all(folder).unwrap_err());
        let folder = tempfile::tempdir().unwrap();
        assert!(message_of(folder.path()).contains("no programs"));
        assert!(message_of(&folder.path().join("missing")).contains("must contain"));
        fs::create_dir(folder.path().join("linux")).unwrap();
        assert!(message_of(folder.path()).contains("linux is not one of x86_64-"));
        let both = programs_of(&["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"]);
        assert!(message_of(both.path()).contains("same platform"));
        let incomplete = programs_of(&["x86_64-pc-windows-msvc"]);
        let stdio = incomplete
            .path()
            .join("x86_64-pc-windows-msvc/mcp-web-stdio.exe");
        fs::remove_file(stdio).unwrap();
        assert!(message_of(incomplete.path()).contains("mcp-web-stdio.exe is missing"));
    }
}
