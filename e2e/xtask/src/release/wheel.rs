//! The Python wheel, which has the program and no Python.

use anyhow::Result;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::licences::ProductTexts;
use super::machine;
use super::pack;
use super::packed_file::PackedFile;
use super::product::{AUTHOR, DESCRIPTION, LICENSE, NAME, README, REPOSITORY, VERSION, fill};
use super::programs::Programs;
use super::release_folder::ReleaseFolder;
use super::targets::Wheel;

/// Writes the wheel of each system.
pub(super) fn write(
    release: &mut ReleaseFolder,
    programs: &[Programs],
    texts: &ProductTexts,
) -> Result<()> {
    for one in programs {
        let platform = platform_tag(one)?;
        let path = format!("pypi/{}-py3-none-{platform}.whl", stem());
        release.write(&path, pack::zip(&files(one, &platform, texts))?)?;
    }
    Ok(())
}

/// Returns the name and the version as they begin the names of files: without hyphens.
fn stem() -> String {
    format!("{}-{VERSION}", NAME.replace('-', "_"))
}

/// Returns the platform, as PEP 600 and PEP 656 define it.
fn platform_tag(programs: &Programs) -> Result<String> {
    Ok(match programs.target.wheel {
        Wheel::Tag(tag) => tag.to_owned(),
        Wheel::Glibc(architecture) => {
            let minor = machine::glibc_minor_version(&programs.main)?;
            format!("manylinux_2_{minor}_{architecture}")
        }
    })
}

fn files(programs: &Programs, platform: &str, texts: &ProductTexts) -> Vec<PackedFile> {
    let information = format!("{}.dist-info", stem());
    let program = programs.target.file_name(NAME);
    let mut files = vec![PackedFile::program(
        format!("{}.data/scripts/{program}", stem()),
        &programs.main,
    )];
    let licences = texts.files().into_iter();
    files.extend(licences.map(|file| file.below(&format!("{information}/licenses"))));
    files.push(PackedFile::text(
        format!("{information}/METADATA"),
        metadata(),
    ));
    files.push(PackedFile::text(
        format!("{information}/WHEEL"),
        wheel(platform),
    ));
    files.push(record(&files, &information));
    files
}

fn metadata() -> String {
    format!(
        "Metadata-Version: 2.4
Name: {NAME}
Version: {VERSION}
Summary: {DESCRIPTION}
Author: {AUTHOR}
License-Expression: {LICENSE}
License-File: LICENSE
License-File: THIRD-PARTY.txt
Project-URL: Source, {REPOSITORY}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{}",
        fill(README)
    )
}

/// The wheel has a line for each of the tags that its file name joins with dots.
fn wheel(platform: &str) -> String {
    let tags: String = platform
        .split('.')
        .map(|tag| format!("Tag: py3-none-{tag}\n"))
        .collect();
    format!("Wheel-Version: 1.0\nGenerator: cargo xtask release\nRoot-Is-Purelib: false\n{tags}")
}

/// The list of the files with their hashes and sizes, and of itself without.
fn record(files: &[PackedFile], information: &str) -> PackedFile {
    let path = format!("{information}/RECORD");
    let lines = files.iter().map(|file| {
        let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&file.content));
        format!("{},sha256={hash},{}\n", file.path, file.content.len())
    });
    let text: String = lines.chain([format!("{path},,\n")]).collect();
    PackedFile::text(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::targets::find;

    fn windows() -> Programs {
        Programs {
            target: find("x86_64-pc-windows-msvc").unwrap(),
            main: b"hello"[..].into(),
            stdio: b""[..].into(),
        }
    }

    #[test]
    fn the_record_lists_every_file_with_its_hash() {
        let files = files(&windows(), "win_amd64", &ProductTexts::for_tests());
        let record = files.last().unwrap();
        let text = String::from_utf8_lossy(&record.content).into_owned();
        assert_eq!(text.lines().count(), files.len());
        // The SHA-256 of `hello` in base64, as other programs print it.
        let hash = "LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ";
        let program = format!("{}.data/scripts/mcp-web.exe,sha256={hash},5", stem());
        assert_eq!(text.lines().next(), Some(program.as_str()));
        assert_eq!(
            text.lines().last(),
            Some(format!("{},,", record.path).as_str())
        );
    }

    #[test]
    fn each_tag_of_a_static_program_has_a_line() {
        let text = wheel("manylinux_2_17_x86_64.musllinux_1_1_x86_64");
        assert!(text.contains("\nTag: py3-none-manylinux_2_17_x86_64\n"));
        assert!(text.ends_with("\nTag: py3-none-musllinux_1_1_x86_64\n"));
    }

    #[test]
    fn a_program_for_glibc_has_the_tag_of_the_version_that_it_needs() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let programs = Programs {
            target: find("x86_64-unknown-linux-gnu").unwrap(),
            main: program.into(),
            stdio: b""[..].into(),
        };
        let tag = platform_tag(&programs).unwrap();
        let minor = tag.strip_prefix("manylinux_2_").unwrap();
        let minor: u32 = minor.strip_suffix("_x86_64").unwrap().parse().unwrap();
        assert!(minor >= 17);
    }
}
