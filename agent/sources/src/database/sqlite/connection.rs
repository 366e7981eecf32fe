//! Opens a file of SQLite so that it can only be read, and bounds what a statement may use.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::super::error::DatabaseError;
use super::super::limits::{MAX_PARAMETERS, MAX_SQL_BYTES};
use super::cancellation::Cancellation;

/// The time for which a statement waits while another program has locked the file. Waiting is not
/// cancelled.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

/// The maximum length of a value or row, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = 1024 * 1024;

/// How much memory SQLite may use in the whole process, in bytes, also for what it sorts: nothing else
/// bounds what a statement takes in its time. `json_group_array`, a wide SELECT or an endless CTE would
/// have gigabytes in a second. A process that only reads a file has a smaller limit. Where an agent
/// reads files in its own process, it must be more than what the agent itself keeps in SQLite.
const HEAP_BYTES: usize = 512 * 1024 * 1024;

/// Opens a file for a call.
pub(super) fn open(
    path: &Path,
    cancellation: &Arc<Cancellation>,
) -> Result<Connection, DatabaseError> {
    if cancellation.must_stop() {
        return Err(DatabaseError::Timeout);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    cancellation.watch(&mut connection)?;
    configure(&connection)?;
    Ok(connection)
}

/// Makes a connection read only, and bounds what its statements may use.
pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    for (config, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
    ] {
        connection.set_db_config(config, value)?;
    }
    // Temporary files are not limited, and memory is.
    connection.execute_batch(&format!(
        "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
         PRAGMA hard_heap_limit = {HEAP_BYTES}"
    ))?;
    set_limits(connection)
}

fn set_limits(connection: &Connection) -> rusqlite::Result<()> {
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES),
        // Also how many tables nested CTEs may add up to.
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_PARSER_DEPTH, 500),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
        // A few hundred are usual. Half of them without a loop can be a second of long texts.
        (Limit::SQLITE_LIMIT_VDBE_OP, 10_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, MAX_PARAMETERS),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, i32::try_from(value).unwrap_or(i32::MAX))?;
    }
    Ok(())
}
