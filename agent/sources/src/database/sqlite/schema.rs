//! The tables and views of a file, and which of them may be read.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};

use super::super::allowed_tables::AllowedTables;
use super::super::answer::{ColumnDescription, ForeignKey, TableDescription, TableEntry};
use super::super::error::DatabaseError;

/// The tables and views by their names in lower case, as SQLite compares them.
#[derive(Debug)]
pub(super) struct Schema(BTreeMap<String, Relation>);

/// A table or view.
#[derive(Debug)]
struct Relation {
    name: String,
    kind: Kind,
    access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Table,
    View,
    /// A table of an extension, such as FTS5.
    Virtual,
    /// A table in which an extension stores a virtual one.
    Shadow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// It may be read and is in the list of tables.
    Listed,
    /// It may be read, because a virtual table that is listed reads it.
    Internal,
    None,
}

impl Schema {
    /// Loads the schema before the authorizer is installed.
    pub(super) fn load(
        connection: &Connection,
        allowed: &AllowedTables,
    ) -> Result<Self, DatabaseError> {
        let mut statement = connection.prepare(
            "SELECT name, type FROM pragma_table_list WHERE schema = 'main'
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )?;
        let relations = statement.query_map([], |row| Relation::new(row, allowed))?;
        let relations = relations.collect::<rusqlite::Result<Vec<_>>>()?;
        let mut relations: BTreeMap<_, _> = relations
            .into_iter()
            .map(|relation| (relation.name.to_ascii_lowercase(), relation))
            .collect();
        let owners: Vec<_> = relations
            .iter()
            .filter(|(_, it)| it.kind == Kind::Virtual && it.access == Access::Listed)
            .map(|(name, _)| format!("{name}_"))
            .collect();
        for (name, relation) in &mut relations {
            let is_of = |owner: &String| name.starts_with(owner.as_str());
            if relation.kind == Kind::Shadow && owners.iter().any(is_of) {
                relation.access = Access::Internal;
            }
        }
        Ok(Self(relations))
    }

    fn get(&self, name: &str) -> Option<&Relation> {
        self.0.get(&name.to_ascii_lowercase())
    }

    /// Returns whether there is a table or view of this name, listed or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn is_listed(&self, name: &str) -> bool {
        self.get(name).is_some_and(|it| it.access == Access::Listed)
    }

    pub(super) fn may_read(&self, name: &str) -> bool {
        self.get(name).is_some_and(|it| it.access != Access::None)
    }

    pub(super) fn is_view(&self, name: &str) -> bool {
        self.get(name).is_some_and(|it| it.kind == Kind::View)
    }

    fn listed(&self) -> impl Iterator<Item = &Relation> {
        let relations = self.0.values();
        relations.filter(|relation| relation.access == Access::Listed)
    }

    /// Returns the names of what may be read, without the columns.
    pub(super) fn readable_names(&self) -> impl Iterator<Item = &str> {
        self.listed().map(|relation| relation.name.as_str())
    }

    pub(super) fn readable_tables(&self) -> Vec<TableEntry> {
        let entry = |relation: &Relation| TableEntry {
            name: relation.name.clone(),
            kind: relation.kind.as_str(),
        };
        self.listed().map(entry).collect()
    }

    /// Describes a table or view that is listed.
    pub(super) fn describe(
        &self,
        connection: &Connection,
        table: &str,
        allowed: &AllowedTables,
    ) -> Result<TableDescription, DatabaseError> {
        let relation = self.listed().find(|it| it.name.eq_ignore_ascii_case(table));
        let relation = relation.ok_or_else(|| DatabaseError::UnknownTable {
            table: table.to_owned(),
            available: allowed.sentence(),
        })?;
        Ok(TableDescription {
            table: relation.name.clone(),
            kind: relation.kind.as_str(),
            columns: columns(connection, &relation.name)?,
            foreign_keys: self.foreign_keys(connection, &relation.name)?,
        })
    }

    fn foreign_keys(
        &self,
        connection: &Connection,
        table: &str,
    ) -> Result<Vec<ForeignKey>, DatabaseError> {
        let mut statement = connection.prepare(
            r#"SELECT "from", "table", "to" FROM pragma_foreign_key_list(?1) ORDER BY id, seq"#,
        )?;
        let keys = statement.query_map([table], |row| {
            Ok(ForeignKey {
                column: row.get(0)?,
                table: row.get(1)?,
                references: row.get(2)?,
            })
        })?;
        let mut keys = keys.collect::<rusqlite::Result<Vec<_>>>()?;
        keys.retain(|key| self.is_listed(&key.table));
        Ok(keys)
    }
}

/// Returns the columns of a table or view, without the hidden ones of a virtual table.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<ColumnDescription>> {
    let mut statement = connection.prepare(
        r#"SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?1) WHERE hidden <> 1"#,
    )?;
    let columns = statement.query_map([table], |row| {
        let (is_required, key): (bool, i64) = (row.get(2)?, row.get(3)?);
        Ok(ColumnDescription {
            name: row.get(0)?,
            kind: row.get(1)?,
            nullable: !is_required && key == 0,
            primary_key: key > 0,
        })
    })?;
    columns.collect()
}

/// Returns the names of all columns, also of the hidden ones.
pub(super) fn column_names(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

impl Relation {
    fn new(row: &Row<'_>, allowed: &AllowedTables) -> rusqlite::Result<Self> {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        let kind = Kind::from_name(&kind);
        let is_listed = match allowed {
            AllowedTables::All => kind != Kind::Shadow,
            AllowedTables::Listed(names) => names.iter().any(|it| it.eq_ignore_ascii_case(&name)),
        };
        let access = if is_listed {
            Access::Listed
        } else {
            Access::None
        };
        Ok(Self { name, kind, access })
    }
}

impl Kind {
    /// Returns the kind that `PRAGMA table_list` calls so.
    fn from_name(name: &str) -> Self {
        match name {
            "view" => Self::View,
            "virtual" => Self::Virtual,
            "shadow" => Self::Shadow,
            _ => Self::Table,
        }
    }

    /// Returns its word for the model.
    fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            _ => "table",
        }
    }
}
