//! The URL of a server, as the operator writes it.

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::server::Address;

/// The port of a URL without one.
const DEFAULT_PORT: u16 = 5432;

/// Where a server is, and as which role the agent connects to which database. It has no password.
#[derive(Clone, Debug)]
pub(in crate::database) struct PostgresUrl {
    pub(super) address: Address,
    pub(super) config: Box<Config>,
}

impl PostgresUrl {
    /// Parses a URL. The errors do not quote it, because it may have a password.
    pub(in crate::database) fn parse(url: &str) -> Result<Self, String> {
        let mut config: Config = url.parse().map_err(|_| {
            "`url` is not a URL of PostgreSQL: write postgres://role@host:5432/database?sslmode=require"
        })?;
        if config.get_password().is_some() {
            return Err(
                "`url` has a password: set it in `password_secret` or `password_file`".to_owned(),
            );
        }
        if config.get_user().is_none() {
            return Err("`url` must name a role: write postgres://role@host/database".to_owned());
        }
        let has_unused = config.get_connect_timeout().is_some()
            || config.get_target_session_attrs() != TargetSessionAttrs::Any;
        if has_unused {
            return Err(
                "`connect_timeout` and `target_session_attrs` in `url` have no effect: remove them"
                    .to_owned(),
            );
        }
        let address = address(&config)?;
        if config.get_application_name().is_none() {
            config.application_name("mcp-web-agent");
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // With `prefer`, an attacker between client and server could turn encryption off.
            config.ssl_mode(if address.is_local() {
                SslMode::Disable
            } else {
                SslMode::Require
            });
        }
        Ok(Self {
            address,
            config: Box::new(config),
        })
    }

    /// Returns whether a password is sent to another machine without encryption.
    pub(super) fn is_exposed(&self) -> bool {
        self.config.get_ssl_mode() == SslMode::Disable && !self.address.is_local()
    }
}

fn address(config: &Config) -> Result<Address, String> {
    let [host] = config.get_hosts() else {
        return Err("`url` must name one host".to_owned());
    };
    if !config.get_hostaddrs().is_empty() {
        return Err("`hostaddr` in `url` has no effect: write it as the host".to_owned());
    }
    let port = *config.get_ports().first().unwrap_or(&DEFAULT_PORT);
    Ok(match host {
        Host::Tcp(name) => Address::Tcp(name.clone(), port),
        #[cfg(unix)]
        Host::Unix(folder) => Address::Unix(folder.join(format!(".s.PGSQL.{port}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_connected_to_without_encryption() {
        for (url, expected, is_exposed) in [
            ("postgres://u@localhost/d", SslMode::Disable, false),
            ("postgres://u@127.0.0.1/d", SslMode::Disable, false),
            ("postgresql://u@[::1]:1/d", SslMode::Disable, false),
            ("postgres:///d?host=/run/pg&user=u", SslMode::Disable, false),
            ("postgres://u@db.example/d", SslMode::Require, false),
            (
                "postgres://u@db.example/d?sslmode=prefer",
                SslMode::Require,
                false,
            ),
            (
                "postgres://u@db.example/d?sslmode=disable",
                SslMode::Disable,
                true,
            ),
            (
                "postgres://u@localhost/d?sslmode=require",
                SslMode::Require,
                false,
            ),
        ] {
            let parsed = PostgresUrl::parse(url).unwrap();
            assert_eq!(parsed.config.get_ssl_mode(), expected, "{url}");
            assert_eq!(parsed.is_exposed(), is_exposed, "{url}");
        }
    }

    #[test]
    fn parts_without_effect_are_refused() {
        for (url, expected) in [
            ("postgres://h/d", "must name a role"),
            ("postgres:///d?user=u", "must name one host"),
            ("postgres://u@a,b/d", "must name one host"),
            ("postgres://u@h/d?hostaddr=127.0.0.1", "`hostaddr`"),
            ("postgres://u@h/d?connect_timeout=5", "have no effect"),
            (
                "postgres://u@h/d?target_session_attrs=read-write",
                "have no effect",
            ),
        ] {
            let error = PostgresUrl::parse(url).unwrap_err();
            assert!(error.contains(expected), "{url}: {error}");
        }
    }
}
