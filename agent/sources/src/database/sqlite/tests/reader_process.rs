//! Programs that do not answer as the agent's own does.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bridge_output::CapturedLog;

use super::super::reader_process::MAX_LOG_BYTES;
use super::*;

/// Opens the shop with another program to read it.
fn read_by(program: &Path) -> (Shop, Database) {
    let shop = Shop::new();
    let settings = "url = 'sqlite:shop.db'\ntables = ['orders']\ntimeout = '10s'";
    let settings: DatabaseSettings = toml::from_str(settings).unwrap();
    let settings = settings.resolved(shop.folder.path());
    let database = Database::open("shop", &settings, None, Some(program)).unwrap();
    (shop, database)
}

/// Writes a program that reads the request and does this.
fn script(folder: &Path, commands: &str) -> PathBuf {
    let path = folder.join("program");
    std::fs::write(&path, format!("#!/bin/sh\nread -r line\n{commands}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    path
}

#[tokio::test]
async fn a_program_that_does_not_answer_is_a_fault_of_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let no_such_file = folder.path().join("none");
    for (commands, expected) in [
        ("echo hello", "the agent has a fault"),
        ("exit 3", "the agent has a fault"),
        // More than an answer may have.
        ("while :; do echo 0123456789; done", "the agent has a fault"),
        ("kill -ABRT $$", "needs too much memory"),
        ("kill -XCPU $$", "the call took too long"),
        ("echo '{\"Err\":\"Locked\"}'", "another program has locked"),
    ] {
        let (_shop, database) = read_by(&script(folder.path(), commands));
        let error = query_error(&database, "SELECT 1").await;
        assert!(error.contains(expected), "{commands}: {error}");
    }
    let (_shop, database) = read_by(&no_such_file);
    let error = query_error(&database, "SELECT 1").await;
    assert!(error.contains("cannot be used at the moment"), "{error}");
}

#[tokio::test]
async fn messages_of_a_process_for_the_log_are_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _guard) = CapturedLog::start();
    let commands = "trap '' PIPE\nlines=2000\nwhile [ $lines -gt 0 ]; do\n\
                    lines=$((lines - 1)); echo %%%%%%%%% >&2; done\necho '{\"Ok\":\"{}\"}'";
    let (_shop, database) = read_by(&script(folder.path(), commands));
    assert_eq!(query(&database, "SELECT 1").await, "{}");
    let log = log.text();
    let count = log.matches('%').count();
    assert!((1..=MAX_LOG_BYTES).contains(&count), "{count}: {log}");
}
