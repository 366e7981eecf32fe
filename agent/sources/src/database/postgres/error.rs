//! The errors of PostgreSQL, in the words for the model.

use std::error::Error;

use agent_tools::text::shorten_bytes;
use tokio_postgres::error::SqlState;

use super::super::error::DatabaseError;
use super::super::limits::MAX_ERROR_BYTES;

/// An error while a statement runs. Its message may quote a value of a table: `invalid input syntax for
/// type integer: "…"`, also of one that is not listed. So it is not given to the model.
impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(error) => from_code(error.code()),
            None => {
                tracing::warn!(error = log_text(&error), "a database cannot be read");
                Self::Unavailable
            }
        }
    }
}

/// Returns the error for a server that does not let the agent in.
pub(super) fn connect_error(error: &tokio_postgres::Error) -> DatabaseError {
    tracing::warn!(error = log_text(error), "a database cannot be connected to");
    DatabaseError::Unavailable
}

/// Returns an error with its cause, for the log.
pub(super) fn log_text(error: &tokio_postgres::Error) -> String {
    let text = match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    };
    shorten_bytes(&text, MAX_ERROR_BYTES)
}

/// Returns the error for a statement that the server cannot prepare. Its message depends on the
/// statement and the schema alone, and is for the model.
pub(super) fn prepare_error(error: tokio_postgres::Error) -> DatabaseError {
    match error.as_db_error() {
        Some(error) if error.code() == &SqlState::QUERY_CANCELED => DatabaseError::Timeout,
        Some(error) if error.message().contains("multiple commands") => {
            DatabaseError::SeveralStatements
        }
        Some(error) => DatabaseError::Sql(shorten_bytes(error.message(), MAX_ERROR_BYTES)),
        None => error.into(),
    }
}

fn from_code(code: &SqlState) -> DatabaseError {
    let problem = match *code {
        SqlState::QUERY_CANCELED | SqlState::LOCK_NOT_AVAILABLE => return DatabaseError::Timeout,
        SqlState::READ_ONLY_SQL_TRANSACTION => return DatabaseError::NotSelect,
        SqlState::OUT_OF_MEMORY
        | SqlState::PROGRAM_LIMIT_EXCEEDED
        | SqlState::STATEMENT_TOO_COMPLEX
        | SqlState::CONFIGURATION_LIMIT_EXCEEDED
        | SqlState::DISK_FULL => return DatabaseError::OutOfMemory,
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            return DatabaseError::Unavailable;
        }
        SqlState::INSUFFICIENT_PRIVILEGE => "a table or function in it may not be used",
        SqlState::DIVISION_BY_ZERO => "division by zero",
        SqlState::CARDINALITY_VIOLATION => "a subquery returned more than one row",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE => "a number is out of range",
        SqlState::INVALID_TEXT_REPRESENTATION
        | SqlState::INVALID_DATETIME_FORMAT
        | SqlState::DATETIME_FIELD_OVERFLOW => "a value does not have the form of its type",
        _ => "it failed while it ran",
    };
    DatabaseError::Sql(format!("{problem} (SQLSTATE {})", code.code()))
}
