//! What all statements of the database share.

/// An error of the database.
pub(in crate::conversations) type Error = rusqlite::Error;

/// SQLite has signed integers.
pub(super) fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
