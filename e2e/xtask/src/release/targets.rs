//! The systems that programs are released for, with their names in each kind of package.

use object::{Architecture, BinaryFormat};

/// A system, named as Rust names it.
#[derive(Debug)]
pub(super) struct Target {
    /// Rust's name, which the archive has.
    pub(super) triple: &'static str,
    pub(super) format: BinaryFormat,
    pub(super) architecture: Architecture,
    /// `os` in a package.json.
    pub(super) npm_os: &'static str,
    /// `cpu` in a package.json.
    pub(super) npm_cpu: &'static str,
    /// The platform in the name of a wheel. That of glibc depends on the program: see `wheel`.
    pub(super) wheel: Wheel,
    /// The architecture of Debian and its relatives.
    pub(super) deb: Option<&'static str>,
    /// The architecture of an image.
    pub(super) oci: Option<&'static str>,
    /// The output of `uname -s` and the possible ones of `uname -m`, for the installer.
    pub(super) uname: Option<(&'static str, &'static [&'static str])>,
}

/// The platform of a wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wheel {
    /// This one, whatever the program needs.
    Tag(&'static str),
    /// `manylinux` for this architecture, with the version of glibc that the program needs.
    Glibc(&'static str),
}

impl Target {
    /// Returns whether programs are linked against glibc. Such a release is for tests on the machine that
    /// built it: the programs of a public release are static.
    pub(super) fn is_glibc(&self) -> bool {
        matches!(self.wheel, Wheel::Glibc(_))
    }

    pub(super) fn is_windows(&self) -> bool {
        self.format == BinaryFormat::Pe
    }

    /// Returns the file name of a program.
    pub(super) fn file_name(&self, program: &str) -> String {
        let suffix = if self.is_windows() { ".exe" } else { "" };
        format!("{program}{suffix}")
    }

    /// Returns the name of the platform in npm's words, such as `linux-x64`.
    pub(super) fn platform(&self) -> String {
        format!("{}-{}", self.npm_os, self.npm_cpu)
    }
}

/// Finds a target by Rust's name.
pub(super) fn find(triple: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.triple == triple)
}

const X86_64: &[&str] = &["x86_64", "amd64"];
const AARCH64: &[&str] = &["aarch64", "arm64"];

/// All targets. At most one of those with the same platform can be in a release.
pub(super) const TARGETS: [Target; 8] = [
    Target {
        triple: "x86_64-unknown-linux-musl",
        format: BinaryFormat::Elf,
        architecture: Architecture::X86_64,
        npm_os: "linux",
        npm_cpu: "x64",
        wheel: Wheel::Tag("manylinux_2_17_x86_64.musllinux_1_1_x86_64"),
        deb: Some("amd64"),
        oci: Some("amd64"),
        uname: Some(("Linux", X86_64)),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        format: BinaryFormat::Elf,
        architecture: Architecture::Aarch64,
        npm_os: "linux",
        npm_cpu: "arm64",
        wheel: Wheel::Tag("manylinux_2_17_aarch64.musllinux_1_1_aarch64"),
        deb: Some("arm64"),
        oci: Some("arm64"),
        uname: Some(("Linux", AARCH64)),
    },
    Target {
        triple: "x86_64-unknown-linux-gnu",
        format: BinaryFormat::Elf,
        architecture: Architecture::X86_64,
        npm_os: "linux",
        npm_cpu: "x64",
        wheel: Wheel::Glibc("x86_64"),
        deb: Some("amd64"),
        oci: Some("amd64"),
        uname: Some(("Linux", X86_64)),
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        format: BinaryFormat::Elf,
        architecture: Architecture::Aarch64,
        npm_os: "linux",
        npm_cpu: "arm64",
        wheel: Wheel::Glibc("aarch64"),
        deb: Some("arm64"),
        oci: Some("arm64"),
        uname: Some(("Linux", AARCH64)),
    },
    Target {
        triple: "x86_64-apple-darwin",
        format: BinaryFormat::MachO,
        architecture: Architecture::X86_64,
        npm_os: "darwin",
        npm_cpu: "x64",
        wheel: Wheel::Tag("macosx_10_12_x86_64"),
        deb: None,
        oci: None,
        uname: Some(("Darwin", X86_64)),
    },
    Target {
        triple: "aarch64-apple-darwin",
        format: BinaryFormat::MachO,
        architecture: Architecture::Aarch64,
        npm_os: "darwin",
        npm_cpu: "arm64",
        wheel: Wheel::Tag("macosx_11_0_arm64"),
        deb: None,
        oci: None,
        uname: Some(("Darwin", AARCH64)),
    },
    Target {
        triple: "x86_64-pc-windows-msvc",
        format: BinaryFormat::Pe,
        architecture: Architecture::X86_64,
        npm_os: "win32",
        npm_cpu: "x64",
        wheel: Wheel::Tag("win_amd64"),
        deb: None,
        oci: None,
        uname: None,
    },
    Target {
        triple: "aarch64-pc-windows-msvc",
        format: BinaryFormat::Pe,
        architecture: Architecture::Aarch64,
        npm_os: "win32",
        npm_cpu: "arm64",
        wheel: Wheel::Tag("win_arm64"),
        deb: None,
        oci: None,
        uname: None,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_target_has_its_own_name_and_one_that_fits_its_machine() {
        let names: BTreeSet<_> = TARGETS.iter().map(|target| target.triple).collect();
        assert_eq!(names.len(), TARGETS.len());
        for target in &TARGETS {
            let cpu = target.triple.split('-').next().unwrap();
            let expected = match target.architecture {
                Architecture::X86_64 => ("x86_64", "x64"),
                _ => ("aarch64", "arm64"),
            };
            assert_eq!((cpu, target.npm_cpu), expected, "{}", target.triple);
            assert_eq!(target.is_windows(), target.triple.contains("windows"));
            assert_eq!(target.is_glibc(), target.triple.ends_with("gnu"));
        }
    }

    #[test]
    fn a_release_of_static_programs_has_six_platforms() {
        let released = TARGETS.iter().filter(|target| !target.is_glibc());
        let platforms: BTreeSet<_> = released.map(Target::platform).collect();
        assert_eq!(platforms.len(), 6);
    }

    #[test]
    fn only_programs_of_windows_have_a_suffix() {
        let windows = find("x86_64-pc-windows-msvc").unwrap();
        assert_eq!(windows.file_name("mcp-web"), "mcp-web.exe");
        let linux = find("x86_64-unknown-linux-musl").unwrap();
        assert_eq!(linux.file_name("mcp-web"), "mcp-web");
        assert!(find("x86_64-linux").is_none());
    }
}
