//! The conversations in SQLite. Without a file the database is in memory, with the same rules.

mod limits;
mod open;
mod schema;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::encoded_query::{EncodedQuery, without_kept};
use super::key::{ConversationKey, ConversationOwner};
use super::summary::{ConversationSummary, format_time};
use crate::config::ConversationSettings;
use limits::{MAX_DROPPED_CONVERSATIONS, drop_conversations};
pub(super) use open::BUSY_TIMEOUT;
pub(crate) use open::OpenError;
pub(super) use schema::Error;
use schema::to_sql;

/// The database of conversations.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    settings: ConversationSettings,
    /// Whether the file of the write-ahead log (`-wal`) may still have deleted content.
    has_deleted_content: bool,
}

/// A conversation in the form in which it is stored.
struct StoredConversation {
    number: i64,
    created_at: u64,
    updated_at: u64,
    title: String,
    bytes: u64,
    queries: u64,
    id: String,
}

impl Database {
    pub(super) fn open(settings: ConversationSettings, now: u64) -> Result<Self, OpenError> {
        let path = settings.conversations_file.as_deref();
        let connection = open::open(path)?;
        delete_expired(&connection, settings.oldest_ms(now), usize::MAX)
            .map_err(|error| OpenError::from_database(path.unwrap_or(Path::new("")), error))?;
        let mut database = Self {
            connection,
            settings,
            // An agent that was killed may have deleted something.
            has_deleted_content: true,
        };
        database.erase_deleted_content();
        Ok(database)
    }

    /// Returns the JSON of the queries of a conversation in their order.
    pub(super) fn queries(
        &mut self,
        key: &ConversationKey,
        now: u64,
    ) -> Result<Vec<String>, Error> {
        let conversation = self.get(key, now)?;
        Ok(conversation.map_or_else(Vec::new, |(_, queries)| queries))
    }

    /// Returns a conversation and the JSON of its queries, if it exists.
    pub(super) fn get(
        &mut self,
        key: &ConversationKey,
        now: u64,
    ) -> Result<Option<(ConversationSummary, Vec<String>)>, Error> {
        let transaction = self.connection.transaction()?;
        let Some(stored) = find(&transaction, key, self.settings.oldest_ms(now))? else {
            return Ok(None);
        };
        let queries = read_queries(&transaction, stored.number)?;
        Ok(Some((stored.into_summary(), queries)))
    }

    pub(super) fn list(
        &mut self,
        owner: &ConversationOwner,
        now: u64,
    ) -> Result<Vec<ConversationSummary>, Error> {
        let oldest = self.settings.oldest_ms(now);
        let deleted = delete_expired(&self.connection, oldest, MAX_DROPPED_CONVERSATIONS)?;
        self.erase_after(deleted);
        let mut statement = self.connection.prepare_cached(
            "SELECT * FROM conversation WHERE user = ?1 AND app = ?2 AND updated_at >= ?3
             ORDER BY updated_at DESC, number DESC",
        )?;
        let parameters = params![owner.user, owner.app, to_sql(oldest)];
        let rows = statement.query_map(parameters, StoredConversation::from_row)?;
        rows.map(|row| Ok(row?.into_summary())).collect()
    }

    /// Drops the queries after this many prompts of a conversation, and the conversation itself if it
    /// then has none. Returns how many queries it still has. Of what was dropped because of a limit,
    /// each query counts as one prompt.
    pub(super) fn keep_prompts(
        &mut self,
        key: &ConversationKey,
        prompts: usize,
        now: u64,
    ) -> Result<usize, Error> {
        let transaction = self.connection.transaction()?;
        let Some(stored) = find(&transaction, key, self.settings.oldest_ms(now))? else {
            return Ok(0);
        };
        let queries = read_prompts(&transaction, stored.number)?;
        let mut before = queries.first().map_or(0, |(number, _)| number - 1);
        let is_kept = |(_, prompts_of_query): &&(i64, i64)| {
            before += prompts_of_query;
            before <= to_sql(prompts as u64)
        };
        let kept = queries.iter().take_while(is_kept).count();
        let mut deleted = 0;
        if let Some((number, _)) = queries.get(kept) {
            deleted = transaction.execute(
                "DELETE FROM query WHERE conversation = ?1 AND number >= ?2",
                params![stored.number, number],
            )?;
            deleted += match kept {
                0 => delete_conversation(&transaction, key)?,
                _ => drop_old_queries(&transaction, stored.number, &self.settings)?,
            };
        }
        transaction.commit()?;
        self.erase_after(deleted);
        Ok(kept)
    }

