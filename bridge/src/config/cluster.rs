//! The settings of several bridges that serve as one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use bridge_settings::{Secret, values};

/// The shortest and the longest lease of a node.
const LEASE_RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(3)..=Duration::from_secs(60);

/// The default lease of a node.
const DEFAULT_LEASE: Duration = Duration::from_secs(10);

/// The default number of look-ups that find nothing: 50 per second, of which a server of NATS does 40,000.
const DEFAULT_LOOKUPS: usize = 3000;

/// The default start of the names in the directory.
const DEFAULT_NAME: &str = "mcp-web";

/// The largest number of accepted secrets: a new one, and the former one while nodes still have it.
const MAX_SECRETS: usize = 2;

/// Settings of several bridges that serve as one.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub struct Cluster {
    /// NATS servers of several bridges that serve as one: `tls://a:4222,tls://b:4222`. Each user is served
    /// by one of the bridges, and each bridge passes on what belongs to another. Without servers the
    /// bridge serves alone.
    #[arg(
        long,
        env = "MCP_WEB_CLUSTER",
        value_name = "URL,…",
        value_delimiter = ',',
        hide_env_values = true,
        value_parser = parse_server
    )]
    pub cluster: Vec<String>,

    /// The name of these bridges, with which their buckets and subjects in NATS begin: letters, digits
    /// and `-`.
    #[arg(long, env = "MCP_WEB_CLUSTER_NAME", value_name = "NAME", default_value = DEFAULT_NAME, value_parser = parse_name)]
    pub cluster_name: String,

    /// Secret of all bridges, at least 32 characters. Of two, the first signs and both are accepted, so
    /// that a secret can be changed while bridges run.
    #[arg(
        long,
        env = "MCP_WEB_CLUSTER_SECRET",
        value_name = "SECRET,…",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub cluster_secret: Vec<Secret>,

    /// Secret that names users in NATS, by default the first of `cluster_secret`. It must stay the same
    /// when that one is changed.
    #[arg(
        long,
        env = "MCP_WEB_CLUSTER_REALM_SECRET",
        value_name = "SECRET",
        hide_env_values = true
    )]
    pub cluster_realm_secret: Option<Secret>,

    /// Where the bridge listens for the others. No client may reach it.
    #[arg(long, env = "MCP_WEB_CLUSTER_BIND", value_name = "ADDR")]
    pub cluster_bind: Option<SocketAddr>,

    /// The address at which the other bridges reach `cluster_bind`. Needed if that is 0.0.0.0 or [::].
    #[arg(long, env = "MCP_WEB_CLUSTER_ADDRESS", value_name = "ADDR")]
    pub cluster_address: Option<SocketAddr>,

    /// File with the certificate of this bridge for the others in PEM, followed by those of its issuers.
    #[arg(long, env = "MCP_WEB_CLUSTER_TLS_CERT", value_name = "PATH")]
    pub cluster_tls_cert: Option<PathBuf>,

    /// File with the private key of `cluster_tls_cert` in PEM.
    #[arg(long, env = "MCP_WEB_CLUSTER_TLS_KEY", value_name = "PATH")]
    pub cluster_tls_key: Option<PathBuf>,

    /// File with the authority in PEM that has signed the certificates of all bridges. No other
    /// authority is trusted between them.
    #[arg(long, env = "MCP_WEB_CLUSTER_TLS_CA", value_name = "PATH")]
    pub cluster_tls_ca: Option<PathBuf>,

    /// The name that the certificates of all bridges have.
    #[arg(
        long,
        env = "MCP_WEB_CLUSTER_TLS_NAME",
        value_name = "NAME",
        default_value = DEFAULT_NAME
    )]
    pub cluster_tls_name: String,

    /// Do not encrypt between bridges of different machines: something else does, such as a service
    /// mesh.
    #[arg(long, env = "MCP_WEB_CLUSTER_PLAINTEXT")]
    pub cluster_plaintext: bool,

    /// File with the credentials of the bridge for NATS (`.creds`).
    #[arg(long, env = "MCP_WEB_CLUSTER_NATS_CREDENTIALS", value_name = "PATH")]
    pub cluster_nats_credentials: Option<PathBuf>,

    /// User of the bridge for NATS.
    #[arg(long, env = "MCP_WEB_CLUSTER_NATS_USER", value_name = "USER")]
    pub cluster_nats_user: Option<String>,

    /// Password of this user.
    #[arg(
        long,
        env = "MCP_WEB_CLUSTER_NATS_PASSWORD",
        value_name = "SECRET",
        hide_env_values = true,
        value_parser = parse_password
    )]
    pub cluster_nats_password: Option<Secret>,

    /// File with the authority of the NATS servers in PEM, if it is not one of the system.
    #[arg(long, env = "MCP_WEB_CLUSTER_NATS_CA", value_name = "PATH")]
    pub cluster_nats_ca: Option<PathBuf>,

    /// On how many NATS servers the records are stored: 1, 3 or 5. In production 3.
    #[arg(long, env = "MCP_WEB_CLUSTER_REPLICAS", value_name = "N", default_value_t = 1, value_parser = parse_replicas)]
    pub cluster_replicas: usize,

    /// A bridge that has not renewed its record for this long is lost, and others take its users over:
    /// 3s to 60s. The record is renewed after each fifth of it.
    #[arg(long, env = "MCP_WEB_CLUSTER_LEASE", value_name = "TIME", default_value = "10s", value_parser = parse_lease)]
    pub cluster_lease: Duration,

    /// Requests per minute and address whose tokens are looked up in NATS although no bridge serves them.
    /// Beyond it the answer to such a request is 429.
    #[arg(long, env = "MCP_WEB_MAX_CLUSTER_LOOKUPS", value_name = "N", default_value_t = DEFAULT_LOOKUPS, value_parser = values::parse_count)]
    pub max_cluster_lookups: usize,
}

