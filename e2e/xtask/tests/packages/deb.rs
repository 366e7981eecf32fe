//! The package of Debian, in a container with systemd: `deb-check.sh` has the steps.

use std::fs;
use std::process::Command;

use crate::kit::*;

/// The unit that the container starts in place of its usual one. The container ends with it.
const CHECK: &str = "\
[Unit]
After=basic.target
Requires=basic.target
SuccessAction=exit
FailureAction=exit
FailureActionExitStatus=1
[Service]
Type=oneshot
ExecStart=/check/deb-check.sh VERSION
StandardOutput=file:/check/output
StandardError=inherit
";

#[test]
fn the_service_is_installed_started_upgraded_and_removed() {
    let home = Home::new();
    let check = home.path().join("check");
    fs::create_dir(&check).unwrap();
    let script = check.join("deb-check.sh");
    fs::write(&script, include_str!("deb-check.sh")).unwrap();
    succeed(Command::new("chmod").arg("755").arg(&script));
    let unit = check.join("check.service");
    fs::write(&unit, CHECK.replace("VERSION", VERSION)).unwrap();
    let bind = |source: &std::path::Path, target: &str| format!("{}:{target}", source.display());
    let mut nspawn = home.command(debian_program("usr/bin/systemd-nspawn"));
    nspawn
        .args([
            "--quiet",
            "--register=no",
            "--keep-unit",
            "--private-network",
        ])
        // Files that the container writes are forgotten.
        .arg("--volatile=overlay")
        .arg("--directory")
        .arg(debian_system())
        .arg(format!("--bind={}", bind(&check, "/check")))
        .arg(format!("--bind-ro={}", bind(&release("deb"), "/packages")))
        .arg(format!(
            "--bind-ro={}",
            bind(&unit, "/etc/systemd/system/check.service")
        ))
        .args(["--boot", "systemd.unit=check.service"]);
    let output = run(&mut nspawn);
    let log = fs::read_to_string(check.join("output")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{log}\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}
