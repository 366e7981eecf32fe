//! Debian's package tools: what is installed and available, and how to install or download it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::folder;
use crate::process::{capture, try_capture};
use crate::step::{Outcome, step};

/// Returns whether this system has apt.
pub(crate) fn is_available() -> bool {
    try_capture(Command::new("apt-get").arg("--version")).is_some()
}

/// Makes sure that a program is installed: on Debian from the package of the same name.
///
/// The build of jemalloc, for example, needs `make`.
pub(crate) fn ensure_program(name: &str) -> Result<()> {
    step(name, || {
        if try_capture(Command::new(name).arg("--version")).is_some() {
            return Ok(Outcome::UpToDate(()));
        }
        if !is_available() {
            bail!("install {name} and try again");
        }
        install(&[name])?;
        Ok(Outcome::Done(()))
    })
}

/// Makes sure that a program is installed: on Debian from a package of another name.
pub(crate) fn ensure_program_of(package: &str, program: &str) -> Result<()> {
    step(program, || {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&paths).any(|folder| folder.join(program).is_file()) {
            return Ok(Outcome::UpToDate(()));
        }
        if !is_available() {
            bail!("install {program} and try again");
        }
        install(&[package])?;
        Ok(Outcome::Done(()))
    })
}

/// Makes sure that packages are installed. A system that is not Debian has them under other names:
/// there, the linker or the program says what is missing.
pub(crate) fn ensure_packages(title: &str, packages: &[&str]) -> Result<()> {
    step(title, || {
        if !is_available() {
            return Ok(Outcome::UpToDate(()));
        }
        let installed = installed()?;
        let is_missing = |package: &&str| !installed.contains(*package);
        let missing: Vec<_> = packages.iter().copied().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(Outcome::UpToDate(()));
        }
        install(&missing)?;
        Ok(Outcome::Done(()))
    })
}

/// Makes sure that apt's index contains the packages, and updates the index at most once.
pub(crate) fn ensure_indexed(packages: &[&str]) -> Result<()> {
    update_unless(packages, || has_packages(packages))
}

/// Makes sure that apt's index contains a package in this version (major and minor) or a later one.
///
/// An index that is months old contains the package, but not its updates.
pub(crate) fn ensure_version_indexed(package: &str, min_version: (u32, u32)) -> Result<()> {
    update_unless(&[package], || {
        candidate(package).is_some_and(|version| version >= min_version)
    })
}

fn update_unless(packages: &[&str], is_indexed: impl Fn() -> bool) -> Result<()> {
    if is_indexed() {
        return Ok(());
    }
    if !is_root() {
        bail!(
            "apt's index lacks {}, or has only an old version: run `sudo apt-get update` and try again",
            packages.join(", ")
        );
    }
    capture(
        &mut apt_get(&["update"]),
        "check that Debian's mirrors can be reached and try again",
    )?;
    if is_indexed() {
        return Ok(());
    }
    bail!(
        "this Debian has no package {} that is new enough: upgrade to Debian 12 or later",
        packages.join(", ")
    )
}

/// Installs packages for the whole system, which only root may do.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if !is_root() {
        bail!(
            "run `sudo apt-get install {}` and try again",
            packages.join(" ")
        );
    }
    ensure_indexed(packages)?;
    let mut command = apt_get(&["install", "--yes"]);
    capture(command.args(packages), "fix what apt-get reports above")?;
    Ok(())
}

/// Downloads packages into a folder without installing them.
pub(crate) fn download(packages: &BTreeSet<String>, folder: &Path) -> Result<()> {
    let mut command = apt_get(&["download"]);
    command.args(packages).current_dir(folder);
    capture(
        &mut command,
        "check that Debian's mirrors can be reached and try again",
    )?;
    Ok(())
}

/// The file that names the release of Debian, which has one version of each package: packages that are
/// unpacked are kept until it changes.
pub(crate) const RELEASE: &str = "/etc/os-release";

