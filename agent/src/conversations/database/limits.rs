//! The limits of the conversations of a user and of all users: which conversations make room.

use rusqlite::{OptionalExtension, Transaction, params};

use super::schema::{Error, to_sql};
use crate::config::ConversationSettings;

/// The most conversations that one query drops, so that it and the others do not wait long after a
/// limit was lowered.
pub(super) const MAX_DROPPED_CONVERSATIONS: usize = 100;

/// The two users who make room first, by the index `usage_size`.
pub(super) const LARGEST_USERS: &str =
    "SELECT user FROM usage ORDER BY self_made DESC, bytes DESC LIMIT 2";

/// Drops conversations while a limit is exceeded, except the one that `user` has just continued: the
/// oldest of this user for the limits of a user, and the oldest of those who have the most for the limit
/// of all users. Returns how many it has dropped, at most `max_dropped`.
pub(super) fn drop_conversations(
    transaction: &Transaction<'_>,
    user: &str,
    kept: i64,
    max_dropped: usize,
    settings: &ConversationSettings,
) -> Result<usize, Error> {
    let mut dropped = 0;
    while dropped < max_dropped
        && is_user_over(transaction, user, settings)?
        && drop_oldest(transaction, user, kept)?
    {
        dropped += 1;
    }
    let max_bytes = to_sql(settings.max_all_conversation_bytes as u64);
    while dropped < max_dropped
        && total_bytes(transaction)? > max_bytes
        && drop_oldest_of_all(transaction, kept)?
    {
        dropped += 1;
    }
    Ok(dropped)
}

fn is_user_over(
    transaction: &Transaction<'_>,
    user: &str,
    settings: &ConversationSettings,
) -> Result<bool, Error> {
    let (bytes, conversations) = usage(transaction, user)?;
    Ok(
        bytes > to_sql(settings.max_conversation_bytes_per_user as u64)
            || conversations > to_sql(settings.max_conversations_per_user as u64),
    )
}

/// Drops the oldest conversation of the user who makes room first. Returns whether there was one.
fn drop_oldest_of_all(transaction: &Transaction<'_>, kept: i64) -> Result<bool, Error> {
    for user in largest_users(transaction)? {
        if drop_oldest(transaction, &user, kept)? {
            return Ok(true);
        }
    }
    Ok(false)
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
    let mut statement = transaction.prepare_cached(LARGEST_USERS)?;
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
