//! The shared libraries of this machine for an image of a program that is not static.
//!
//! A public release has static programs, whose images contain no library.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::machine;
use super::packed_file::PackedFile;
use super::programs::Programs;

/// Returns the loader and the libraries that the program needs, at the paths where it looks for them.
pub(super) fn libraries(programs: &Programs) -> Result<Vec<PackedFile>> {
    let Some(loader) = machine::interpreter(&programs.main)? else {
        return Ok(Vec::new());
    };
    let machine = programs.target.triple.split('-').next().unwrap_or_default();
    let folders = [
        format!("/lib/{machine}-linux-gnu"),
        format!("/usr/lib/{machine}-linux-gnu"),
        "/lib64".to_owned(),
        "/usr/lib64".to_owned(),
    ];
    let content = fs::read(&loader).with_context(|| format!("{loader} is missing"))?;
    let loader_name = Path::new(&loader).file_name().unwrap_or_default();
    let mut found = BTreeMap::from([(loader_name.to_string_lossy().into_owned(), content)]);
    let mut waiting = machine::needed_libraries(&programs.main)?;
    while let Some(name) = waiting.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let mut paths = folders
            .iter()
            .map(|folder| PathBuf::from(folder).join(&name));
        let path = paths.find(|path| path.is_file());
        let path = path.with_context(|| format!("this machine has no {name}"))?;
        let content = fs::read(&path)?;
        waiting.extend(machine::needed_libraries(&content)?);
        found.insert(name, content);
    }
    let files = found.into_iter().map(|(name, content)| {
        // The loader has the path that is written in the program; the libraries are where it looks.
        let path = if loader.ends_with(&format!("/{name}")) {
            loader.trim_start_matches('/').to_owned()
        } else {
            format!("lib/{machine}-linux-gnu/{name}")
        };
        PackedFile::program(path, &content.into())
    });
    Ok(files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::build::host_target;
    use crate::release::targets::find;

    /// The test program stands for a program of a release.
    #[test]
    fn the_loader_and_all_libraries_are_found() {
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        let programs = Programs {
            target: find(&host_target().unwrap()).unwrap(),
            main: program.into(),
            stdio: b""[..].into(),
        };
        let paths: Vec<_> = libraries(&programs)
            .unwrap()
            .into_iter()
            .map(|file| file.path)
            .collect();
        assert!(
            paths
                .iter()
                .any(|path| path.ends_with("-linux-gnu/libc.so.6"))
        );
        let loader = machine::interpreter(&programs.main).unwrap().unwrap();
        assert!(paths.contains(&loader.trim_start_matches('/').to_owned()));
    }
}