impl Cluster {
    /// Whether this bridge is one of several.
    pub(crate) fn is_enabled(&self) -> bool {
        !self.cluster.is_empty()
    }

    /// The address at which the other bridges reach this one, if the settings have one. `bound` is the
    /// one on which it listens for them.
    pub(crate) fn address(&self, bound: SocketAddr) -> SocketAddr {
        match self.cluster_address {
            Some(address) if address.port() == 0 => SocketAddr::new(address.ip(), bound.port()),
            Some(address) => address,
            None => bound,
        }
    }

    /// Checks the settings of a cluster together.
    ///
    /// # Errors
    ///
    /// Describes the setting that is missing or wrong, and what to do.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.is_enabled() {
            return Ok(());
        }
        if self.cluster.iter().any(|server| server.contains('@')) {
            return Err(
                "`cluster` has a URL with a password or a user: set `cluster_nats_user` and \
                 `cluster_nats_password` instead"
                    .to_owned(),
            );
        }
        let Some(bind) = self.cluster_bind else {
            return Err(
                "`cluster` needs `cluster_bind`: the address on which the other bridges reach this \
                 one, such as 10.0.0.5:3002, which must not be public"
                    .to_owned(),
            );
        };
        if self.cluster_secret.is_empty() {
            return Err(
                "`cluster` needs `cluster_secret`: at least 32 characters, the same for all bridges"
                    .to_owned(),
            );
        }
        if self.cluster_secret.len() > MAX_SECRETS {
            return Err(format!(
                "`cluster_secret` has more than {MAX_SECRETS} secrets: write the new one, and after a \
                 comma the former one"
            ));
        }
        let address = self.address(bind);
        if address.ip().is_unspecified() {
            return Err(format!(
                "`cluster_bind` is {bind}, which other bridges cannot connect to: set \
                 `cluster_address` to the address at which they reach it"
            ));
        }
        let files = [
            &self.cluster_tls_cert,
            &self.cluster_tls_key,
            &self.cluster_tls_ca,
        ];
        let given = files.iter().filter(|file| file.is_some()).count();
        if given != 0 && given != files.len() {
            return Err(
                "encryption between bridges needs all of `cluster_tls_cert`, `cluster_tls_key` and \
                 `cluster_tls_ca`"
                    .to_owned(),
            );
        }
        if given == 0
            && !self.cluster_plaintext
            && !(bind.ip().is_loopback() && address.ip().is_loopback())
        {
            return Err(format!(
                "tokens would cross the network to {address} without encryption: set \
                 `cluster_tls_cert`, `cluster_tls_key` and `cluster_tls_ca`, or `cluster_plaintext` if \
                 something else encrypts"
            ));
        }
        if self.cluster_nats_user.is_some() != self.cluster_nats_password.is_some() {
            return Err(
                "`cluster_nats_user` and `cluster_nats_password` need each other: set both, or none"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            cluster: Vec::new(),
            cluster_name: DEFAULT_NAME.to_owned(),
            cluster_secret: Vec::new(),
            cluster_realm_secret: None,
            cluster_bind: None,
            cluster_address: None,
            cluster_tls_cert: None,
            cluster_tls_key: None,
            cluster_tls_ca: None,
            cluster_tls_name: DEFAULT_NAME.to_owned(),
            cluster_plaintext: false,
            cluster_nats_credentials: None,
            cluster_nats_user: None,
            cluster_nats_password: None,
            cluster_nats_ca: None,
            cluster_replicas: 1,
            cluster_lease: DEFAULT_LEASE,
            max_cluster_lookups: DEFAULT_LOOKUPS,
        }
    }
}

fn parse_server(text: &str) -> Result<String, String> {
    let allowed = "allowed are nats://host:port and tls://host:port, separated by commas";
    let rest = ["nats://", "tls://"]
        .iter()
        .find_map(|it| text.strip_prefix(it));
    match rest {
        // An error here would quote the password, see `Cluster::check`.
        Some(rest) if rest.contains('@') => Ok(text.to_owned()),
        Some(rest) if !rest.is_empty() && !rest.contains('/') => Ok(text.to_owned()),
        _ => Err(allowed.to_owned()),
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=32).contains(&text.len()) && text.bytes().all(is_allowed) {
        return Ok(text.to_owned());
    }
    Err("allowed are 1 to 32 letters, digits and `-`".to_owned())
}

