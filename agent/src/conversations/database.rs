//! The conversations in SQLite. Without a file the database is in memory, with the same rules.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::key::{ConversationKey, ConversationOwner};
use super::summary::{ConversationMessages, ConversationSummary, format_time};
use super::turn::Turn;
use crate::config::ConversationSettings;

/// The version of the tables, in `PRAGMA user_version`.
const VERSION: i64 = 1;

/// The longest title of a conversation, in characters.
const MAX_TITLE_CHARS: usize = 80;

const TABLES: &str = "
    CREATE TABLE conversation (
        number INTEGER PRIMARY KEY,
        user TEXT NOT NULL,
        app TEXT NOT NULL,
        id TEXT NOT NULL,
        title TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        UNIQUE (user, app, id)
    );
    CREATE INDEX conversation_age ON conversation (updated_at);
    CREATE INDEX conversation_user_age ON conversation (user, updated_at);
    CREATE TABLE turn (
        conversation INTEGER NOT NULL REFERENCES conversation (number) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (conversation, number)
    ) WITHOUT ROWID;
    -- What is stored for each user, and in all, so that a limit needs no scan.
    CREATE TABLE usage (user TEXT PRIMARY KEY, bytes INTEGER NOT NULL, conversations INTEGER NOT NULL);
    CREATE TRIGGER usage_inserted AFTER INSERT ON conversation BEGIN
        INSERT INTO usage VALUES (new.user, new.bytes, 1)
            ON CONFLICT DO UPDATE SET bytes = bytes + new.bytes, conversations = conversations + 1;
        INSERT INTO usage VALUES ('', new.bytes, 1)
            ON CONFLICT DO UPDATE SET bytes = bytes + new.bytes, conversations = conversations + 1;
    END;
    CREATE TRIGGER usage_updated AFTER UPDATE OF bytes ON conversation BEGIN
        UPDATE usage SET bytes = bytes + new.bytes - old.bytes WHERE user IN (new.user, '');
    END;
    CREATE TRIGGER usage_deleted AFTER DELETE ON conversation BEGIN
        UPDATE usage SET bytes = bytes - old.bytes, conversations = conversations - 1
            WHERE user IN (old.user, '');
        DELETE FROM usage WHERE user = old.user AND conversations <= 0;
    END;
";

/// An error of the database.
pub(super) type Error = rusqlite::Error;

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
    #[error("`conversations_file` {} is of a newer version of the agent", .0.display())]
    Version(PathBuf),
}

/// The database of conversations.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    settings: ConversationSettings,
}

/// A conversation as it is stored.
struct StoredConversation {
    number: i64,
    created_at: u64,
    updated_at: u64,
    title: String,
    bytes: u64,
    turns: u64,
    id: String,
}

impl Database {
    pub(super) fn open(settings: ConversationSettings) -> Result<Self, OpenError> {
        let path = settings.conversations_file.clone();
        let shown_path = path.clone().unwrap_or_default();
        let database_error = |error| OpenError::Database {
            path: shown_path.clone(),
            error,
        };
        let connection = match &path {
            None => Connection::open_in_memory(),
            Some(path) => {
                create_private_file(path).map_err(|error| OpenError::File {
                    path: path.clone(),
                    error,
                })?;
                Connection::open(path)
            }
        };
        let connection = connection.map_err(database_error)?;
        let version = prepare(&connection).map_err(database_error)?;
        if version != VERSION {
            return Err(OpenError::Version(shown_path));
        }
        Ok(Self {
            connection,
            settings,
        })
    }