    pub(super) fn delete(&mut self, key: &ConversationKey) -> Result<(), Error> {
        let deleted = delete_conversation(&self.connection, key)?;
        self.erase_after(deleted);
        Ok(())
    }

    /// Appends a query, and removes what is then over a limit: old queries of the conversation, then
    /// the oldest other conversations of the user, then those of the users who have the most. One query
    /// removes at most [`MAX_DROPPED_CONVERSATIONS`]; the next ones remove the others.
    pub(super) fn append(
        &mut self,
        key: &ConversationKey,
        query: &EncodedQuery,
        now: u64,
    ) -> Result<(), Error> {
        let settings = &self.settings;
        let transaction = self.connection.transaction()?;
        let oldest = settings.oldest_ms(now);
        let mut deleted = delete_expired(&transaction, oldest, MAX_DROPPED_CONVERSATIONS)?;
        let max_dropped = MAX_DROPPED_CONVERSATIONS.saturating_sub(deleted);
        if find(&transaction, key, oldest)?.is_none() {
            // It may have expired and not be deleted yet.
            deleted += delete_conversation(&transaction, key)?;
        }
        let number = begin_conversation(&transaction, key, query, now)?;
        transaction.execute(
            "INSERT INTO query VALUES (?1,
                 (SELECT ifnull(max(number), 0) + 1 FROM query WHERE conversation = ?1), ?2, ?3, ?4)",
            params![
                number,
                to_sql(query.prompts as u64),
                to_sql(query.json.len() as u64),
                query.json
            ],
        )?;
        deleted += drop_old_queries(&transaction, number, settings)?;
        let user = &key.owner.user;
        deleted += drop_conversations(&transaction, user, number, max_dropped, settings)?;
        transaction.commit()?;
        self.erase_after(deleted);
        Ok(())
    }

    /// Sets how long a statement waits while another program has locked the file.
    pub(super) fn set_busy_timeout(&self, timeout: Duration) -> Result<(), Error> {
        self.connection.busy_timeout(timeout)
    }

    /// Erases what was deleted, if it was anything.
    fn erase_after(&mut self, deleted: usize) {
        self.has_deleted_content |= deleted > 0;
        if self.has_deleted_content {
            self.erase_deleted_content();
        }
    }

    /// Empties the write-ahead log, which has content from before its deletion: in the database itself,
    /// `secure_delete` overwrites it. It is done later if it cannot be done now.
    fn erase_deleted_content(&mut self) {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let is_busy = self.connection.query_row(checkpoint, [], |row| row.get(0));
        let error = match is_busy {
            Ok(false) => {
                self.has_deleted_content = false;
                return;
            }
            Ok(true) => "another program reads the file".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(%error, "deleted conversations are still in the `-wal` of `conversations_file`");
    }
}

/// Deletes so many of the conversations that have expired, and returns their number.
fn delete_expired(connection: &Connection, oldest: u64, max: usize) -> Result<usize, Error> {
    connection.execute(
        "DELETE FROM conversation WHERE number IN
             (SELECT number FROM conversation WHERE updated_at < ?1 ORDER BY updated_at LIMIT ?2)",
        params![to_sql(oldest), to_sql(max as u64)],
    )
}

fn delete_conversation(connection: &Connection, key: &ConversationKey) -> Result<usize, Error> {
    let ConversationKey { owner, id } = key;
    connection.execute(
        "DELETE FROM conversation WHERE user = ?1 AND app = ?2 AND id = ?3",
        params![owner.user, owner.app, id],
    )
}

fn find(
    transaction: &Transaction<'_>,
    key: &ConversationKey,
    oldest: u64,
) -> Result<Option<StoredConversation>, Error> {
    let ConversationKey { owner, id } = key;
    let mut statement = transaction.prepare_cached(
        "SELECT * FROM conversation WHERE user = ?1 AND app = ?2 AND id = ?3 AND updated_at >= ?4",
    )?;
    let parameters = params![owner.user, owner.app, id, to_sql(oldest)];
    statement
        .query_row(parameters, StoredConversation::from_row)
        .optional()
}

fn read_queries(transaction: &Transaction<'_>, number: i64) -> Result<Vec<String>, Error> {
    let mut statement = transaction
        .prepare_cached("SELECT json FROM query WHERE conversation = ?1 ORDER BY number")?;
    let rows = statement.query_map(params![number], |row| read_text(row, "json"))?;
    rows.collect()
}

