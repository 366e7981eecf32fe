//! The limits of calls and of their answers.

/// How many calls of a source run at the same time. A connection is opened for each, and a hostile
/// statement can use a processor until its time is over.
pub(super) const MAX_CONCURRENT_CALLS: usize = 4;

/// How many of them may be those of one user, so that others need not wait for a hostile statement.
pub(super) const MAX_CALLS_PER_USER: usize = 2;

/// The maximum length of a statement, in bytes: many times what a model writes.
pub(super) const MAX_SQL_BYTES: usize = 64 * 1024;

/// The maximum number of parameters of a statement.
pub(super) const MAX_PARAMETERS: usize = 100;

/// The maximum number of columns of an answer.
pub(super) const MAX_COLUMNS: usize = 256;

/// The maximum length of an answer, in bytes.
pub(super) const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Maximum length of a value, in bytes. A longer one is cut.
pub(super) const MAX_VALUE_BYTES: usize = 4096;

/// The maximum length of the name of a column. That of an expression is its whole text.
pub(super) const MAX_COLUMN_NAME_BYTES: usize = 128;

/// Maximum length of an error text of the database, in bytes: it may quote a part of the statement.
pub(super) const MAX_ERROR_BYTES: usize = 300;