    /// Returns the turns of a conversation in their order.
    pub(super) fn turns(&mut self, key: &ConversationKey, now: u64) -> Result<Vec<Turn>, Error> {
        let transaction = self.connection.transaction()?;
        match find(&transaction, key, self.settings.oldest_ms(now))? {
            Some(stored) => read_turns(&transaction, stored.number),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn get(
        &mut self,
        key: &ConversationKey,
        now: u64,
    ) -> Result<Option<ConversationMessages>, Error> {
        let transaction = self.connection.transaction()?;
        let Some(stored) = find(&transaction, key, self.settings.oldest_ms(now))? else {
            return Ok(None);
        };
        let turns = read_turns(&transaction, stored.number)?;
        Ok(Some(ConversationMessages::new(
            stored.into_summary(),
            turns,
        )))
    }

    pub(super) fn list(
        &mut self,
        owner: &ConversationOwner,
        now: u64,
    ) -> Result<Vec<ConversationSummary>, Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT * FROM conversation WHERE user = ?1 AND updated_at >= ?3 AND app = ?2
             ORDER BY updated_at DESC, number DESC",
        )?;
        let oldest = self.settings.oldest_ms(now);
        let parameters = params![owner.user, owner.app, to_sql(oldest)];
        let rows = statement.query_map(parameters, StoredConversation::from_row)?;
        rows.map(|row| Ok(row?.into_summary())).collect()
    }

    pub(super) fn delete(&mut self, key: &ConversationKey) -> Result<(), Error> {
        let ConversationKey { owner, id } = key;
        self.connection.execute(
            "DELETE FROM conversation WHERE user = ?1 AND app = ?2 AND id = ?3",
            params![owner.user, owner.app, id],
        )?;
        Ok(())
    }

    /// Appends a turn, and removes what is then over a limit: old turns of the conversation, then the
    /// oldest other conversations of the user, then the oldest of all.
    pub(super) fn append(
        &mut self,
        key: &ConversationKey,
        turn: &Turn,
        now: u64,
    ) -> Result<(), Error> {
        let settings = &self.settings;
        let Some(json) = encode(turn, settings.max_conversation_bytes) else {
            // Only its part that the model has read could be that long.
            return Ok(());
        };
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "DELETE FROM conversation WHERE updated_at < ?1",
            params![to_sql(settings.oldest_ms(now))],
        )?;
        let number = begin_conversation(&transaction, key, turn, now)?;
        let last: Option<i64> = transaction.query_row(
            "SELECT max(number) FROM turn WHERE conversation = ?1",
            params![number],
            |row| row.get(0),
        )?;
        transaction.execute(
            "INSERT INTO turn VALUES (?1, ?2, ?3, ?4)",
            params![
                number,
                last.map_or(1, |last| last + 1),
                to_sql(json.len() as u64),
                json
            ],
        )?;
        drop_old_turns(&transaction, number, settings)?;
        drop_old_conversations(&transaction, &key.owner.user, number, settings)?;
        transaction.commit()
    }
}

/// Creates the file, readable for its user only, if it does not exist.
fn create_private_file(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Sets up the connection, creates the tables if there are none, and returns their version.
fn prepare(connection: &Connection) -> Result<i64, Error> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
         PRAGMA busy_timeout = 5000;",
    )?;
    let version = |connection: &Connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
    };
    if version(connection)? == 0 {
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"
        ))?;
    }
    version(connection)
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

fn read_turns(transaction: &Transaction<'_>, number: i64) -> Result<Vec<Turn>, Error> {
    let mut statement = transaction
        .prepare_cached("SELECT json FROM turn WHERE conversation = ?1 ORDER BY number")?;
    let rows = statement.query_map(params![number], |row| row.get::<_, String>(0))?;
    let mut turns = Vec::new();
    for json in rows {
        // A turn that another version wrote in another form is left out.
        turns.extend(serde_json::from_str::<Turn>(&json?));
    }
    Ok(turns)
}

/// Encodes a turn, without its pictures if it would be over the limit with them. Returns `None` if it
/// is over the limit without them, too.
fn encode(turn: &Turn, max_bytes: usize) -> Option<String> {
    let json = serde_json::to_string(turn).ok()?;
    if json.len() <= max_bytes {
        return Some(json);
    }
    let mut turn = turn.clone();
    turn.drop_media();
    let json = serde_json::to_string(&turn).ok()?;
    (json.len() <= max_bytes).then_some(json)
}

