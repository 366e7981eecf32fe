//! The settings of the source.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bridge_service::values::parse_duration;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::allowed_tables::AllowedTables;

/// The upper bound of `max_rows`.
const MAX_ROWS: usize = 1000;

/// The upper bound of `timeout`: the agent waits for a tool about as long.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

/// The settings of the source. Their debug text has no password.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatabaseSettings {
    pub(super) url: DatabaseUrl,
    pub(super) tables: AllowedTables,
    /// The most rows of an answer.
    #[serde(default = "default_max_rows", deserialize_with = "max_rows")]
    pub(super) max_rows: usize,
    /// How long a call may take.
    #[serde(default = "default_timeout", deserialize_with = "timeout")]
    pub(super) timeout: Duration,
}

/// Where the database is: the path of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct DatabaseUrl(PathBuf);

impl DatabaseSettings {
    /// Makes relative paths begin at a folder.
    pub(crate) fn resolved(self, folder: &Path) -> Self {
        Self {
            url: self.url.resolved(folder),
            ..self
        }
    }
}

impl DatabaseUrl {
    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn resolved(self, folder: &Path) -> Self {
        Self(folder.join(self.0))
    }
}

impl TryFrom<String> for DatabaseUrl {
    type Error = String;

    /// Parses a URL. The errors do not quote it, because it may have a password.
    fn try_from(url: String) -> Result<Self, String> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            return match path {
                "" | ":memory:" => Err("`url` has no file: write sqlite:/srv/shop.db".to_owned()),
                path => Ok(Self(path.into())),
            };
        }
        Err("`url` is no URL of a database: write sqlite:/srv/shop.db".to_owned())
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
