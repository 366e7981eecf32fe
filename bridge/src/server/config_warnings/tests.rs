//! A row for each rule: a configuration that breaks this rule only.

use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bridge_edge::ForwardedHeader;
use tempfile::TempDir;

use super::*;
use crate::config::CgroupLimit;

const MIB: usize = 1024 * 1024;

/// A machine with 4 GiB and the hard limit of open files of a service of systemd.
fn ordinary_host() -> HostResources {
    HostResources {
        machine_bytes: 4096 * MIB as u64,
        cgroup: None,
        open_files: Some(524_288),
    }
}

/// A bridge behind a proxy with listed tokens, as `docs/operating.md` has it.
fn behind_proxy(folder: &Path) -> Config {
    let mut config = Config::default();
    config.identity.public_url = Some("https://bridge.example.com".to_owned());
    config.network.allowed_hosts = vec!["bridge.example.com".to_owned()];
    config.network.allowed_origins = vec!["https://app.example.com".to_owned()];
    config.network.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    config.tokens.token_file = Some(file(folder, "tokens", "a-token-of-many-letters\n", 0o600));
    config
}

/// A bridge behind a proxy with tokens of an identity provider.
fn with_oauth(folder: &Path) -> Config {
    let mut config = behind_proxy(folder);
    config.tokens.token_file = None;
    config.identity.jwks_url = Some("https://id.example.com/jwks.json".to_owned());
    config.identity.jwt_issuer = Some("https://id.example.com".to_owned());
    config.identity.jwt_audience = vec!["https://bridge.example.com/mcp".to_owned()];
    config.identity.authorization_servers = vec!["https://id.example.com".to_owned()];
    config
}

/// Encrypts by the bridge itself: there is no proxy.
fn with_tls(mut config: Config, ip: [u8; 4]) -> Config {
    config.network.bind = (ip, 443).into();
    config.network.trusted_proxies.clear();
    config.tls.tls_cert = Some("cert.pem".into());
    config.tls.tls_key = Some("key.pem".into());
    config
}

/// Writes a file of this mode.
fn file(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    write(&path, text).unwrap();
    set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

/// The rules that a configuration breaks, with their warnings.
fn broken(config: &Config, host: &HostResources) -> Vec<(&'static str, String)> {
    let broken = RULES
        .iter()
        .filter_map(|(name, check)| Some((*name, check(config, host)?)));
    broken.collect()
}

/// A change that breaks a rule, and parts of the warning.
type Row = (
    &'static str,
    fn(&mut Config, &mut HostResources, &Path),
    &'static [&'static str],
);

/// Changes of [`behind_proxy`].
const ROWS: &[Row] = &[
    (
        "public_without_tokens",
        |config, _, _| config.tokens.token_file = None,
        &["everybody", "`token_file`"],
    ),
    (
        "settings_without_issuer",
        |config, _, _| config.identity.jwt_subject_claim = "oid".to_owned(),
        &["have no effect", "[[issuers]]"],
    ),
    (
        "readable_token_file",
        |config, _, folder| {
            let path = file(folder, "open", "a-token-of-many-letters\n", 0o644);
            config.tokens.token_file = Some(path);
        },
        &["every user of this machine", "chmod o="],
    ),
    (
        "readable_agent_token_file",
        |config, _, folder| {
            let path = file(folder, "agent", "a-token-of-many-letters\n", 0o604);
            config.agent.agent_token_file = Some(path);
        },
        &["every user of this machine", "agent"],
    ),
    (
        "readable_tls_key",
        |config, _, folder| config.tls.tls_key = Some(file(folder, "key.pem", "", 0o644)),
        &["every user of this machine", "key.pem"],
    ),
    (
        "readable_state_key",
        |config, _, folder| {
            file(folder, "key", "", 0o604);
            config.state.state_dir = Some(folder.to_owned());
        },
        &["every user of this machine", "key"],
    ),
    (
        "writable_key_file",
        |config, _, folder| {
            config.identity.jwt_keys = Some(file(folder, "keys.json", "{}", 0o664));
        },
        &["keys.json", "chmod go-w"],
    ),
    (
        "no_trusted_proxies",
        |config, _, _| config.network.trusted_proxies.clear(),
        &["`trusted_proxies` is empty", "127.0.0.1"],
    ),
    (
        "unused_forwarded_header",
        |config, _, _| {
            config.identity.public_url = None;
            config.network.trusted_proxies.clear();
            config.network.forwarded_header = ForwardedHeader::Forwarded;
        },
        &["`forwarded_header` has no effect"],
    ),
    (
        "public_host_not_allowed",
        |config, _, _| config.network.allowed_hosts = vec!["other.example.com".to_owned()],
        &["bridge.example.com", "`allowed_hosts`"],
    ),
    (
        "no_tls",
        |config, _, _| {
            config.identity.public_url = None;
            config.network.bind = ([0, 0, 0, 0], 3001).into();
            config.network.trusted_proxies.clear();
        },
        &["0.0.0.0:3001 without TLS", "`trusted_proxies`"],
    ),
    (
        "too_many_connections",
        |config, host, _| {
            config.network.max_connections = Some(4_000);
            host.open_files = Some(4_096);
        },
        &["`max_connections` is 4000", "4096", "3584", "LimitNOFILE="],
    ),
    (
        "few_open_files",
        |_, host, _| host.open_files = Some(256),
        &["256", "224 connections", "ulimit"],
    ),
    (
        "too_much_memory",
        |_, host, _| {
            host.cgroup = Some(CgroupLimit {
                bytes: 100 * MIB as u64,
                file: "/sys/fs/cgroup/a/memory.max".into(),
            });
        },
        &[
            "/sys/fs/cgroup/a/memory.max",
            "104857600",
            "`max_memory_bytes`",
        ],
    ),
    (
        "too_much_memory",
        |config, _, _| config.memory.max_memory_bytes = Some(4_000 * MIB),
        &["the machine has 4294967296", "may end it"],
    ),
    (
        "too_much_memory",
        |config, _, _| config.mcp_sessions.max_mcp_sessions = Some(1_000_000),
        &["`max_mcp_sessions`"],
    ),
    (
        "more_pages_than_connections",
        |config, _, _| {
            config.network.max_connections = Some(2_000);
            config.tokens.max_realms = Some(5_000);
        },
        &["`max_realms` is 5000", "2000 connections"],
    ),
    (
        "more_pages_than_connections",
        |config, host, _| {
            config.page_limits.max_pending_pages = Some(8_000);
            host.open_files = Some(8_192);
        },
        &["`max_pending_pages` is 8000", "7168 connections"],
    ),
];

