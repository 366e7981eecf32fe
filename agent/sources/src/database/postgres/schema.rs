//! The tables and views of a database, and which of them may be read.

use tokio_postgres::types::Type;
use tokio_postgres::{Row, Transaction};

use super::super::allowed_tables::AllowedTables;
use super::super::answer::{ColumnDescription, ForeignKey, TableDescription, TableEntry};
use super::super::error::DatabaseError;
use super::few_names::few_names;

/// The schema of a table whose name has none.
const DEFAULT_SCHEMA: &str = "public";

/// The tables that the role may read, with their partitions as one.
const TABLES: &str = "
    SELECT t.oid, n.nspname::text, t.relname::text, t.relkind IN ('v', 'm') AS is_view,
        pg_catalog.has_table_privilege(t.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') AS can_write
    FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
    WHERE t.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT t.relispartition
      AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
      AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
      AND pg_catalog.has_any_column_privilege(t.oid, 'SELECT')
    ORDER BY 2, 3";

const COLUMNS: &str = "
    SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
        EXISTS (SELECT FROM pg_catalog.pg_index i
            WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey))
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum";

const FOREIGN_KEYS: &str = "
    SELECT a.attname::text, n.nspname::text, t.relname::text, r.attname::text
    FROM pg_catalog.pg_constraint k
      CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair (own, referenced)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = pair.own
      JOIN pg_catalog.pg_attribute r ON r.attrelid = k.confrelid AND r.attnum = pair.referenced
      JOIN pg_catalog.pg_class t ON t.oid = k.confrelid
      JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
    WHERE k.contype = 'f' AND k.conrelid = $1
    ORDER BY k.conname, pair.own";

/// A table or view that the role may read.
struct Table {
    oid: u32,
    schema: String,
    name: String,
    is_view: bool,
    can_write: bool,
}

/// Returns the schema and the name of each listed table.
pub(super) fn qualified_names(allowed: &AllowedTables) -> impl Iterator<Item = (&str, &str)> {
    allowed.names().iter().map(|name| qualified(name))
}

fn qualified(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or((DEFAULT_SCHEMA, name))
}

fn is_allowed(allowed: &AllowedTables, schema: &str, name: &str) -> bool {
    *allowed == AllowedTables::All || qualified_names(allowed).any(|it| it == (schema, name))
}

impl Table {
    fn from_row(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            oid: row.try_get(0)?,
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
            is_view: row.try_get(3)?,
            can_write: row.try_get(4)?,
        })
    }

    /// Returns the name that a statement and `tables` can use.
    fn shown_name(&self) -> String {
        shown_name(&self.schema, &self.name)
    }

    fn kind(&self) -> &'static str {
        if self.is_view { "view" } else { "table" }
    }
}

fn shown_name(schema: &str, name: &str) -> String {
    if schema == DEFAULT_SCHEMA {
        name.to_owned()
    } else {
        format!("{schema}.{name}")
    }
}

/// Returns the tables that are listed and that the role may read.
async fn tables(
    transaction: &Transaction<'_>,
    allowed: &AllowedTables,
) -> Result<Vec<Table>, DatabaseError> {
    let rows = transaction.query_typed(TABLES, &[]).await?;
    let tables = rows.iter().map(Table::from_row);
    let mut tables = tables.collect::<Result<Vec<_>, _>>()?;
    tables.retain(|table| is_allowed(allowed, &table.schema, &table.name));
    Ok(tables)
}

pub(super) async fn readable_tables(
    transaction: &Transaction<'_>,
    allowed: &AllowedTables,
) -> Result<Vec<TableEntry>, DatabaseError> {
    let tables = tables(transaction, allowed).await?;
    let entry = |table: &Table| TableEntry {
        name: table.shown_name(),
        kind: table.kind(),
    };
    Ok(tables.iter().map(entry).collect())
}

/// Describes a table or view that is listed.
pub(super) async fn describe(
    transaction: &Transaction<'_>,
    name: &str,
    allowed: &AllowedTables,
) -> Result<TableDescription, DatabaseError> {
    let tables = tables(transaction, allowed).await?;
    let mut tables = tables.into_iter();
    let named = |table: &Table| qualified(name) == (&table.schema, &table.name);
    let table = tables
        .find(named)
        .ok_or_else(|| DatabaseError::UnknownTable {
            table: name.to_owned(),
            available: allowed.sentence(),
        })?;
    Ok(TableDescription {
        table: table.shown_name(),
        kind: table.kind(),
        columns: columns(transaction, table.oid).await?,
        foreign_keys: foreign_keys(transaction, table.oid, allowed).await?,
    })
}

async fn columns(
    transaction: &Transaction<'_>,
    table: u32,
) -> Result<Vec<ColumnDescription>, DatabaseError> {
    let rows = transaction
        .query_typed(COLUMNS, &[(&table, Type::OID)])
        .await?;
    let column = |row: &Row| {
        Ok(ColumnDescription {
            name: row.try_get(0)?,
            kind: row.try_get(1)?,
            nullable: row.try_get(2)?,
            primary_key: row.try_get(3)?,
        })
    };
    rows.iter().map(column).collect()
}

async fn foreign_keys(
    transaction: &Transaction<'_>,
    table: u32,
    allowed: &AllowedTables,
) -> Result<Vec<ForeignKey>, DatabaseError> {
    let rows = transaction
        .query_typed(FOREIGN_KEYS, &[(&table, Type::OID)])
        .await?;
    let mut keys = Vec::new();
    for row in &rows {
        let (schema, name): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
        if is_allowed(allowed, schema, name) {
            keys.push(ForeignKey {
                column: row.try_get(0)?,
                table: shown_name(schema, name),
                references: row.try_get(3)?,
            });
        }
    }
    Ok(keys)
}

/// Returns warnings about listed tables that the role cannot read or can write, and about others that it
/// can read.
pub(super) async fn warnings(
    transaction: &Transaction<'_>,
    allowed: &AllowedTables,
) -> Result<Vec<String>, DatabaseError> {
    let readable = tables(transaction, &AllowedTables::All).await?;
    let is_listed = |table: &&Table| is_allowed(allowed, &table.schema, &table.name);
    let (tables, unlisted): (Vec<_>, Vec<_>) = readable.iter().partition(is_listed);
    let is_found = |name: &&String| {
        let is_named = |table: &&Table| qualified(name) == (&table.schema, &table.name);
        tables.iter().any(is_named)
    };
    let missing = allowed.names().iter().filter(|name| !is_found(name));
    let missing = missing.map(|name| {
        format!("`{name}` in `tables` is not a table that the role of the agent may read")
    });
    let writable = tables.iter().filter(|table| table.can_write);
    let writable = writable.map(|table| {
        format!(
            "the role of the agent may write to `{}`: grant it only SELECT",
            table.shown_name()
        )
    });
    let unlisted: Vec<_> = unlisted.iter().map(|table| table.shown_name()).collect();
    let unlisted = (!unlisted.is_empty()).then(|| {
        format!(
            "the role of the agent may read tables that are not in `tables` ({}): revoke that, because \
             the role is what protects them",
            few_names(&unlisted)
        )
    });
    Ok(missing.chain(writable).chain(unlisted).collect())
}
