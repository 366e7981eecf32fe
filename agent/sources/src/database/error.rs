//! Why a call has failed, in words for the model.

use serde::{Deserialize, Serialize};

use super::limits::{MAX_ANSWER_BYTES, MAX_COLUMNS};

/// Why a call has failed. The texts for the model describe the error and name valid values. None of
/// them has a path of the host, a password or a value of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(super) enum DatabaseError {
    #[error("there is no table `{table}` to read: {available}")]
    UnknownTable { table: String, available: String },
    #[error("`sql` must be one statement: make a call for each")]
    SeveralStatements,
    #[error(
        "only one SELECT is possible, without `;` and what follows it: it may begin with WITH or \
         VALUES, but nothing can be changed, explained or configured"
    )]
    NotSelect,
    #[error("the function `{0}` is not available: write the statement without it")]
    UnavailableFunction(String),
    #[error("the SQL cannot be used: {0}")]
    Sql(String),
    #[error(
        "the SQL has {expected} parameters and `params` has {given} values: give one value for each"
    )]
    ParameterCount { expected: usize, given: usize },
    #[error("`params[{index}]` {problem}")]
    Parameter { index: usize, problem: String },
    #[error(
        "the call took too long and was stopped: read less, with WHERE or LIMIT, or join fewer tables"
    )]
    Timeout,
    #[error(
        "a value or row has more than 1 MiB: name the columns that are needed, and leave out the \
         large ones"
    )]
    ValueTooLarge,
    #[error("the statement is too long, or needs too much memory: read less, with WHERE or LIMIT")]
    OutOfMemory,
    #[error("the result has more than {MAX_COLUMNS} columns: name those that are needed")]
    TooManyColumns,
    #[error(
        "one row has more than {} KiB: name the columns that are needed, and shorten their values",
        MAX_ANSWER_BYTES / 1024
    )]
    RowTooLarge,
    #[error("another program has locked the database: try it again")]
    Locked,
    #[error("the database cannot be used at the moment: do without it")]
    Unavailable,
    #[error("too many calls use the database at the moment: try it again later, or do without it")]
    Busy,
    #[error("the arguments are wrong: {0}")]
    Arguments(String),
    #[error("the agent has a fault, which its log shows")]
    Fault,
}
