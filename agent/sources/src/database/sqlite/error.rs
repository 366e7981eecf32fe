//! The errors of SQLite, in the words for the model.

use rusqlite::ErrorCode;

use super::super::allowed_tables::AllowedTables;
use super::super::error::DatabaseError;
use super::super::limits::MAX_ERROR_BYTES;
use super::authorizer::{Authorizer, Refusal};

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::Timeout,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::TooBig) => Self::ValueTooLarge,
            Some(ErrorCode::OutOfMemory) => Self::OutOfMemory,
            Some(ErrorCode::Unknown | ErrorCode::TypeMismatch | ErrorCode::ApiMisuse) | None => {
                Self::Sql(message(error))
            }
            Some(ErrorCode::AuthorizationForStatementDenied) => Self::NotSelect,
            Some(_) => {
                tracing::warn!(%error, "a database cannot be read");
                Self::Unavailable
            }
        }
    }
}

fn message(error: rusqlite::Error) -> String {
    let mut message = match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        rusqlite::Error::SqliteFailure(_, Some(message)) => message,
        other => other.to_string(),
    };
    message.truncate(message.floor_char_boundary(MAX_ERROR_BYTES));
    message
}

/// The beginning of SQLite's message about a table that does not exist.
const NO_SUCH_TABLE: &str = "no such table: ";

/// Adds the reason to a refusal for which SQLite gives none, and names the tables that exist.
pub(super) fn explain(
    error: DatabaseError,
    authorizer: &Authorizer,
    allowed: &AllowedTables,
) -> DatabaseError {
    let unknown_table = |table: &str| DatabaseError::UnknownTable {
        table: table.to_owned(),
        available: allowed.sentence(),
    };
    match (authorizer.refusal(), &error) {
        (_, DatabaseError::Timeout | DatabaseError::SeveralStatements) => error,
        (Some(Refusal::Table(table)), _) => unknown_table(&table),
        (Some(Refusal::Function(name)), _) => DatabaseError::UnavailableFunction(name),
        (Some(Refusal::Statement), _) => DatabaseError::NotSelect,
        (None, DatabaseError::Sql(message)) => match message.strip_prefix(NO_SUCH_TABLE) {
            Some(table) => unknown_table(table.strip_prefix("main.").unwrap_or(table)),
            None => error,
        },
        (None, _) => error,
    }
}
