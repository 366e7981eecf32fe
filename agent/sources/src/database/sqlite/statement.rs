//! Runs one SELECT.

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Batch, Connection, Row, Statement, ToSql};

use super::super::answer::{Cell, QueryAnswer};
use super::super::error::DatabaseError;
use super::super::request::{Parameter, Query};

/// Runs a statement for whose tables and functions the connection asks the authorizer.
pub(super) fn run(connection: &Connection, query: &Query) -> Result<String, DatabaseError> {
    let mut statement = prepare(connection, &query.sql)?;
    bind(&mut statement, &query.params)?;
    let columns: Vec<_> = statement.column_names().collect();
    let mut answer = QueryAnswer::new(&columns, query.limit)?;
    let column_count = columns.len();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !answer.add(&cells(row, column_count)?)? {
            return Ok(answer.finish(true));
        }
    }
    Ok(answer.finish(false))
}

/// Prepares what must be one SELECT.
///
/// `Connection::prepare` would call itself for each statement that follows, until the stack is full.
fn prepare<'a>(connection: &'a Connection, sql: &str) -> Result<Statement<'a>, DatabaseError> {
    let mut statements = Batch::new(connection, sql);
    let Some(statement) = statements.next()? else {
        return Err(DatabaseError::Sql("it is empty".to_owned()));
    };
    // VACUUM INTO writes a file, and the authorizer is not asked when it is prepared.
    let is_select =
        statement.readonly() && statement.is_explain() == 0 && statement.column_count() > 0;
    if !is_select {
        return Err(DatabaseError::NotSelect);
    }
    match statements.next() {
        Ok(None) => Ok(statement),
        Ok(Some(_)) | Err(_) => Err(DatabaseError::SeveralStatements),
    }
}

fn bind(statement: &mut Statement<'_>, params: &[Parameter]) -> Result<(), DatabaseError> {
    let expected = statement.parameter_count();
    if expected != params.len() {
        return Err(DatabaseError::ParameterCount {
            expected,
            given: params.len(),
        });
    }
    for (index, param) in params.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, param)?;
    }
    Ok(())
}

impl ToSql for Parameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Bool(value) => ValueRef::Integer((*value).into()),
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Real(real) => ValueRef::Real(*real),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn cells(row: &Row<'_>, count: usize) -> rusqlite::Result<Vec<Cell>> {
    (0..count)
        .map(|index| Ok(cell(row.get_ref(index)?)))
        .collect()
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(integer) => Cell::Integer(integer),
        ValueRef::Real(real) => Cell::real(real),
        ValueRef::Text(text) => Cell::text(&String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Cell::bytes(bytes.len()),
    }
}
