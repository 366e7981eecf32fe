//! The header of a program: the machine that it runs on, and the libraries that it needs there.

use anyhow::{Context, Result, bail};
use object::elf::DT_NEEDED;
use object::endian::Endianness;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{File, Object};

use super::targets::{self, Target};

/// Checks that a program is for the system whose name it has.
pub(super) fn check(target: &Target, program: &[u8]) -> Result<()> {
    let file = File::parse(program).context("not a program")?;
    if (file.format(), file.architecture()) != (target.format, target.architecture) {
        bail!(
            "a program for {:?} on {:?} is not one for {}",
            file.format(),
            file.architecture(),
            target.triple
        );
    }
    // A program that is dynamic needs the C library of its system, and does not start on the others.
    let is_static = target.triple.ends_with("musl");
    if is_static && interpreter(program)?.is_some() {
        bail!("a program for {} must be static", target.triple);
    }
    Ok(())
}

/// Checks that a program is for the system that Rust names so. Both kinds of Windows have the same header.
pub(crate) fn check_program(triple: &str, program: &[u8]) -> Result<()> {
    let released = triple.replace("windows-gnu", "windows-msvc");
    let target = targets::find(&released).with_context(|| format!("{triple} is not released"))?;
    check(target, program)
}

fn elf(program: &[u8]) -> Result<ElfFile64<'_, Endianness>> {
    ElfFile64::parse(program).context("not a program of Linux")
}

/// Returns the path of the loader that a program of Linux is started with, unless it is static.
pub(super) fn interpreter(program: &[u8]) -> Result<Option<String>> {
    let elf = elf(program)?;
    for header in elf.elf_program_headers() {
        if let Some(path) = header.interpreter(elf.endian(), program)? {
            return Ok(Some(String::from_utf8_lossy(path).into_owned()));
        }
    }
    Ok(None)
}

/// Returns the names of the shared libraries that a program or a library of Linux is linked against.
pub(super) fn needed_libraries(program: &[u8]) -> Result<Vec<String>> {
    let elf = elf(program)?;
    let table = elf.elf_dynamic_table()?;
    let needed = table.iter().filter(|entry| entry.tag == DT_NEEDED);
    let names = needed.map(|entry| {
        let name = entry.string(table.strings())?;
        Ok(String::from_utf8_lossy(name).into_owned())
    });
    names.collect()
}

/// Returns the newest minor version of glibc 2 whose symbols a program uses.
pub(super) fn glibc_minor_version(program: &[u8]) -> Result<u32> {
    let elf = elf(program)?;
    let endian = elf.endian();
    let sections = elf.elf_section_table();
    let mut newest = 0;
    let Some((mut needs, link)) = sections.gnu_verneed(endian, program)? else {
        bail!("a program that uses no symbols of glibc");
    };
    let strings = sections.strings(endian, program, link)?;
    while let Some((_, mut versions)) = needs.next()? {
        while let Some(version) = versions.next()? {
            let name = String::from_utf8_lossy(version.name(endian, strings)?).into_owned();
            newest = newest.max(parse_glibc_version(&name).unwrap_or(0));
        }
    }
    Ok(newest)
}

/// Parses `GLIBC_2.34` or `GLIBC_2.2.5`.
fn parse_glibc_version(name: &str) -> Option<u32> {
    let version = name.strip_prefix("GLIBC_2.")?;
    version.split('.').next()?.parse().ok()
}

/// Returns the shortest file that has the header of a program for this system.
#[cfg(test)]
pub(super) fn header_of(target: &Target) -> Vec<u8> {
    use object::{Architecture, BinaryFormat};

    let is_arm = target.architecture == Architecture::Aarch64;
    let mut bytes = vec![0; 512];
    let mut put = |position: usize, value: &[u8]| {
        bytes[position..position + value.len()].copy_from_slice(value);
    };
    match target.format {
        BinaryFormat::Elf => {
            // 64 bits, little-endian; an executable; its machine; version 1; the length of this header.
            put(0, b"\x7fELF\x02\x01\x01");
            put(16, &[2, 0, if is_arm { 183 } else { 62 }, 0, 1]);
            put(52, &[64, 0]);
        }
        BinaryFormat::MachO => {
            put(0, &0xfeed_facf_u32.to_le_bytes());
            let cpu: u32 = if is_arm { 0x0100_000c } else { 0x0100_0007 };
            put(4, &cpu.to_le_bytes());
            put(12, &[2]);
        }
        _ => {
            put(0, b"MZ");
            put(60, &[64]);
            put(64, b"PE\0\0");
            let machine: u16 = if is_arm { 0xaa64 } else { 0x8664 };
            put(68, &machine.to_le_bytes());
            // The length of the optional header, which begins with the number of PE32+.
            put(84, &[112, 0]);
            put(88, &[0x0b, 0x02]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::release::targets::{TARGETS, find};

    #[test]
    fn a_header_fits_only_the_targets_of_its_machine() {
        for target in &TARGETS {
            for other in &TARGETS {
                let is_same =
                    (target.format, target.architecture) == (other.format, other.architecture);
                let checked = check(other, &header_of(target));
                assert_eq!(
                    checked.is_ok(),
                    is_same,
                    "{} as {}: {checked:?}",
                    target.triple,
                    other.triple
                );
            }
        }
        assert!(check(&TARGETS[0], b"#!/bin/sh").is_err());
        assert!(check(&TARGETS[0], b"").is_err());
    }

    /// The test program itself is linked against glibc.
    #[test]
    fn the_needs_of_a_dynamic_program_are_found() {
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        let libraries = needed_libraries(&program).unwrap();
        assert!(libraries.contains(&"libc.so.6".to_owned()), "{libraries:?}");
        assert!(interpreter(&program).unwrap().unwrap().contains("ld-"));
        assert!(glibc_minor_version(&program).unwrap() >= 17);
        let musl = find("x86_64-unknown-linux-musl").unwrap();
        let message = check(musl, &program).unwrap_err().to_string();
        assert!(message.ends_with("must be static"), "{message}");
    }

    #[test]
    fn versions_of_glibc_are_parsed() {
        assert_eq!(parse_glibc_version("GLIBC_2.34"), Some(34));
        assert_eq!(parse_glibc_version("GLIBC_2.2.5"), Some(2));
        assert_eq!(parse_glibc_version("GLIBC_PRIVATE"), None);
        assert_eq!(parse_glibc_version("GCC_3.0"), None);
    }
}
