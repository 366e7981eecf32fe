//! The text of an answer: compact JSON, with limits.

use serde::Serialize;
#[cfg(feature = "postgres")]
use serde_json::value::RawValue;

use super::error::DatabaseError;
use super::limits::{MAX_ANSWER_BYTES, MAX_COLUMN_NAME_BYTES, MAX_COLUMNS, MAX_VALUE_BYTES};

/// The note after a value that was cut.
const CUT_NOTE: &str = "… [cut: the value is longer]";

/// A value of a row.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// A value that is JSON already.
    #[cfg(feature = "postgres")]
    Json(Box<RawValue>),
    Text(String),
}

impl Cell {
    pub(super) fn text(text: &str) -> Self {
        if text.len() <= MAX_VALUE_BYTES {
            return Self::Text(text.to_owned());
        }
        let start = &text[..text.floor_char_boundary(MAX_VALUE_BYTES)];
        Self::Text(format!("{start}{CUT_NOTE}"))
    }

    /// A number, or its name if JSON has no such number.
    pub(super) fn real(number: f64) -> Self {
        if number.is_finite() {
            Self::Real(number)
        } else {
            Self::Text(number.to_string())
        }
    }

    /// Returns the placeholder of a value that is not text.
    pub(super) fn bytes(count: usize) -> Self {
        Self::Text(format!("[{count} bytes]"))
    }
}

/// The answer to a query while it grows: `{"columns":[…],"rows":[[…]],"more":true}`.
#[derive(Debug)]
pub(super) struct QueryAnswer {
    text: String,
    rows: usize,
    limit: usize,
}

impl QueryAnswer {
    pub(super) fn new(columns: &[&str], limit: usize) -> Result<Self, DatabaseError> {
        if columns.len() > MAX_COLUMNS {
            return Err(DatabaseError::TooManyColumns);
        }
        let names = columns.iter();
        let names: Vec<_> = names
            .map(|name| &name[..name.floor_char_boundary(MAX_COLUMN_NAME_BYTES)])
            .collect();
        Ok(Self {
            text: format!("{{\"columns\":{},\"rows\":[", json_text(&names)?),
            rows: 0,
            limit,
        })
    }

    /// Adds a row, and returns whether there was room for it.
    pub(super) fn add(&mut self, row: &[Cell]) -> Result<bool, DatabaseError> {
        if self.rows == self.limit {
            return Ok(false);
        }
        let row = json_text(row)?;
        if self.text.len() + row.len() > MAX_ANSWER_BYTES {
            return match self.rows {
                0 => Err(DatabaseError::RowTooLarge),
                _ => Ok(false),
            };
        }
        if self.rows > 0 {
            self.text.push(',');
        }
        self.text.push_str(&row);
        self.rows += 1;
        Ok(true)
    }

    /// Ends the answer; `more` if there are rows that it does not have.
    pub(super) fn finish(mut self, more: bool) -> String {
        self.text.push_str("],\"more\":");
        self.text.push_str(if more { "true}" } else { "false}" });
        self.text
    }
}

/// A table or view in a list.
#[derive(Debug, Serialize)]
pub(super) struct TableEntry {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

/// A table or view with its columns.
#[derive(Debug, Serialize)]
pub(super) struct TableDescription {
    pub(super) table: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) columns: Vec<ColumnDescription>,
    /// Only those to tables that can be read.
    pub(super) foreign_keys: Vec<ForeignKey>,
}

#[derive(Debug, Serialize)]
pub(super) struct ColumnDescription {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) nullable: bool,
    pub(super) primary_key: bool,
}

/// A column of a foreign key.
#[derive(Debug, Serialize)]
pub(super) struct ForeignKey {
    pub(super) column: String,
    pub(super) table: String,
    /// `None` for the primary key.
    pub(super) references: Option<String>,
}

/// Returns the text of a list of tables.
pub(super) fn table_list(tables: Vec<TableEntry>) -> Result<String, DatabaseError> {
    #[derive(Serialize)]
    struct TableList {
        tables: Vec<TableEntry>,
    }
    json_text(&TableList { tables })
}

/// Returns the text of what can be represented in JSON.
pub(super) fn json_text<T: Serialize + ?Sized>(value: &T) -> Result<String, DatabaseError> {
    serde_json::to_string(value).map_err(|_| DatabaseError::Fault)
}
