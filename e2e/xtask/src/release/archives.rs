//! The archives with the programs, from which `install.sh` installs.

use anyhow::Result;

use super::licences::ProductTexts;
use super::pack;
use super::packed_file::PackedFile;
use super::product::{NAME, README, STDIO_NAME, fill};
use super::programs::Programs;
use super::release_folder::ReleaseFolder;
use super::targets::Target;

/// Writes the archive of each system.
pub(super) fn write(
    release: &mut ReleaseFolder,
    programs: &[Programs],
    texts: &ProductTexts,
    completions: &[PackedFile],
) -> Result<()> {
    for one in programs {
        let files = files(one, texts, completions);
        let content = if one.target.is_windows() {
            pack::zip(&files)?
        } else {
            pack::tar_gz(&files, release.time())?
        };
        release.write(&file_name(one.target), content)?;
    }
    Ok(())
}

/// Returns the name of a system's archive.
pub(super) fn file_name(target: &Target) -> String {
    let suffix = if target.is_windows() { "zip" } else { "tar.gz" };
    format!("{}.{suffix}", folder_name(target))
}

/// Returns the folder in a system's archive.
fn folder_name(target: &Target) -> String {
    format!("{NAME}-{}", target.triple)
}

fn files(programs: &Programs, texts: &ProductTexts, completions: &[PackedFile]) -> Vec<PackedFile> {
    let target = programs.target;
    let mut files = texts.files();
    files.push(PackedFile::text("README.md", fill(README)));
    files.push(PackedFile::program(target.file_name(NAME), &programs.main));
    files.push(PackedFile::program(
        target.file_name(STDIO_NAME),
        &programs.stdio,
    ));
    let completions = completions.iter().cloned();
    files.extend(completions.map(|file| file.below("completions")));
    let folder = folder_name(target);
    files.into_iter().map(|file| file.below(&folder)).collect()
}
