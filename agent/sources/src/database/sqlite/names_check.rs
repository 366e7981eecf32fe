//! Finds out whether a statement names only tables that are listed.
//!
//! The authorizer cannot: SQLite passes it the same data for a table that a view reads and for one
//! that a CTE with the name of this view reads. Therefore the statement is first prepared for a
//! database that has only the listed tables and views, as empty tables.

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

use super::super::error::DatabaseError;
use super::authorizer::Authorizer;
use super::connection::configure;
use super::schema::{Schema, column_names};

/// Fails if a statement names a table that is not listed, and for anything else for which it cannot be
/// prepared.
pub(super) fn check(
    sql: &str,
    connection: &Connection,
    schema: &Schema,
    authorizer: &Authorizer,
) -> Result<(), DatabaseError> {
    let mut empty = empty_copy(connection, schema)?;
    configure(&empty)?;
    authorizer.without_views().install(&mut empty)?;
    Batch::new(&empty, sql).next()?;
    Ok(())
}

fn empty_copy(connection: &Connection, schema: &Schema) -> rusqlite::Result<Connection> {
    let empty = Connection::open_in_memory()?;
    for name in schema.readable_names() {
        // A view may read a table that no longer exists: then it cannot be read.
        let Ok(columns) = column_names(connection, name) else {
            continue;
        };
        let columns: Vec<_> = columns.iter().map(|name| quoted(name)).collect();
        let create = format!("CREATE TABLE {} ({})", quoted(name), columns.join(", "));
        empty.execute_batch(&create)?;
    }
    Ok(empty)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
