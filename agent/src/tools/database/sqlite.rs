//! Reads a file of SQLite. Nothing of a statement is trusted, and several things confine it:
//!
//! 1. [`connection`] opens the file to read only, and bounds the time, the memory and all sizes.
//! 2. [`names_check`] prepares the statement where there are only the listed tables.
//! 3. [`authorizer`] decides about each table and function that SQLite is about to use.
//! 4. [`statement`] runs it if it is one SELECT, and bounds the answer.
//!
//! [`cancellation`] stops a call that nobody waits for, [`functions`] replaces those that could not be
//! stopped, [`schema`] has the tables, and [`error`] what the errors of SQLite mean.

mod authorizer;
mod cancellation;
mod connection;
mod error;
mod functions;
mod names_check;
mod schema;
mod statement;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tokio::task::spawn_blocking;

use super::allowed_tables::AllowedTables;
use super::answer::{json_text, table_list};
use super::error::DatabaseError;
use super::request::{Query, Request};
use super::slot::Slot;
use authorizer::Authorizer;
use cancellation::{CancelOnDrop, Cancellation};
use schema::Schema;

/// A file of SQLite, which is opened anew for each call.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    path: PathBuf,
    allowed: Arc<AllowedTables>,
}

impl Sqlite {
    /// Checks that there is a file.
    pub(super) fn open(path: &Path, allowed: Arc<AllowedTables>) -> Result<Self, String> {
        // SQLite reads `:memory:` and `file:…` as something else than a path, but no absolute path.
        match std::path::absolute(path) {
            Ok(path) if path.is_file() => Ok(Self { path, allowed }),
            _ => Err("`url` names no file that exists: correct it, or create the database".into()),
        }
    }

    pub(super) async fn answer(
        &self,
        request: Request,
        slot: Slot,
    ) -> Result<String, DatabaseError> {
        let allowed = Arc::clone(&self.allowed);
        let work = move |connection: Connection, schema: Schema| match request {
            Request::ListTables => table_list(schema.readable_tables()),
            Request::DescribeTable(table) => {
                json_text(&schema.describe(&connection, &table, &allowed)?)
            }
            Request::Query(query) => answer_query(connection, schema, &query, &allowed),
        };
        self.with_connection(slot, work).await
    }

    /// Opens the file, and returns warnings for the operator.
    pub(super) async fn warnings(&self, slot: Slot) -> Result<Vec<String>, DatabaseError> {
        let allowed = Arc::clone(&self.allowed);
        let work = move |_: Connection, schema: Schema| {
            let names = allowed.names().iter();
            let missing = names.filter(|name| !schema.is_listed(name));
            let warning = |name| format!("`{name}` in `tables` is no table of the database");
            Ok(missing.map(warning).collect())
        };
        self.with_connection(slot, work).await
    }

    /// Works with a connection on a thread that may block. Dropping the future stops the work.
    async fn with_connection<T: Send + 'static>(
        &self,
        slot: Slot,
        work: impl FnOnce(Connection, Schema) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let cancellation = Arc::new(Cancellation::new(slot.deadline));
        let _guard = CancelOnDrop(Arc::clone(&cancellation));
        let Self { path, allowed } = self.clone();
        let working = spawn_blocking(move || {
            // It is free for another call when this one has really ended.
            let _slot = slot;
            let connection = connection::open(&path, &cancellation)?;
            let schema = Schema::load(&connection, &allowed)?;
            work(connection, schema)
        });
        working.await.unwrap_or(Err(DatabaseError::Fault))
    }
}

fn answer_query(
    mut connection: Connection,
    schema: Schema,
    query: &Query,
    allowed: &AllowedTables,
) -> Result<String, DatabaseError> {
    let schema = Arc::new(schema);
    let authorizer = Authorizer::new(Arc::clone(&schema));
    let mut answer = || {
        // All tables are listed then, and nothing is hidden behind a name.
        if *allowed != AllowedTables::All {
            names_check::check(&query.sql, &connection, &schema, &authorizer)?;
        }
        functions::replace_quadratic(&connection)?;
        authorizer.install(&mut connection)?;
        statement::run(&connection, query)
    };
    answer().map_err(|error| error::explain(error, &authorizer, allowed))
}
