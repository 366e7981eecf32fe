//! A file of SQLite with the tables that may be read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::super::allowed_tables::AllowedTables;
use super::super::answer::{json_text, table_list};
use super::super::error::DatabaseError;
use super::super::request::{Query, Request};
use super::authorizer::Authorizer;
use super::cancellation::Cancellation;
use super::schema::Schema;
use super::{connection, error, functions, names_check, statement};

/// A file of SQLite with the tables that may be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DatabaseFile {
    /// The absolute path, which need not be UTF-8.
    path: OsString,
    allowed: Arc<AllowedTables>,
}

/// A request to a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FileRequest {
    Call(Request),
    /// Warnings for the operator: a list of texts as JSON.
    Warnings,
}

impl DatabaseFile {
    pub(super) fn new(path: PathBuf, allowed: Arc<AllowedTables>) -> Self {
        Self {
            path: path.into(),
            allowed,
        }
    }

    /// Opens the file and answers a request, until it is cancelled.
    pub(super) fn read(
        &self,
        request: FileRequest,
        cancellation: &Arc<Cancellation>,
    ) -> Result<String, DatabaseError> {
        let allowed = &self.allowed;
        let connection = connection::open(Path::new(&self.path), cancellation)?;
        let schema = Schema::load(&connection, allowed)?;
        match request {
            FileRequest::Call(Request::ListTables) => table_list(schema.readable_tables()),
            FileRequest::Call(Request::DescribeTable(table)) => {
                json_text(&schema.describe(&connection, &table, allowed)?)
            }
            FileRequest::Call(Request::Query(query)) => {
                answer_query(connection, schema, &query, allowed)
            }
            FileRequest::Warnings => {
                let names = allowed.names().iter();
                let missing = names.filter(|name| !schema.is_listed(name));
                let warning = |name| format!("`{name}` in `tables` is not a table of the database");
                json_text(&missing.map(warning).collect::<Vec<_>>())
            }
        }
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