/// Reads a text. What another program has written may be of another type, which is read as no text, or
/// not in UTF-8.
fn read_text(row: &Row<'_>, column: &str) -> Result<String, Error> {
    let bytes = row.get_ref(column)?.as_bytes().unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the numbers of the queries of a conversation, with how many prompts each has.
fn read_prompts(transaction: &Transaction<'_>, number: i64) -> Result<Vec<(i64, i64)>, Error> {
    let mut statement = transaction.prepare_cached(
        "SELECT number, prompts FROM query WHERE conversation = ?1 ORDER BY number",
    )?;
    let rows = statement.query_map(params![number], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Returns the number of the conversation, which begins with this query if there is none.
fn begin_conversation(
    transaction: &Transaction<'_>,
    key: &ConversationKey,
    query: &EncodedQuery,
    now: u64,
) -> Result<i64, Error> {
    let ConversationKey { owner, id } = key;
    transaction.query_row(
        "INSERT INTO conversation
             (user, self_made, app, id, title, created_at, updated_at, bytes, queries)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 0, 0)
         ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, self_made = excluded.self_made
         RETURNING number",
        params![
            owner.user,
            owner.is_self_made,
            owner.app,
            id,
            query.title,
            to_sql(now)
        ],
        |row| row.get(0),
    )
}

/// Drops the oldest queries of a conversation that is over its limits, except the newest query, and
/// sums up the others. If it is too long, thoughts are dropped before: those of the newest query last.
/// Returns how many queries it has dropped or changed.
fn drop_old_queries(
    transaction: &Transaction<'_>,
    number: i64,
    settings: &ConversationSettings,
) -> Result<usize, Error> {
    let mut dropped = 0;
    let mut spared = [1, 0].into_iter();
    loop {
        let (queries, bytes, first): (i64, i64, i64) = transaction.query_row(
            "SELECT count(*), sum(bytes), min(number) FROM query WHERE conversation = ?1",
            params![number],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let is_too_long = bytes > to_sql(settings.max_conversation_bytes as u64);
        let are_too_many = queries > to_sql(settings.max_conversation_queries as u64);
        if is_too_long
            && !are_too_many
            && let Some(spared) = spared.next()
        {
            dropped += drop_kept(transaction, number, spared)?;
            continue;
        }
        if queries <= 1 || !(is_too_long || are_too_many) {
            transaction.execute(
                "UPDATE conversation SET bytes = ?2, queries = ?3 WHERE number = ?1",
                params![number, bytes, queries],
            )?;
            return Ok(dropped);
        }
        dropped += transaction.execute(
            "DELETE FROM query WHERE conversation = ?1 AND number = ?2",
            params![number, first],
        )?;
    }
}

/// Drops the thoughts in the queries of a conversation, except this many of the newest: all at once, so
/// that later requests begin alike. Returns how many queries had any.
fn drop_kept(
    transaction: &Transaction<'_>,
    conversation: i64,
    spared: i64,
) -> Result<usize, Error> {
    let mut statement = transaction.prepare_cached(
        "SELECT number, json FROM query WHERE conversation = ?1
         AND number <= (SELECT max(number) FROM query WHERE conversation = ?1) - ?2",
    )?;
    let rows = statement.query_map(params![conversation, spared], |row| {
        Ok((row.get::<_, i64>(0)?, read_text(row, "json")?))
    })?;
    let mut changed = 0;
    for row in rows.collect::<Result<Vec<_>, _>>()? {
        let (number, json) = row;
        if let Some(json) = without_kept(&json) {
            changed += transaction.execute(
                "UPDATE query SET json = ?3, bytes = ?4 WHERE conversation = ?1 AND number = ?2",
                params![conversation, number, json, to_sql(json.len() as u64)],
            )?;
        }
    }
    Ok(changed)
}

impl StoredConversation {
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        Ok(Self {
            number: row.get("number")?,
            id: row.get("id")?,
            title: read_text(row, "title")?,
            created_at: row.get("created_at")?,
            updated_at: row.get("updated_at")?,
            bytes: row.get("bytes")?,
            queries: row.get("queries")?,
        })
    }

    fn into_summary(self) -> ConversationSummary {
        ConversationSummary {
            id: self.id,
            title: self.title,
            queries: self.queries,
            bytes: self.bytes,
            created_at: format_time(self.created_at),
            updated_at: format_time(self.updated_at),
        }
    }
}

#[cfg(test)]
mod tests;
