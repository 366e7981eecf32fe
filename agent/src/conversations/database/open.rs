//! Opens the database, in memory or in a file, with its tables.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::schema::Error;
use super::schema::{Content, create_tables};

/// The time for which a statement waits while another program has locked the file.
pub(in crate::conversations) const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Why the store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("`conversations_file` {} cannot be opened: {error}", path.display())]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("`conversations_file` {} cannot be used: {error}", path.display())]
    Database { path: PathBuf, error: Error },
    #[error(
        "`conversations_file` {} is damaged, or is not a file of conversations: replace it by a copy \
         that you have, move it away, or name another file", .0.display()
    )]
    Damaged(PathBuf),
    #[error("`conversations_file` {} is not a file of conversations: name another file", .0.display())]
    Foreign(PathBuf),
    #[error("`conversations_file` {} is of another version of the agent: name another file", .0.display())]
    Version(PathBuf),
}

impl OpenError {
    /// Returns the reason for an error of the database.
    pub(super) fn from_database(path: &Path, error: Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged(path),
            _ => Self::Database { path, error },
        }
    }
}

/// Opens the database, in memory without a file. A file with other content is not changed.
pub(super) fn open(path: Option<&Path>) -> Result<Connection, OpenError> {
    let shown_path = path.unwrap_or(Path::new(":memory:"));
    let error = |error| OpenError::from_database(shown_path, error);
    let mut connection = match path {
        Some(path) => open_file(path)?,
        None => Connection::open_in_memory().map_err(error)?,
    };
    connection.busy_timeout(BUSY_TIMEOUT).map_err(error)?;
    match find_or_create_tables(&mut connection).map_err(error)? {
        Content::Nothing | Content::Conversations => {}
        Content::OtherVersion => return Err(OpenError::Version(shown_path.to_owned())),
        Content::Damaged => return Err(OpenError::Damaged(shown_path.to_owned())),
        Content::Foreign => return Err(OpenError::Foreign(shown_path.to_owned())),
    }
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;";
    connection.execute_batch(pragmas).map_err(error)?;
    Ok(connection)
}

fn open_file(path: &Path) -> Result<Connection, OpenError> {
    let file_error = |error| OpenError::File {
        path: path.to_owned(),
        error,
    };
    // SQLite reads `:memory:` and `file:…` as something else than a path, but no absolute path.
    let absolute = std::path::absolute(path).map_err(file_error)?;
    create_private_file(&absolute).map_err(file_error)?;
    if !absolute.is_file() {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    if let Some(warning) = warning_if_open_to_others(path) {
        tracing::warn!("{warning}");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(&absolute, flags)
        .map_err(|error| OpenError::from_database(path, error))
}

/// Creates the file, readable for its user only, if it does not exist.
fn create_private_file(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Returns a warning if other users of the machine can read or write a file that was there before, or
/// whose mode was changed.
#[cfg(unix)]
fn warning_if_open_to_others(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.metadata().ok()?.permissions().mode();
    let path = path.display();
    (mode & 0o077 != 0).then(|| {
        format!(
            "other users of this machine can read or write {path}, which has conversations: forbid \
             it with `chmod 600 {path}`"
        )
    })
}

#[cfg(not(unix))]
fn warning_if_open_to_others(_: &Path) -> Option<String> {
    None
}

/// Returns what was in the database, and creates the tables if it was nothing.
fn find_or_create_tables(connection: &mut Connection) -> Result<Content, Error> {
    // Of two agents that start with one new file, one creates the tables.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let content = Content::of(&transaction)?;
    if content == Content::Nothing {
        create_tables(&transaction)?;
    }
    transaction.commit()?;
    Ok(content)
}

#[cfg(test)]
mod tests;
