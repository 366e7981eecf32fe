//! Numbers in the files of `docs/deploy` that follow from settings of the bridge.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::deploy_file::deploy_file;
use e2e::program_paths;

/// Returns the settings of the bridge with this file and these variables.
pub(crate) fn settings(file: &Path, variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut command = Command::new(program_paths::mcp_web());
    command.env_clear().envs(variables.iter().copied());
    command.args(["bridge", "--config"]).arg(file);
    let output = command.arg("--print-config").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter_map(|line| line.split_once(" = "));
    let setting = |(key, value): (&str, &str)| {
        // A comment says where the value comes from.
        let value = value.split_once(" # ").map_or(value, |(value, _)| value);
        (key.to_owned(), value.trim_matches('"').to_owned())
    };
    lines.map(setting).collect()
}

/// Returns the settings of the bridge with the file of the guide.
fn settings_of_guide() -> BTreeMap<String, String> {
    let file = program_paths::workspace().join("docs/deploy/bridge.toml");
    settings(&file, &[])
}

/// Returns the words that follow each occurrence of `key` in a text, up to a space or a semicolon.
pub(crate) fn values<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let found: Vec<_> = text
        .split(key)
        .skip(1)
        .filter_map(|rest| rest.split([' ', ';', '\n']).next())
        .map(|value| value.trim_matches('"'))
        .collect();
    assert!(!found.is_empty(), "{key:?} is not in:\n{text}");
    found
}

/// Parses `30s`, `65m`, `1h`, or a number of seconds.
fn duration(text: &str) -> Duration {
    let number = text.trim_end_matches(['s', 'm', 'h']);
    let unit = match &text[number.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => panic!("{text} is not a duration"),
    };
    let number: u64 = number.parse().unwrap_or_else(|_| panic!("{text}"));
    Duration::from_secs(number * unit)
}

#[test]
fn a_proxy_waits_longer_than_the_longest_call() {
    let longest_call = duration(&settings_of_guide()["max_call_timeout"]);
    for (name, key) in [
        ("nginx.conf", "proxy_read_timeout "),
        ("haproxy.cfg", "timeout client "),
        ("haproxy.cfg", "timeout server "),
        ("kubernetes.yml", "proxy-read-timeout: "),
        ("kubernetes-cluster.yml", "proxy-read-timeout: "),
    ] {
        for value in values(&deploy_file(name), key) {
            assert!(duration(value) > longest_call, "{name}: {key}{value}");
        }
    }
    // Caddy has no such limit unless it is set.
    for setting in ["read_timeout", "response_header_timeout", "stream_timeout"] {
        assert!(!deploy_file("Caddyfile").contains(setting), "{setting}");
    }
}

#[test]
fn the_socket_of_a_page_is_never_silent_for_as_long_as_a_proxy_waits() {
    let heartbeat = duration(&settings_of_guide()["heartbeat"]);
    for value in values(&deploy_file("haproxy.cfg"), "timeout tunnel ") {
        assert!(duration(value) > 3 * heartbeat);
    }
}

/// Otherwise a proxy sends a request on a connection that the bridge closes at that moment.
#[test]
fn a_proxy_closes_idle_connections_before_the_bridge() {
    let closed_by_bridge = duration(&settings_of_guide()["request_head_within"]);
    for (name, key) in [
        ("nginx.conf", "keepalive_timeout "),
        ("Caddyfile", "keepalive "),
    ] {
        for value in values(&deploy_file(name), key) {
            assert!(duration(value) < closed_by_bridge, "{name}: {key}{value}");
        }
    }
}

#[test]
fn a_bridge_has_the_time_to_drain() {
    let drain_timeout = duration(&settings_of_guide()["drain_timeout"]);
    for (name, key) in [
        ("mcp-web-bridge.service", "TimeoutStopSec="),
        ("kubernetes.yml", "terminationGracePeriodSeconds: "),
        ("kubernetes-cluster.yml", "terminationGracePeriodSeconds: "),
    ] {
        for value in values(&deploy_file(name), key) {
            // Other bridges forget it in 3 s, and it closes everything in 5 s.
            let needed = drain_timeout + Duration::from_secs(15);
            assert!(duration(value) >= needed, "{name}: {key}{value}");
        }
    }
}

#[test]
fn a_proxy_allows_bodies_of_the_size_that_the_bridge_allows() {
    let bytes: u64 = settings_of_guide()["max_request_bytes"].parse().unwrap();
    let megabytes = format!("{}m", bytes >> 20);
    for (name, key) in [
        ("nginx.conf", "client_max_body_size "),
        ("kubernetes.yml", "proxy-body-size: "),
        ("kubernetes-cluster.yml", "proxy-body-size: "),
    ] {
        assert_eq!(values(&deploy_file(name), key), [&megabytes], "{name}");
    }
}
