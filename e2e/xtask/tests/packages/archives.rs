//! The archives, `install.sh` and the sums.

use std::fs;

use crate::kit::*;
use crate::page::FileServer;

/// The files of a release have no folders where people download them.
#[test]
fn downloaded_files_have_the_sums_that_are_listed() {
    let home = Home::new();
    for folder in ["", "deb", "mcpb", "oci"] {
        for entry in fs::read_dir(release(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && !path.ends_with("NOTES.md") {
                let name = path.file_name().unwrap();
                std::os::unix::fs::symlink(&path, home.path().join(name)).unwrap();
            }
        }
    }
    let checked = succeed(
        home.command("sha256sum")
            .args(["--check", "--strict", "SHA256SUMS"]),
    );
    // All but the list itself.
    let files = fs::read_dir(home.path()).unwrap().count() - 1;
    assert!(files > 6, "{checked}");
    assert_eq!(checked.lines().count(), files, "{checked}");
}

#[test]
fn the_script_installs_under_each_shell() {
    let server = FileServer::start(&release(""));
    let busybox = debian_program("bin/busybox");
    let shells = [
        vec!["dash".into()],
        vec!["bash".into()],
        vec![busybox, "sh".into()],
    ];
    for shell in &shells {
        let home = Home::new();
        let mut install = home.command(&shell[0]);
        install
            .args(&shell[1..])
            .arg(release("install.sh"))
            .env("MCP_WEB_DOWNLOADS", server.url());
        succeed(&mut install);
        let program = home.path().join(".local/bin/mcp-web");
        let version = succeed(home.command(program).arg("--version"));
        assert_eq!(version.trim(), format!("mcp-web {VERSION}"));
    }
}

/// A system that has only busybox: its `wget`, `sha256sum`, `tar` and `gzip`.
#[test]
fn the_script_needs_no_other_program_than_busybox() {
    let server = FileServer::start(&release(""));
    let home = Home::new();
    let tools = home.path().join("tools");
    fs::create_dir(&tools).unwrap();
    let busybox = debian_program("bin/busybox");
    for name in [
        "cp",
        "cut",
        "chmod",
        "gzip",
        "mkdir",
        "mktemp",
        "mv",
        "rm",
        "sed",
        "sh",
        "sha256sum",
        "tar",
        "timeout",
        "uname",
        "wget",
    ] {
        std::os::unix::fs::symlink(&busybox, tools.join(name)).unwrap();
    }
    let mut install = home.command(tools.join("sh"));
    install
        .arg(release("install.sh"))
        .env("MCP_WEB_DOWNLOADS", server.url())
        .env("PATH", &tools);
    succeed(&mut install);
    assert!(home.path().join(".local/bin/mcp-web").is_file());
}

#[test]
fn a_changed_archive_is_not_installed() {
    let home = Home::new();
    let copy = home.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(release("")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
        }
    }
    for entry in fs::read_dir(&copy).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".tar.gz") {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    let server = FileServer::start(&copy);
    let mut install = home.command("sh");
    install
        .arg(copy.join("install.sh"))
        .env("MCP_WEB_DOWNLOADS", server.url());
    let output = run(&mut install);
    let message = text(&output.stderr);
    assert!(
        !output.status.success() && message.contains("wrong checksum"),
        "{message}"
    );
    assert!(!home.path().join(".local").exists());
}

/// The archive for this machine, unpacked: its programs, and completions that shells accept.
#[test]
fn the_archive_has_programs_and_completions() {
    let home = Home::new();
    let folder = unpack_archive(&home);
    for name in ["mcp-web", "mcp-web-stdio"] {
        let version = succeed(home.command(folder.join(name)).arg("--version"));
        assert_eq!(version.trim(), format!("{name} {VERSION}"));
    }
    let completions = folder.join("completions/mcp-web.bash");
    succeed(home.command("bash").arg("-n").arg(completions));
    let notices = fs::read_to_string(folder.join("THIRD-PARTY.txt")).unwrap();
    assert!(notices.contains("tokio ") && notices.contains("Permission is hereby granted"));
}

/// Unpacks the archive for this machine, and returns its folder.
pub(crate) fn unpack_archive(home: &Home) -> std::path::PathBuf {
    let archive = fs::read_dir(release("")).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.to_string_lossy().ends_with(".tar.gz").then_some(path)
    });
    succeed(home.command("tar").arg("-xzf").arg(archive.unwrap()));
    let unpacked = fs::read_dir(home.path()).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.join("mcp-web").is_file().then_some(path)
    });
    unpacked.unwrap()
}
