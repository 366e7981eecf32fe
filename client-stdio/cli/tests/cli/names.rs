//! The name of the program in help, versions and errors, and the program without a command.

#[cfg(target_os = "linux")]
use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::Stdio,
};

#[cfg(target_os = "linux")]
use raw_page::with_deadline;
#[cfg(target_os = "linux")]
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
#[cfg(target_os = "linux")]
use tokio::task::spawn_blocking;

use crate::kit::*;

const COMMANDS: [&str; 11] = [
    "demo",
    "bridge",
    "agent",
    "stdio",
    "admin",
    "install",
    "uninstall",
    "tools",
    "call",
    "doctor",
    "completions",
];

/// The names of programs that this one replaces.
const FORMER_NAMES: [&str; 4] = [
    "mcp-web-bridge",
    "mcp-web-agent",
    "mcp-web-stdio",
    "demo-app",
];

#[tokio::test]
async fn the_help_of_each_command_has_its_name() {
    for name in COMMANDS {
        let usage = format!("Usage: mcp-web {name} ");
        for arguments in [&[name, "--help"][..], &[name, "-h"], &["help", name]] {
            let ended = run(program(arguments)).await;
            assert_eq!(ended.code, Some(0), "{arguments:?}");
            let help = format!("{} ", ended.stdout.replace('\n', " \n"));
            assert!(help.contains(&usage), "{arguments:?}: {help}");
            for former in FORMER_NAMES {
                assert!(!help.contains(former), "{arguments:?}: {former}: {help}");
            }
        }
    }
}

#[tokio::test]
async fn the_help_lists_each_command() {
    let help = run(program(&["--help"])).await.stdout;
    for name in COMMANDS {
        assert!(help.contains(&format!("\n  {name} ")), "{name}: {help}");
    }
    let mut positions = COMMANDS.map(|name| help.find(&format!("\n  {name} ")).unwrap());
    assert!(positions.is_sorted(), "{help}");
    positions.reverse();
    assert!(!positions.is_sorted());
}

#[tokio::test]
async fn commands_of_commands_have_the_whole_name() {
    for arguments in [
        &["agent", "mcp"][..],
        &["agent", "mcp", "add"],
        &["agent", "secrets"],
        &["agent", "plugin", "serve", "filesystem"],
        &["admin", "deny"],
    ] {
        let ended = run(program(&[arguments, &["--help"]].concat())).await;
        let usage = format!("Usage: mcp-web {} ", arguments.join(" "));
        assert!(ended.stdout.contains(&usage), "{usage}: {ended:?}");
    }
}

#[tokio::test]
async fn the_version_of_each_program_has_its_name() {
    let version = env!("CARGO_PKG_VERSION");
    for (arguments, name) in [
        (&["--version"][..], "mcp-web"),
        (&["bridge", "--version"], "mcp-web bridge"),
        (&["agent", "--version"], "mcp-web agent"),
        (&["demo", "--version"], "mcp-web demo"),
        (&["stdio", "-V"], "mcp-web stdio"),
        (&["admin", "-V"], "mcp-web admin"),
    ] {
        let ended = run(program(arguments)).await;
        assert_eq!(ended.stdout, format!("{name} {version}\n"));
    }
}

#[tokio::test]
async fn an_unknown_flag_is_an_error_with_the_usage_of_its_command() {
    for name in [
        "bridge", "agent", "demo", "stdio", "admin", "install", "tools",
    ] {
        let ended = run(program(&[name, "--no-such-flag"])).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{name}");
        let usage = format!("Usage: mcp-web {name}");
        assert!(ended.stderr.contains("--no-such-flag"), "{ended:?}");
        assert!(ended.stderr.contains(&usage), "{ended:?}");
    }
}

#[tokio::test]
async fn an_unknown_command_is_an_error_with_the_similar_one() {
    for (given, meant) in [("brigde", "bridge"), ("stdoi", "stdio"), ("cal", "call")] {
        let ended = run(program(&[given])).await;
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{given}"
        );
        assert!(ended.stderr.contains(&format!("'{meant}'")), "{ended:?}");
    }
}

#[tokio::test]
async fn without_a_command_and_a_terminal_it_says_what_to_write() {
    let ended = run(program(&[])).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    for command in ["mcp-web stdio", "mcp-web bridge", "mcp-web demo"] {
        assert!(ended.stderr.contains(command), "{ended:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn without_a_command_on_a_terminal_it_is_the_demo() {
    let (terminal, path) = open_terminal();
    let stdio = || Stdio::from(File::options().read(true).write(true).open(&path).unwrap());
    let home = tempfile::tempdir().unwrap();
    let mut command = program(&[]);
    command
        .env("MCP_WEB_BIND", "127.0.0.1:0")
        .env("HOME", home.path())
        .stdin(stdio())
        .stdout(stdio())
        .stderr(Stdio::null());
    let child = command.spawn().unwrap();
    let reading = spawn_blocking(move || {
        let lines = BufReader::new(terminal).lines().map_while(Result::ok);
        let mut ports = lines.filter_map(|line| {
            let port = line.strip_prefix("open http://localhost:")?;
            Some(port.trim().to_owned())
        });
        ports.next()
    });
    let port = with_deadline("address of the demo", reading).await.unwrap();
    let page = get(&format!("http://127.0.0.1:{}", port.unwrap()), "text/html").await;
    assert!(page.contains("</html>"), "{page}");
    stop(child).await;
}

/// Opens a terminal without a window, and returns the path of the side of the program.
#[cfg(target_os = "linux")]
fn open_terminal() -> (File, PathBuf) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap();
    (File::from(terminal), path.into_string().unwrap().into())
}
