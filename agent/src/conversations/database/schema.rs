//! The tables of the database, and what is in a file.

use std::collections::BTreeSet;

use rusqlite::Connection;

/// Marks a file as one of conversations, in `PRAGMA application_id`: `MWcv` in ASCII.
const APPLICATION_ID: i32 = 0x4d57_6376;

/// The version of the tables, in `PRAGMA user_version`.
const VERSION: i32 = 3;

const TABLES: &str = "
    CREATE TABLE conversation (
        number INTEGER PRIMARY KEY,
        user TEXT NOT NULL,
        self_made INTEGER NOT NULL,
        app TEXT NOT NULL,
        id TEXT NOT NULL,
        title TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        queries INTEGER NOT NULL,
        UNIQUE (user, app, id)
    ) STRICT;
    CREATE INDEX conversation_age ON conversation (updated_at);
    CREATE INDEX conversation_user_age ON conversation (user, updated_at);
    CREATE TABLE query (
        conversation INTEGER NOT NULL REFERENCES conversation (number) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        prompts INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        json TEXT NOT NULL,
        PRIMARY KEY (conversation, number)
    ) WITHOUT ROWID, STRICT;
    -- What is stored for each user, and in all, so that a limit needs no scan.
    CREATE TABLE usage (
        user TEXT PRIMARY KEY,
        self_made INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        conversations INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX usage_size ON usage (self_made, bytes);
    CREATE TABLE total (bytes INTEGER NOT NULL) STRICT;
    INSERT INTO total VALUES (0);
    CREATE TRIGGER conversation_inserted AFTER INSERT ON conversation BEGIN
        INSERT INTO usage VALUES (new.user, new.self_made, new.bytes, 1)
            ON CONFLICT DO UPDATE SET self_made = new.self_made, bytes = bytes + new.bytes,
                conversations = conversations + 1;
        UPDATE total SET bytes = bytes + new.bytes;
    END;
    CREATE TRIGGER conversation_updated AFTER UPDATE OF bytes ON conversation BEGIN
        UPDATE usage SET bytes = bytes + new.bytes - old.bytes WHERE user = new.user;
        UPDATE total SET bytes = bytes + new.bytes - old.bytes;
    END;
    -- The token of a user can become another kind of token.
    CREATE TRIGGER conversation_continued AFTER UPDATE OF self_made ON conversation BEGIN
        UPDATE usage SET self_made = new.self_made
            WHERE user = new.user AND self_made <> new.self_made;
    END;
    CREATE TRIGGER conversation_deleted AFTER DELETE ON conversation BEGIN
        UPDATE usage SET bytes = bytes - old.bytes, conversations = conversations - 1
            WHERE user = old.user;
        DELETE FROM usage WHERE user = old.user AND conversations <= 0;
        UPDATE total SET bytes = bytes - old.bytes;
    END;
";

/// An error of the database.
pub(in crate::conversations) type Error = rusqlite::Error;

/// Converts a number to the signed integers of SQLite.
pub(super) fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The content of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Nothing,
    /// Conversations, with all tables of this version.
    Conversations,
    /// Conversations of another version of the agent.
    OtherVersion,
    /// Conversations of this version, without some of the tables.
    Damaged,
    /// Content that another program has written.
    Foreign,
}

impl Content {
    /// Returns what is in a database, which it does not change.
    pub(super) fn of(connection: &Connection) -> Result<Self, Error> {
        let number =
            |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
        let mark = (number("application_id")?, number("user_version")?);
        let entries = entries(connection)?;
        Ok(match mark {
            (0, 0) if entries.is_empty() => Self::Nothing,
            (APPLICATION_ID, VERSION) if expected_entries()?.is_subset(&entries) => {
                Self::Conversations
            }
            (APPLICATION_ID, VERSION) => Self::Damaged,
            (APPLICATION_ID, _) => Self::OtherVersion,
            _ => Self::Foreign,
        })
    }
}

/// Creates the tables in a database that has none.
pub(super) fn create_tables(connection: &Connection) -> Result<(), Error> {
    connection.execute_batch(&format!(
        "{TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
    ))
}

/// Returns the statements with which the tables, indexes and triggers of a database were created.
fn entries(connection: &Connection) -> Result<BTreeSet<String>, Error> {
    let mut statement =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

fn expected_entries() -> Result<BTreeSet<String>, Error> {
    let connection = Connection::open_in_memory()?;
    create_tables(&connection)?;
    entries(&connection)
}
