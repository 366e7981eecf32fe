//! `install.sh`, which installs the program from the archive of its system.

use std::fmt::Write as _;

use anyhow::Result;

use super::product::fill;
use super::programs::Programs;
use super::release_folder::ReleaseFolder;
use super::targets::Target;

const TEMPLATE: &str = include_str!("templates/install.sh");

/// Writes the script.
pub(super) fn write(release: &mut ReleaseFolder, programs: &[Programs]) -> Result<()> {
    let targets: Vec<_> = programs.iter().map(|one| one.target).collect();
    release.write_script("install.sh", &script(&targets))
}

/// Returns the script for the systems of a release. Windows has no shell that runs it.
fn script(targets: &[&Target]) -> String {
    let mut cases = String::new();
    for target in targets {
        let Some((system, machines)) = target.uname else {
            continue;
        };
        let patterns = machines.iter().map(|machine| format!("{system}-{machine}"));
        let patterns = patterns.collect::<Vec<_>>().join(" | ");
        // Writing to a string does not fail.
        let _ = writeln!(cases, "    {patterns}) target={} ;;", target.triple);
    }
    fill(TEMPLATE).replace("@CASES@", cases.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Command, Output};

    use tempfile::TempDir;

    use super::*;
    use crate::release::build::host_target;
    use crate::release::licences::ProductTexts;
    use crate::release::programs::Programs;
    use crate::release::{archives, targets};

    /// A release of one program that is a script.
    fn release(home: &Path) -> (ReleaseFolder, &'static Target) {
        let target = targets::find(&host_target().unwrap()).unwrap();
        let program = b"#!/bin/sh\necho installed program\n"[..].into();
        let programs = [Programs {
            target,
            main: program,
            stdio: b""[..].into(),
        }];
        let mut release = ReleaseFolder::create(home.join("release"), 1).unwrap();
        archives::write(&mut release, &programs, &ProductTexts::for_tests(), &[]).unwrap();
        write(&mut release, &programs).unwrap();
        release.write_sums().unwrap();
        (release, target)
    }

    fn run(release: &ReleaseFolder, home: &Path, url: &str, shell: &[&str]) -> Output {
        let mut script = Command::new(shell[0]);
        script
            .args(&shell[1..])
            .arg(release.path().join("install.sh"))
            .env("HOME", home)
            .env("MCP_WEB_DOWNLOADS", url);
        script.output().unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The tier of packages runs it under busybox, which is not on every machine.
    #[test]
    fn the_script_installs_under_dash_and_bash() {
        let folder = TempDir::new().unwrap();
        let (release, _) = release(folder.path());
        let url = format!("file://{}", release.path().display());
        for shell in ["dash", "bash"] {
            let home = TempDir::new().unwrap();
            let output = run(&release, home.path(), &url, &[shell]);
            let program = home.path().join(".local/bin/mcp-web");
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert!(text(&output.stdout).contains("add "), "{output:?}");
            let printed = Command::new(&program).output().unwrap();
            assert_eq!(text(&printed.stdout), "installed program\n");
            let mode = fs::metadata(&program).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755);
            // Again, over what is there.
            assert!(run(&release, home.path(), &url, &[shell]).status.success());
            let names = fs::read_dir(home.path().join(".local/bin")).unwrap();
            assert_eq!(names.count(), 1);
        }
    }

    #[test]
    fn a_wrong_or_missing_checksum_installs_nothing() {
        let folder = TempDir::new().unwrap();
        let (release, target) = release(folder.path());
        let url = format!("file://{}", release.path().display());
        let archive = release.path().join(archives::file_name(target));
        let sums = release.path().join("SHA256SUMS");
        let good = fs::read(&archive).unwrap();
        fs::write(&archive, [&good[..], b"x"].concat()).unwrap();
        let home = TempDir::new().unwrap();
        let refused = |expected: &str| {
            let output = run(&release, home.path(), &url, &["sh"]);
            let message = text(&output.stderr);
            assert!(
                !output.status.success() && message.contains(expected),
                "{message}"
            );
            assert!(!home.path().join(".local").exists());
        };
        refused("wrong checksum");
        fs::write(&archive, &good).unwrap();
        fs::write(&sums, "").unwrap();
        refused("does not list");
        fs::remove_file(&sums).unwrap();
        refused("cannot download");
    }

    /// A connection that breaks must not leave half a command to run.
    #[test]
    fn a_script_that_is_cut_off_does_nothing() {
        let script = script(&[targets::find("x86_64-unknown-linux-musl").unwrap()]);
        let body = script.rfind("\nmain").unwrap();
        let home = TempDir::new().unwrap();
        let cut = home.path().join("cut.sh");
        fs::write(&cut, &script[..body]).unwrap();
        let output = Command::new("sh").arg(&cut).output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty());
    }

    #[test]
    fn each_system_with_a_shell_has_a_case() {
        let all: Vec<_> = targets::TARGETS.iter().collect();
        let script = script(&all);
        assert!(
            script.contains("    Darwin-aarch64 | Darwin-arm64) target=aarch64-apple-darwin ;;\n")
        );
        assert!(!script.contains("windows") && !script.contains('@'));
    }
}