/// Changes of [`with_oauth`].
const OAUTH_ROWS: &[Row] = &[
    (
        "audience_without_resource",
        |config, _, _| {
            config.identity.jwt_audience = vec!["https://bridge.example.com".to_owned()];
        },
        &[
            "https://bridge.example.com/mcp",
            "`jwt_audience` is https://bridge.example.com,",
        ],
    ),
    (
        "audience_without_resource",
        |config, _, _| {
            config.identity.public_url = Some("https://bridge.example.com/path/".to_owned());
        },
        &["https://bridge.example.com/path/mcp"],
    ),
    (
        "authorization_servers_without_keys",
        |config, _, folder| {
            config.identity.jwks_url = None;
            config.tokens.token_file = Some(file(folder, "t", "a-token-of-many-letters\n", 0o600));
        },
        &["`jwks_url` or `jwt_keys`"],
    ),
    (
        "authorization_servers_without_public_url",
        |config, _, _| config.identity.public_url = None,
        &["set `public_url`"],
    ),
];

#[test]
fn each_rule_warns_of_its_contradiction_alone_and_says_what_to_do() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let rows = ROWS.iter().map(|row| (row, behind_proxy(folder)));
    let oauth_rows = OAUTH_ROWS.iter().map(|row| (row, with_oauth(folder)));
    for ((rule, change, parts), mut config) in rows.chain(oauth_rows) {
        let mut host = ordinary_host();
        change(&mut config, &mut host, folder);
        let broken = broken(&config, &host);
        let [(name, warning)] = &broken[..] else {
            panic!("{rule}: {broken:?}");
        };
        assert_eq!(name, rule, "{warning}");
        for part in *parts {
            assert!(warning.contains(part), "{part}: {warning}");
        }
        assert_eq!(
            config_warnings(&config, &host),
            std::slice::from_ref(warning)
        );
    }
}

#[test]
fn each_rule_has_a_row() {
    for (name, _) in RULES {
        let mut rows = ROWS.iter().chain(OAUTH_ROWS);
        assert!(rows.any(|(rule, ..)| rule == name), "{name}");
    }
}

#[test]
fn configurations_of_the_guides_and_the_defaults_have_no_warnings() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let mut on_loopback = with_oauth(folder);
    on_loopback.identity.public_url = None;
    on_loopback.network = crate::config::Network::default();
    let mut with_slash = with_oauth(folder);
    with_slash.identity.jwt_audience = vec!["https://bridge.example.com/mcp/".to_owned()];
    let mut in_container = behind_proxy(folder);
    in_container.network.bind = ([0, 0, 0, 0], 3001).into();
    let mut both = behind_proxy(folder);
    both.network.forwarded_header = ForwardedHeader::Forwarded;
    let mut without_url = with_tls(with_oauth(folder), [0, 0, 0, 0]);
    without_url.identity.public_url = None;
    for config in [
        Config::default(),
        behind_proxy(folder),
        with_oauth(folder),
        on_loopback,
        with_slash,
        in_container,
        both,
        with_tls(behind_proxy(folder), [0, 0, 0, 0]),
        with_tls(behind_proxy(folder), [127, 0, 0, 1]),
        without_url,
    ] {
        let broken = broken(&config, &ordinary_host());
        assert!(broken.is_empty(), "{broken:?}");
    }
    let small = HostResources {
        machine_bytes: 4096 * MIB as u64,
        cgroup: Some(CgroupLimit {
            bytes: 300 * MIB as u64,
            file: "memory.max".into(),
        }),
        open_files: Some(1_024),
    };
    let broken = broken(&Config::default(), &small);
    assert!(broken.is_empty(), "{broken:?}");
}