/// Returns the number of the conversation, which begins with this turn if there is none.
fn begin_conversation(
    transaction: &Transaction<'_>,
    key: &ConversationKey,
    turn: &Turn,
    now: u64,
) -> Result<i64, Error> {
    let ConversationKey { owner, id } = key;
    transaction.query_row(
        "INSERT INTO conversation (user, app, id, title, created_at, updated_at, bytes, turns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0, 0)
         ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at RETURNING number",
        params![owner.user, owner.app, id, title(&turn.prompt), to_sql(now)],
        |row| row.get(0),
    )
}

fn title(prompt: &str) -> String {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Drops the oldest turns of a conversation that is over its limits, except the newest turn.
fn drop_old_turns(
    transaction: &Transaction<'_>,
    number: i64,
    settings: &ConversationSettings,
) -> Result<(), Error> {
    loop {
        let (turns, bytes, first): (i64, i64, i64) = transaction.query_row(
            "SELECT count(*), sum(bytes), min(number) FROM turn WHERE conversation = ?1",
            params![number],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let is_over = turns > to_sql(settings.max_conversation_turns as u64)
            || bytes > to_sql(settings.max_conversation_bytes as u64);
        if turns <= 1 || !is_over {
            transaction.execute(
                "UPDATE conversation SET bytes = ?2, turns = ?3 WHERE number = ?1",
                params![number, bytes, turns],
            )?;
            return Ok(());
        }
        transaction.execute(
            "DELETE FROM turn WHERE conversation = ?1 AND number = ?2",
            params![number, first],
        )?;
    }
}

/// Drops the oldest conversations of a user and of all users while their limits are exceeded, except
/// the one that was just continued.
fn drop_old_conversations(
    transaction: &Transaction<'_>,
    user: &str,
    kept: i64,
    settings: &ConversationSettings,
) -> Result<(), Error> {
    let max_conversations = to_sql(settings.max_conversations_per_user as u64);
    loop {
        let (bytes, conversations) = usage(transaction, user)?;
        let is_over = bytes > to_sql(settings.max_conversation_bytes_per_user as u64)
            || conversations > max_conversations;
        let sql = "DELETE FROM conversation WHERE number = (SELECT number FROM conversation
             WHERE user = ?1 AND number <> ?2 ORDER BY updated_at, number LIMIT 1)";
        if !is_over || transaction.execute(sql, params![user, kept])? == 0 {
            break;
        }
    }
    loop {
        let (bytes, _) = usage(transaction, "")?;
        let sql = "DELETE FROM conversation WHERE number = (SELECT number FROM conversation
             WHERE number <> ?1 ORDER BY updated_at, number LIMIT 1)";
        let is_over = bytes > to_sql(settings.max_all_conversation_bytes as u64);
        if !is_over || transaction.execute(sql, params![kept])? == 0 {
            break;
        }
    }
    Ok(())
}

/// Returns the bytes and the number of conversations of a user; of all users for an empty name.
fn usage(transaction: &Transaction<'_>, user: &str) -> Result<(i64, i64), Error> {
    let mut statement =
        transaction.prepare_cached("SELECT bytes, conversations FROM usage WHERE user = ?1")?;
    let row = statement.query_row(params![user], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(row.optional()?.unwrap_or_default())
}

impl StoredConversation {
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        Ok(Self {
            number: row.get("number")?,
            id: row.get("id")?,
            title: row.get("title")?,
            created_at: row.get("created_at")?,
            updated_at: row.get("updated_at")?,
            bytes: row.get("bytes")?,
            turns: row.get("turns")?,
        })
    }

    fn into_summary(self) -> ConversationSummary {
        ConversationSummary {
            id: self.id,
            title: self.title,
            turns: self.turns,
            bytes: self.bytes,
            created_at: format_time(self.created_at),
            updated_at: format_time(self.updated_at),
        }
    }
}

/// SQLite has signed integers.
fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
