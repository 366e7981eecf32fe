//! The bundles for Claude Desktop, each with the stdio client for one system.

use anyhow::Result;

use super::licences::ProductTexts;
use super::pack;
use super::packed_file::PackedFile;
use super::product::{NAME, STDIO_NAME, fill};
use super::programs::Programs;
use super::release_folder::ReleaseFolder;

const MANIFEST: &str = include_str!("templates/mcpb-manifest.json");

/// The folder of the bundles in a release.
pub(super) const FOLDER: &str = "mcpb/";

/// Writes the bundle of each system. The format has no place for the processor, which is in the name.
pub(super) fn write(
    release: &mut ReleaseFolder,
    programs: &[Programs],
    texts: &ProductTexts,
) -> Result<()> {
    for one in programs {
        let path = format!("{FOLDER}{NAME}-{}.mcpb", one.target.platform());
        release.write(&path, pack::zip(&files(one, texts))?)?;
    }
    Ok(())
}

fn files(programs: &Programs, texts: &ProductTexts) -> Vec<PackedFile> {
    let program = programs.target.file_name(STDIO_NAME);
    let manifest = fill(MANIFEST)
        .replace("@PROGRAM@", &program)
        .replace("@PLATFORM@", programs.target.npm_os);
    let mut files = vec![
        PackedFile::text("manifest.json", manifest),
        PackedFile::program(format!("server/{program}"), &programs.stdio),
    ];
    files.extend(texts.files());
    files
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::release::targets::find;

    #[test]
    fn the_manifest_starts_the_program_of_the_bundle() {
        let programs = Programs {
            target: find("x86_64-pc-windows-msvc").unwrap(),
            main: b""[..].into(),
            stdio: b"stdio"[..].into(),
        };
        let files = files(&programs, &ProductTexts::for_tests());
        let manifest: Value = serde_json::from_slice(&files[0].content).unwrap();
        assert_eq!(manifest["server"]["entry_point"], files[1].path.as_str());
        assert_eq!(files[1].mode, 0o755);
        assert_eq!(manifest["compatibility"]["platforms"], json!(["win32"]));
        assert_eq!(manifest["user_config"]["token"]["sensitive"], true);
        assert!(!manifest.to_string().contains('@'), "{manifest}");
    }
}
