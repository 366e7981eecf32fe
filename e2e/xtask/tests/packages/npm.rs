//! The package `mcp-web` from a registry, and the package of a platform from its file.

use std::fs;

use crate::kit::*;
use crate::page::Page;
use crate::registry::{home_with_registry, npx};

fn version() -> String {
    format!("mcp-web {VERSION}")
}

/// The first run downloads, and the second one needs no registry.
#[test]
fn one_command_runs_the_program_and_later_without_a_network() {
    let home = home_with_registry();
    let cold = succeed(&mut npx(&home, &["-y", "mcp-web", "--version"]));
    assert_eq!(cold.trim(), version());
    let warm = succeed(&mut npx(
        &home,
        &["-y", "--offline", "mcp-web", "--version"],
    ));
    assert_eq!(warm.trim(), version());
}

#[test]
fn a_page_answers_a_call_from_an_empty_cache() {
    let home = home_with_registry();
    let mut command = npx(&home, &["-y", "mcp-web", "demo", "--bind", "127.0.0.1:0"]);
    let mut demo = Running::start(&mut command);
    let url = format!("http://{}", demo.wait_for("http://").trim_end_matches('/'));
    let _page = Page::open_with_sdk_of(&url);
    let call = [
        "-y",
        "--offline",
        "mcp-web",
        "call",
        "greet",
        r#"{"name":"Ada"}"#,
    ];
    let mut call = npx(&home, &call);
    call.env("AUTH_TOKEN", TOKEN)
        .env("MCP_SERVER_URL", format!("{url}/mcp"));
    assert_eq!(succeed(&mut call).trim(), "Hello Ada");
}

/// npm runs no script of the package, so that settings which forbid them change nothing.
#[test]
fn the_package_works_without_install_scripts() {
    let home = home_with_registry();
    let mut command = npx(&home, &["-y", "mcp-web", "--version"]);
    let output = succeed(command.env("npm_config_ignore_scripts", "true"));
    assert_eq!(output.trim(), version());
}

#[test]
fn a_missing_program_is_reported_with_a_remedy() {
    let home = home_with_registry();
    let mut command = npx(&home, &["-y", "mcp-web", "--version"]);
    command.env("npm_config_omit", "optional");
    let output = run(&mut command);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("is not installed.\nInstall without --omit=optional"),
        "{message}"
    );
    // The variable names a program to use instead.
    let folder = crate::archives::unpack_archive(&home);
    command.env("MCP_WEB_PROGRAM", folder.join("mcp-web"));
    assert_eq!(succeed(&mut command).trim(), version());
}

/// The signal ends only npx and its shell. The launcher notices that, and ends the bridge.
#[test]
fn the_bridge_ends_with_npx() {
    let home = home_with_registry();
    let mut command = home.direct_command("npx");
    command.args(["-y", "mcp-web", "bridge", "--bind", "127.0.0.1:0"]);
    let mut bridge = Running::start(&mut command);
    bridge.wait_for("listening on ");
    signal("TERM", &bridge.id().to_string());
    bridge.wait_for_end();
}

/// The way that works from a clone: the file of the platform needs no registry. Another address for it shows
/// that none is asked. The path is relative, because npx would run the file at an absolute one as a program.
#[test]
fn the_package_of_a_platform_runs_from_its_file() {
    let home = Home::new();
    fs::write(home.path().join(".npmrc"), "registry=http://127.0.0.1:9/\n").unwrap();
    let machine = if cfg!(target_arch = "x86_64") {
        "x64"
    } else {
        "arm64"
    };
    let file = format!("linux-{machine}.tgz");
    fs::copy(release("npm").join(&file), home.path().join(&file)).unwrap();
    let output = succeed(&mut npx(&home, &["-y", &format!("./{file}"), "--version"]));
    assert_eq!(output.trim(), version());
}

#[test]
fn a_global_installation_has_the_command() {
    let home = home_with_registry();
    let prefix = home.path().join("global");
    let mut npm = home.command("npm");
    npm.args(["install", "--global", "mcp-web", "--prefix"])
        .arg(&prefix);
    succeed(&mut npm);
    let output = succeed(home.command(prefix.join("bin/mcp-web")).arg("--version"));
    assert_eq!(output.trim(), version());
}
