//! Finds out what the role of the agent can do beyond reading.

use tokio_postgres::Transaction;

use super::super::error::DatabaseError;
use super::few_names::few_names;

/// Roles of PostgreSQL whose members reach beyond the tables that were granted to them.
const POWERFUL_ROLES: &str = "SELECT rolname::text FROM pg_catalog.pg_roles
    WHERE (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls
        OR rolname IN ('pg_read_server_files', 'pg_write_server_files',
            'pg_execute_server_program', 'pg_read_all_data', 'pg_write_all_data',
            'pg_signal_backend', 'pg_monitor'))
      AND pg_catalog.pg_has_role(session_user, oid, 'MEMBER')
      -- A superuser is a member of all.
      AND (rolsuper OR NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = session_user))
    ORDER BY rolname";

/// Functions that a SELECT can use, and that have the rights of another role, are in a language without
/// bounds, or connect to other servers.
const POWERFUL_FUNCTIONS: &str = "SELECT DISTINCT p.proname::text
    FROM pg_catalog.pg_proc p
      JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
      JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.prokind <> 'p'
      AND p.prorettype NOT IN ('pg_catalog.trigger'::pg_catalog.regtype,
        'pg_catalog.event_trigger'::pg_catalog.regtype)
      AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
      AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
      AND (p.prosecdef OR NOT (l.lanpltrusted OR l.lanname IN ('internal', 'c'))
        OR EXISTS (SELECT FROM pg_catalog.pg_depend d
            JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
          WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
            AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'e'
            AND e.extname IN ('adminpack', 'dblink', 'http', 'pg_cron', 'pg_net')))
    ORDER BY 1";

/// Functions that write to the WAL also in a transaction that only reads. Each version of PostgreSQL has
/// other parameters.
const WAL_FUNCTIONS: &str = "SELECT p.oid::pg_catalog.regprocedure::text
    FROM pg_catalog.pg_proc p
    WHERE p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
      AND p.proname = 'pg_logical_emit_message'
      AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
    ORDER BY 1";

/// Returns warnings about a role that can do more than read tables.
pub(super) async fn warnings(transaction: &Transaction<'_>) -> Result<Vec<String>, DatabaseError> {
    let mut warnings = Vec::new();
    let roles = names(transaction, POWERFUL_ROLES).await?;
    if !roles.is_empty() {
        warnings.push(format!(
            "the role of the agent has the rights of {}, with which a statement can do more than \
             read tables: connect as a role that has only SELECT on the listed tables",
            few_names(&roles)
        ));
    }
    let functions = names(transaction, POWERFUL_FUNCTIONS).await?;
    if !functions.is_empty() {
        warnings.push(format!(
            "the role of the agent may execute functions that do what it may not ({}): revoke \
             EXECUTE from PUBLIC unless a statement of anybody may do that",
            few_names(&functions)
        ));
    }
    let functions = names(transaction, WAL_FUNCTIONS).await?;
    if !functions.is_empty() {
        warnings.push(format!(
            "a SELECT of the role of the agent can write to the WAL without limit: as a superuser, \
             execute `REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC` in this database",
            functions.join(", ")
        ));
    }
    Ok(warnings)
}

async fn names(transaction: &Transaction<'_>, sql: &str) -> Result<Vec<String>, DatabaseError> {
    let rows = transaction.query_typed(sql, &[]).await?;
    let names = rows.iter().map(|row| Ok(row.try_get(0)?));
    names.collect()
}
