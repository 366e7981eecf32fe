//! Runs one SELECT as a part of another one.

use serde_json::value::RawValue;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Column, Row, Statement, Transaction};

use super::super::allowed_tables::AllowedTables;
use super::super::answer::{Cell, QueryAnswer};
use super::super::error::DatabaseError;
use super::super::limits::{MAX_COLUMNS, MAX_VALUE_BYTES};
use super::super::request::Query;
use super::error::prepare_error;
use super::locked_tables::TableLocks;
use super::parameter::{TextParameter, is_number};

/// How many rows are fetched at once. A row has at most 256 values of 4097 characters, and usually a few
/// hundred bytes.
const ROWS_PER_FETCH: i32 = 16;

/// Runs a statement in a transaction that locks nothing else.
pub(super) async fn run(
    transaction: &mut Transaction<'_>,
    query: &Query,
    allowed: &AllowedTables,
) -> Result<String, DatabaseError> {
    let (inner, locks) = inspect(transaction, &query.sql, allowed).await?;
    let columns = inner.columns();
    let outer = outer_select(&query.sql, columns);
    // A statement that can be prepared alone but not here is not a SELECT.
    let prepared = transaction.prepare(&outer).await;
    let statement = prepared.map_err(|error| match prepare_error(error) {
        DatabaseError::Sql(_) | DatabaseError::SeveralStatements => DatabaseError::NotSelect,
        other => other,
    })?;
    // Before it is planned: planning can evaluate functions, and an error reveals what they return.
    locks.check(transaction).await?;
    let params = TextParameter::all(&query.params, statement.params())?;
    let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|it| it as _).collect();
    let portal = transaction.bind(&statement, &params).await?;
    let names: Vec<_> = columns.iter().map(Column::name).collect();
    let mut answer = QueryAnswer::new(&names, query.limit)?;
    let more = loop {
        let rows = transaction.query_portal(&portal, ROWS_PER_FETCH).await?;
        if rows.is_empty() {
            break false;
        }
        if !add_all(&mut answer, &rows, columns)? {
            break true;
        }
    };
    locks.check_after(transaction).await?;
    Ok(answer.finish(more))
}

/// Prepares a statement alone, and returns it with the tables that it may lock. What this itself locks,
/// such as the catalog of types, is not locked afterwards.
async fn inspect<'a>(
    transaction: &mut Transaction<'_>,
    sql: &str,
    allowed: &'a AllowedTables,
) -> Result<(Statement, TableLocks<'a>), DatabaseError> {
    let nested = transaction.transaction().await?;
    let statement = nested.prepare(sql).await.map_err(prepare_error)?;
    let locks = TableLocks::load(&nested, allowed).await?;
    nested.rollback().await?;
    match statement.columns().len() {
        0 => Err(DatabaseError::NotSelect),
        1..=MAX_COLUMNS => Ok((statement, locks)),
        _ => Err(DatabaseError::TooManyColumns),
    }
}

/// Returns a SELECT of all rows of a statement, each value as text that is cut by the server: a value
/// of 1 GiB would not fit into the memory of the agent.
fn outer_select(sql: &str, columns: &[Column]) -> String {
    let names: Vec<_> = (1..=columns.len())
        .map(|number| format!("c{number}"))
        .collect();
    let values = names.iter().zip(columns);
    let values: Vec<_> = values
        .map(|(name, column)| match *column.type_() {
            Type::BYTEA => format!("'[' || pg_catalog.octet_length(q.{name}) || ' bytes]'"),
            // One character more than an answer has, so that it is noticed.
            _ => format!(
                "pg_catalog.left(q.{name}::pg_catalog.text, {})",
                MAX_VALUE_BYTES + 1
            ),
        })
        .collect();
    // The end of the line ends a comment.
    format!(
        "SELECT {} FROM (\n{}\n) AS q ({})",
        values.join(", "),
        sql.trim_end_matches(|it: char| it == ';' || it.is_whitespace()),
        names.join(", ")
    )
}

/// Adds rows, and returns whether there was room for all.
fn add_all(
    answer: &mut QueryAnswer,
    rows: &[Row],
    columns: &[Column],
) -> Result<bool, DatabaseError> {
    for row in rows {
        let cells = columns.iter().enumerate();
        let cells: Result<Vec<_>, DatabaseError> = cells
            .map(|(index, column)| Ok(cell(row.try_get(index)?, column.type_())))
            .collect();
        if !answer.add(&cells?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the value of a column of some type.
fn cell(text: Option<&str>, of_type: &Type) -> Cell {
    let Some(text) = text else {
        return Cell::Null;
    };
    let is_json = is_number(of_type) || [Type::BOOL, Type::JSON, Type::JSONB].contains(of_type);
    if is_json && text.len() <= MAX_VALUE_BYTES {
        // Numbers such as NaN are not JSON.
        if let Ok(json) = RawValue::from_string(text.to_owned()) {
            return Cell::Json(json);
        }
    }
    Cell::text(text)
}