fn parse_password(text: &str) -> Result<Secret, String> {
    match text {
        "" => Err("the password is empty".to_owned()),
        text => Ok(Secret::from_trusted(text.to_owned())),
    }
}

fn parse_replicas(text: &str) -> Result<usize, String> {
    match text {
        "1" => Ok(1),
        "3" => Ok(3),
        "5" => Ok(5),
        _ => Err("allowed are 1, 3 and 5".to_owned()),
    }
}

fn parse_lease(text: &str) -> Result<Duration, String> {
    let lease = values::parse_duration(text)?;
    if LEASE_RANGE.contains(&lease) {
        return Ok(lease);
    }
    Err("allowed are 3s to 60s".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::config::{Config, HostResources};

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn check(arguments: &[&str]) -> Result<(), String> {
        let cluster = ["bridge", "--cluster", "nats://127.0.0.1:4222"];
        let arguments = cluster.iter().chain(arguments);
        let config = Config::try_parse_from(arguments).map_err(|error| error.to_string())?;
        config.cluster.check()
    }

    #[test]
    fn settings_that_do_not_fit_name_what_is_missing() {
        let bind = ["--cluster-bind", "127.0.0.1:0"];
        let public = [
            "--cluster-bind",
            "192.0.2.1:3002",
            "--cluster-secret",
            SECRET,
        ];
        let twice = format!("{SECRET},{SECRET}x");
        let thrice = format!("{twice},{SECRET}y");
        let with = |more: &[&'static str]| [&public, more].concat();
        let complete = [&bind[..], &["--cluster-secret", SECRET]].concat();
        for (arguments, missing) in [
            (vec![], Some("`cluster_bind`")),
            (bind.to_vec(), Some("`cluster_secret`")),
            (complete.clone(), None),
            ([&bind[..], &["--cluster-secret", &twice]].concat(), None),
            (
                [&bind[..], &["--cluster-secret", &thrice]].concat(),
                Some("more than 2"),
            ),
            (
                [&bind[..], &["--cluster-secret", "short"]].concat(),
                Some("32"),
            ),
            (with(&[]), Some("`cluster_tls_cert`")),
            (with(&["--cluster-plaintext"]), None),
            (
                with(&["--cluster-tls-cert", "a"]),
                Some("`cluster_tls_key`"),
            ),
            (
                with(&[
                    "--cluster-tls-cert",
                    "a",
                    "--cluster-tls-key",
                    "b",
                    "--cluster-tls-ca",
                    "c",
                ]),
                None,
            ),
            (
                vec!["--cluster-bind", "0.0.0.0:3002", "--cluster-secret", SECRET],
                Some("`cluster_address`"),
            ),
            (
                [&complete[..], &["--cluster-nats-user", "u"]].concat(),
                Some("`cluster_nats_password`"),
            ),
            (
                [&complete[..], &["--cluster-lease", "1s"]].concat(),
                Some("3s to 60s"),
            ),
            (
                [&complete[..], &["--cluster-replicas", "2"]].concat(),
                Some("1, 3 and 5"),
            ),
            (
                [&complete[..], &["--cluster-name", "a.b"]].concat(),
                Some("letters"),
            ),
            (
                [&complete[..], &["--cluster", "nats://u:hunter2@h:1"]].concat(),
                Some("`cluster_nats_user`"),
            ),
        ] {
            let checked = check(&arguments);
            match (missing, &checked) {
                (None, Ok(())) => {}
                (Some(missing), Err(error)) => assert!(error.contains(missing), "{error}"),
                _ => panic!("{arguments:?}: {checked:?}"),
            }
            assert!(!format!("{checked:?}").contains("hunter2"), "{checked:?}");
        }
    }

    #[test]
    fn connections_to_other_bridges_have_their_part_of_the_open_files() {
        let host = HostResources {
            machine_bytes: 1 << 34,
            cgroup: None,
            open_files: Some(4_096),
        };
        let connections = |arguments: &[&str]| {
            let program = ["bridge"];
            let config = Config::try_parse_from(program.iter().chain(arguments)).unwrap();
            config.shared_limits(&host).connections
        };
        let cluster = ["--cluster", "nats://127.0.0.1:4222"];
        let limit = ["--max-connections", "4000"];
        assert_eq!(connections(&[]), 3_584);
        assert_eq!(connections(&cluster), 1_195);
        assert_eq!(connections(&[cluster, limit].concat()), 4_000);
    }

    #[test]
    fn without_servers_nothing_is_checked() {
        assert!(!Config::default().cluster.is_enabled());
        assert_eq!(Config::default().cluster.check(), Ok(()));
    }
}
