//! A call of one of the tools: its request, and its right to use the database.

use std::time::Instant;

use agent_tools::{CallPermit, parse_arguments};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::DatabaseError;
use super::limits::MAX_SQL_BYTES;

/// The request of a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    ListTables,
    DescribeTable(String),
    Query(Query),
}

/// A statement with its values.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Query {
    pub(super) sql: String,
    pub(super) params: Vec<Parameter>,
    /// Maximum number of rows in the answer.
    pub(super) limit: usize,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Parameter {
    Null,
    Bool(bool),
    Integer(i64),
    Real(#[serde(with = "bits")] f64),
    Text(String),
}

/// A number as its bits, because parsing its decimal digits may change the last bit.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        number.to_bits().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

#[derive(Deserialize)]
struct TableArguments {
    table: String,
}

#[derive(Deserialize)]
struct QueryArguments {
    sql: String,
    #[serde(default)]
    params: Vec<Value>,
    limit: Option<usize>,
}

impl Request {
    /// Parses the arguments of a tool.
    pub(super) fn parse(
        tool: &str,
        arguments: Map<String, Value>,
        max_rows: usize,
    ) -> Result<Self, DatabaseError> {
        match tool {
            "list_tables" => Ok(Self::ListTables),
            "describe_table" => {
                let TableArguments { table } = parse(arguments)?;
                Ok(Self::DescribeTable(table))
            }
            "query" => Ok(Self::Query(Query::new(parse(arguments)?, max_rows)?)),
            _ => Err(DatabaseError::Arguments(format!(
                "there is no tool `{tool}`"
            ))),
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(
    arguments: Map<String, Value>,
) -> Result<T, DatabaseError> {
    parse_arguments(arguments).map_err(DatabaseError::Arguments)
}

impl Query {
    fn new(arguments: QueryArguments, max_rows: usize) -> Result<Self, DatabaseError> {
        let QueryArguments { sql, params, limit } = arguments;
        if sql.len() > MAX_SQL_BYTES {
            let problem = format!("it has more than {} KiB", MAX_SQL_BYTES / 1024);
            return Err(DatabaseError::Sql(problem));
        }
        if sql.contains('\0') {
            return Err(DatabaseError::Sql("it has a NUL character".to_owned()));
        }
        let params = params.into_iter().enumerate();
        Ok(Self {
            sql,
            params: params
                .map(|(index, value)| Parameter::new(index, value))
                .collect::<Result<_, _>>()?,
            limit: limit.unwrap_or(max_rows).clamp(1, max_rows),
        })
    }
}

impl Parameter {
    fn new(index: usize, value: Value) -> Result<Self, DatabaseError> {
        let error = |problem: &str| DatabaseError::Parameter {
            index,
            problem: problem.to_owned(),
        };
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::String(text) => Self::Text(text),
            Value::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                None if number.is_f64() => Self::Real(number.as_f64().unwrap_or_default()),
                None => return Err(error("is beyond 64 bits: give it as a string")),
            },
            Value::Array(_) | Value::Object(_) => {
                return Err(error(
                    "is a list or an object: allowed are null, booleans, numbers \
                     and strings",
                ));
            }
        })
    }
}

/// The right to use the database for a call.
#[derive(Debug)]
pub(super) struct Slot {
    /// When the call ends.
    pub(super) deadline: Instant,
    pub(super) _permit: CallPermit,
}
