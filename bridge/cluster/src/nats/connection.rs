//! Opens one connection, which is not opened again when it is lost.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use async_nats::rustls;
use async_nats::{
    Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::events::Problem;
use super::settings::NatsSettings;
use crate::names::NodeId;

/// How long one server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The client gives a connection up after two pings without an answer.
const PING_INTERVAL: Duration = Duration::from_secs(2);

/// Buffered refusals. More are dropped: they are repeated with the operations.
const REFUSAL_CAPACITY: usize = 64;

/// The oldest version with what the client sends when it creates a bucket.
const MIN_VERSION: (u64, u64) = (2, 10);

/// An open connection.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Cancelled when the connection is lost.
    pub(super) lost: CancellationToken,
    /// The rights that NATS refuses. The operations themselves get no answer.
    pub(super) refusals: mpsc::Receiver<String>,
}

/// Checks what can be checked without a connection.
pub(super) fn check(settings: &NatsSettings) -> Result<(), String> {
    addresses(settings)?;
    options(settings).map(drop)
}

/// Connects to one of the servers.
pub(super) async fn open(settings: &NatsSettings, own: &NodeId) -> Result<Connection, Problem> {
    let addresses = addresses(settings).map_err(Problem::Refused)?;
    let options = options(settings).map_err(Problem::Refused)?;
    let lost = CancellationToken::new();
    let (sender, refusals) = mpsc::channel(REFUSAL_CAPACITY);
    let cancelled = lost.clone();
    let client = options
        .name(format!("mcp-web {}", own.short()))
        .custom_inbox_prefix(format!("_INBOX.{}", settings.name))
        .connection_timeout(CONNECT_TIMEOUT)
        .ping_interval(PING_INTERVAL)
        // One attempt for each server. Zero would mean any number.
        .max_reconnects(addresses.len())
        .reconnect_delay_callback(|_| Duration::ZERO)
        // A name of a discovered server is often not in its certificate.
        .ignore_discovered_servers()
        .event_callback(move |event| {
            match event {
                Event::Disconnected | Event::Closed => cancelled.cancel(),
                Event::ServerError(ServerError::Other(text)) => {
                    // A full channel has enough refusals.
                    let _ = sender.try_send(text);
                }
                _ => {}
            }
            std::future::ready(())
        })
        .connect(addresses)
        .await
        .map_err(|error| problem(&error))?;
    check_version(&client.server_info().version).map_err(Problem::Refused)?;
    Ok(Connection {
        client,
        lost,
        refusals,
    })
}

fn addresses(settings: &NatsSettings) -> Result<Vec<ServerAddr>, String> {
    if settings.servers.is_empty() {
        return Err("cluster must name at least one server of NATS".to_owned());
    }
    settings
        .servers
        .iter()
        .map(|server| address(server))
        .collect()
}

/// Parses the address of a server. The error does not contain it, because it may have a password.
fn address(server: &str) -> Result<ServerAddr, String> {
    let address: ServerAddr = server
        .parse()
        .map_err(|_| "cluster must have addresses such as tls://host:4222")?;
    if address.username().is_some() || address.password().is_some() {
        let text = "cluster must not contain a user or password: set cluster_nats_user and \
                    cluster_nats_password";
        return Err(text.to_owned());
    }
    if !matches!(address.scheme(), "nats" | "tls") {
        return Err("cluster must have addresses with tls:// or nats://".to_owned());
    }
    Ok(address)
}

fn options(settings: &NatsSettings) -> Result<ConnectOptions, String> {
    let mut options = ConnectOptions::new();
    if let Some(path) = &settings.credentials {
        let credentials = read(path, "cluster_nats_credentials")?;
        options = options.credentials(&credentials).map_err(|_| {
            "cluster_nats_credentials must be a file with a JWT and its seed".to_owned()
        })?;
    }
    match (&settings.user, &settings.password) {
        (Some(user), Some(password)) => {
            options = options.user_and_password(user.clone(), password.expose().to_owned());
        }
        (None, None) => {}
        _ => return Err("set both cluster_nats_user and cluster_nats_password".to_owned()),
    }
    if let Some(path) = &settings.ca {
        if !read(path, "cluster_nats_ca")?.contains("-----BEGIN CERTIFICATE-----") {
            return Err("cluster_nats_ca must be a file with certificates in PEM".to_owned());
        }
        // With it, those of the system are not trusted.
        options = options.add_root_certificates(path.clone());
    }
    Ok(options)
}

fn read(path: &Path, setting: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{setting} cannot be read: {error}"))
}

fn problem(error: &ConnectError) -> Problem {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            Problem::Refused(
                "NATS has refused the login: check cluster_nats_user, cluster_nats_password and \
                 cluster_nats_credentials"
                    .to_owned(),
            )
        }
        _ if is_untrusted(error) => Problem::Refused(format!(
            "the certificate of NATS is not trusted: check cluster_nats_ca and the name in cluster: {error}"
        )),
        _ => Problem::Failed(format!("cannot connect to NATS: {error}")),
    }
}

fn is_untrusted(error: &ConnectError) -> bool {
    let io_error = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    let tls_error = io_error
        .and_then(io::Error::get_ref)
        .and_then(|it| it.downcast_ref());
    matches!(tls_error, Some(rustls::Error::InvalidCertificate(_)))
}

fn check_version(version: &str) -> Result<(), String> {
    let mut numbers = version.split('.').map(|part| part.parse::<u64>().ok());
    let (major, minor) = (numbers.next().flatten(), numbers.next().flatten());
    match (major, minor) {
        (Some(major), Some(minor)) if (major, minor) >= MIN_VERSION => Ok(()),
        _ => Err(format!(
            "NATS {version} is too old: at least 2.10 is needed, and 2.11 or newer is recommended. Packages \
             of Debian 12 are older: see https://nats.io/download"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_before_2_10_is_refused() {
        for version in ["2.10.0", "2.10.25", "2.15.1", "2.12.0-RC.1", "3.0.0"] {
            assert_eq!(check_version(version), Ok(()), "{version}");
        }
        for version in ["2.9.10", "1.4.1", "", "unknown", "2"] {
            let error = check_version(version).unwrap_err();
            assert!(error.contains("at least 2.10"), "{error}");
        }
    }

    #[test]
    fn an_address_has_no_login_and_a_known_scheme() {
        for server in ["tls://a.example:4222", "nats://127.0.0.1", "127.0.0.1:4222"] {
            assert!(address(server).is_ok(), "{server}");
        }
        for server in [
            "nats://me:hush@a",
            "nats://:hush@a",
            "nats://hush@a",
            "http://hush",
            ":::",
        ] {
            let error = address(server).unwrap_err();
            assert!(
                error.contains("cluster") && !error.contains("hush"),
                "{error}"
            );
        }
    }
}
