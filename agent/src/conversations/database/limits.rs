//! The limits of the conversations of a user and of all users: which conversations make room.

use rusqlite::{OptionalExtension, Transaction, params};

use super::sql::{Error, to_sql};
use crate::config::ConversationSettings;

/// Drops conversations while a limit is exceeded, except the one that was just continued: the oldest
/// of the user for the limits of a user, and the oldest of those who have the most for the limit of all
/// users.
pub(super) fn drop_conversations(
    transaction: &Transaction<'_>,
    user: &str,
    kept: i64,
    settings: &ConversationSettings,
) -> Result<(), Error> {
    loop {
        let (bytes, conversations) = usage(transaction, user)?;
        let is_over = bytes > to_sql(settings.max_conversation_bytes_per_user as u64)
            || conversations > to_sql(settings.max_conversations_per_user as u64);
        if !is_over || !drop_oldest(transaction, user, kept)? {
            break;
        }
    }
    let max_bytes = to_sql(settings.max_all_conversation_bytes as u64);
    while total_bytes(transaction)? > max_bytes {
        let mut is_dropped = false;
        for user in largest_users(transaction)? {
            is_dropped = is_dropped || drop_oldest(transaction, &user, kept)?;
        }
        if !is_dropped {
            break;
        }
    }
    Ok(())
}

/// Drops the oldest conversation of a user other than the kept one. Returns whether there was one.
fn drop_oldest(transaction: &Transaction<'_>, user: &str, kept: i64) -> Result<bool, Error> {
    let mut statement = transaction.prepare_cached(
        "DELETE FROM conversation WHERE number = (SELECT number FROM conversation
         WHERE user = ?1 AND number <> ?2 ORDER BY updated_at, number LIMIT 1)",
    )?;
    Ok(statement.execute(params![user, kept])? > 0)
}

/// Returns the two users who make room first. Those with self-made tokens come before all others,
/// because anybody can be any number of them; then those who have the most. One of the two may have
/// only the conversation that is kept.
fn largest_users(transaction: &Transaction<'_>) -> Result<Vec<String>, Error> {
    let mut statement = transaction
        .prepare_cached("SELECT user FROM usage ORDER BY self_made DESC, bytes DESC LIMIT 2")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

fn total_bytes(transaction: &Transaction<'_>) -> Result<i64, Error> {
    let mut statement = transaction.prepare_cached("SELECT bytes FROM total")?;
    statement.query_row([], |row| row.get(0))
}

/// Returns the bytes and the number of conversations of a user.
pub(super) fn usage(transaction: &Transaction<'_>, user: &str) -> Result<(i64, i64), Error> {
    let mut statement =
        transaction.prepare_cached("SELECT bytes, conversations FROM usage WHERE user = ?1")?;
    let row = statement.query_row(params![user], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(row.optional()?.unwrap_or_default())
}