/// Downloads packages and unpacks them into a folder in place of its former content, without installing
/// them: an installed package starts its server.
pub(crate) fn unpack(packages: &BTreeSet<String>, home: &Path) -> Result<()> {
    folder::remove(home)?;
    let downloads = home.join("downloads");
    folder::create(&downloads)?;
    download(packages, &downloads)?;
    for package in fs::read_dir(&downloads)? {
        let mut extract = Command::new("dpkg-deb");
        extract.arg("--extract").arg(package?.path()).arg(home);
        capture(&mut extract, "free some disk space and try again")?;
    }
    folder::remove(&downloads)
}

/// Returns the package and all its direct and indirect dependencies.
pub(crate) fn dependency_closure(package: &str) -> Result<BTreeSet<String>> {
    let mut command = Command::new("apt-cache");
    command.args(["depends", "--recurse"]);
    for relation in [
        "recommends",
        "suggests",
        "conflicts",
        "breaks",
        "replaces",
        "enhances",
    ] {
        command.arg(format!("--no-{relation}"));
    }
    let text = capture(command.arg(package), "run `apt-get update` and try again")?;
    Ok(parse_package_names(&text))
}

/// Returns the names of the packages that are installed on this system.
pub(crate) fn installed() -> Result<BTreeSet<String>> {
    let mut command = Command::new("dpkg-query");
    command.args(["--show", "--showformat=${Package} ${db:Status-Abbrev}\n"]);
    let text = capture(&mut command, "check that dpkg works on this system")?;
    Ok(parse_installed_names(&text))
}

/// Returns whether this process runs as root.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn has_packages(packages: &[&str]) -> bool {
    try_capture(Command::new("apt-cache").arg("show").args(packages)).is_some()
}

/// Returns the major and minor version that apt would install.
fn candidate(package: &str) -> Option<(u32, u32)> {
    parse_candidate(&try_capture(
        Command::new("apt-cache").args(["policy", package]),
    )?)
}

fn parse_candidate(policy: &str) -> Option<(u32, u32)> {
    let version = |line: &str| parse_major_minor(line.trim().strip_prefix("Candidate: ")?);
    policy.lines().find_map(version)
}

/// Parses the major and minor version: `1.96` in `1.96.0+dfsg1-1~deb12u2`.
pub(crate) fn parse_major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command
        .args(arguments)
        .arg("--quiet")
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Parses the output of `apt-cache depends --recurse`: each package starts a line, and its
/// relations are indented below it. A name in angle brackets is a virtual package.
fn parse_package_names(depends: &str) -> BTreeSet<String> {
    depends
        .lines()
        .filter(|line| !line.starts_with([' ', '<', '|']) && !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Parses lines such as `libc6 ii `; the status of an installed package starts with `ii`.
fn parse_installed_names(list: &str) -> BTreeSet<String> {
    list.lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, status)| status.starts_with("ii"))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_packages_of_a_dependency_list() {
        let depends = "rustc-web\n  Depends: libc6\n  Depends: <libc-dev>\n    libc6-dev\n |Depends: gcc\nlibllvm22\n  Depends: libz3-4\n<libc-dev>\nlibz3-4\n";
        let names: Vec<_> = parse_package_names(depends).into_iter().collect();
        assert_eq!(names, ["libllvm22", "libz3-4", "rustc-web"]);
    }

    #[test]
    fn parses_the_candidate_version() {
        let policy = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n  Version table:\n     1.85.0+dfsg3-1 500\n";
        assert_eq!(parse_candidate(policy), Some((1, 96)));
        assert_eq!(parse_candidate("rustc-web:\n  Candidate: (none)\n"), None);
    }

    #[test]
    fn a_removed_package_is_not_installed() {
        let names = parse_installed_names("libz3-4 ii \nlibedit2 rc \nlibxml2 ii \n");
        assert_eq!(
            names.into_iter().collect::<Vec<_>>(),
            ["libxml2", "libz3-4"]
        );
    }
}
