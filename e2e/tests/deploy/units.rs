//! The units of systemd, checked by its own programs.

use std::fs;
use std::process::{Command, Output};

use e2e::program_paths;
use tempfile::TempDir;

use crate::deploy_file::{deploy_file, replaced};

const SERVICES: [&str; 2] = ["mcp-web-bridge.service", "mcp-web-agent.service"];

/// The highest exposure that is allowed, in tenths: 0 is the lowest, 100 that of a service without
/// any restriction.
const MAX_EXPOSURE: &str = "--threshold=13";

fn output_of(command: &mut Command) -> (Output, String) {
    let output = command.output().unwrap();
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    let text = format!("{stdout}{stderr}");
    (output, text)
}

#[test]
fn systemd_accepts_the_units() {
    let folder = TempDir::new().unwrap();
    let program = program_paths::mcp_web();
    let programs = format!("{}/", program.parent().unwrap().display());
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for name in SERVICES {
        let unit = replaced(&deploy_file(name), &[("/usr/local/bin/", &programs)]);
        fs::write(folder.path().join(name), unit).unwrap();
        verify.arg(folder.path().join(name));
    }
    let socket = "mcp-web-bridge.socket";
    fs::write(folder.path().join(socket), deploy_file(socket)).unwrap();
    verify.arg(folder.path().join(socket));
    let (output, text) = output_of(&mut verify);
    // It also reports what it ignores, and succeeds.
    assert!(output.status.success() && text.is_empty(), "{text}");
}

#[test]
fn services_are_exposed_as_little_as_they_can_be() {
    for name in SERVICES {
        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--no-pager", "--offline=true", MAX_EXPOSURE]);
        let unit = program_paths::workspace().join("docs/deploy").join(name);
        let (output, text) = output_of(security.arg(unit));
        assert!(output.status.success(), "{text}");
    }
}
