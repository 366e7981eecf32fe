//! The settings of the source.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bridge_settings::Secret;
use bridge_settings::values::parse_duration;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::allowed_tables::AllowedTables;
#[cfg(feature = "postgres")]
use super::postgres::PostgresUrl;

/// The upper bound of `max_rows`.
const MAX_ROWS: usize = 1000;

/// The upper bound of `timeout`: the agent waits for a tool about as long.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

/// The settings of the source. Their debug text has no password.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSettings {
    pub(super) url: DatabaseUrl,
    pub(super) tables: AllowedTables,
    #[serde(default, deserialize_with = "password")]
    pub(super) password: Option<Secret>,
    pub(super) password_file: Option<PathBuf>,
    /// The name of a stored secret that all users share.
    pub(super) password_secret: Option<String>,
    /// The most rows of an answer.
    #[serde(default = "default_max_rows", deserialize_with = "max_rows")]
    pub(super) max_rows: usize,
    /// How long a call may take.
    #[serde(default = "default_timeout", deserialize_with = "timeout")]
    pub(super) timeout: Duration,
}

/// Where the database is.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum DatabaseUrl {
    /// The path of a file.
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(PostgresUrl),
}

impl DatabaseSettings {
    /// Makes relative paths begin at a folder.
    pub(crate) fn resolved(self, folder: &Path) -> Self {
        Self {
            url: self.url.resolved(folder),
            password_file: self.password_file.map(|path| folder.join(path)),
            ..self
        }
    }

    /// Returns whether the operator has set a password.
    pub(super) fn has_password(&self) -> bool {
        self.password.is_some() || self.password_file.is_some() || self.password_secret.is_some()
    }
}

impl DatabaseUrl {
    fn resolved(self, folder: &Path) -> Self {
        match self {
            Self::Sqlite(path) => Self::Sqlite(folder.join(path)),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => Self::Postgres(url),
        }
    }
}

impl TryFrom<String> for DatabaseUrl {
    type Error = String;

    /// Parses a URL. The errors do not quote it, because it may have a password.
    fn try_from(url: String) -> Result<Self, String> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            return match path {
                "" | ":memory:" => Err("`url` has no file: write sqlite:/srv/shop.db".to_owned()),
                path => Ok(Self::Sqlite(path.into())),
            };
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return parse_postgres(&url);
        }
        Err(
            "`url` is not a URL of a database: write sqlite:/srv/shop.db or \
             postgres://role@host/database"
                .to_owned(),
        )
    }
}

#[cfg(feature = "postgres")]
fn parse_postgres(url: &str) -> Result<DatabaseUrl, String> {
    PostgresUrl::parse(url).map(DatabaseUrl::Postgres)
}

#[cfg(not(feature = "postgres"))]
fn parse_postgres(_: &str) -> Result<DatabaseUrl, String> {
    Err(
        "`url` is one of PostgreSQL, for which this program was not built: use `mcp-web agent`, \
         built with its feature `postgres`"
            .to_owned(),
    )
}

/// Reads a password. The error of another type does not quote it.
fn password<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret>, D::Error> {
    match String::deserialize(deserializer) {
        Ok(text) if text.is_empty() => Err(D::Error::custom("`password` is empty")),
        Ok(text) => Ok(Some(Secret::from_trusted(text))),
        Err(_) => Err(D::Error::custom("`password` must be a string")),
    }
}

fn max_rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        rows @ 1..=MAX_ROWS => Ok(rows),
        _ => Err(D::Error::custom(format!(
            "`max_rows` must be 1 to {MAX_ROWS}"
        ))),
    }
}

fn default_max_rows() -> usize {
    200
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    match parse_duration(&text) {
        Ok(timeout) if timeout <= MAX_TIMEOUT => Ok(timeout),
        _ => Err(D::Error::custom(
            "`timeout` must be a time above zero, up to 60s, such as 500ms or 5s",
        )),
    }
}

fn default_timeout() -> Duration {
    Duration::from_secs(5)
}
