//! Finds out which tables a statement has used: those that its transaction has locked.
//!
//! PostgreSQL locks each table of a statement when it prepares it, and those that a function reads
//! (such as `query_to_xml`) when it runs, until the transaction ends. So nothing needs to be known
//! about the SQL. A locked table that the role itself may not read was reached through a view or a
//! function whose owner may: that is a decision of the database, as is which rows they show.

use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

use super::super::allowed_tables::AllowedTables;
use super::super::error::DatabaseError;
use super::schema::qualified_names;

/// The roles as which a statement may read: the user of the session and all whose member it is.
const ROLES: &str = "SELECT oid FROM pg_catalog.pg_roles
     WHERE pg_catalog.pg_has_role(session_user, oid, 'MEMBER')";

/// Uses functions only, because a table that it reads would be locked too. A partition counts as the
/// table of which it is a part. Names are compared as `pg_identify_object` returns them: quoted where
/// they need it.
const UNLISTED_TABLES: &str = "
    SELECT DISTINCT used.identity
    FROM pg_catalog.pg_lock_status() AS locked,
         pg_catalog.pg_identify_object(1259, locked.relation, 0) AS used
    WHERE locked.locktype = 'relation' AND locked.pid = pg_catalog.pg_backend_pid()
      AND used.type NOT IN ('index', 'toast table')
      AND EXISTS (SELECT FROM pg_catalog.unnest($1) AS role
        WHERE pg_catalog.has_any_column_privilege(role, locked.relation, 'SELECT'))
      AND NOT EXISTS (
        SELECT FROM (SELECT locked.relation
              UNION SELECT pg_catalog.pg_partition_ancestors(locked.relation)::oid) AS part (relation),
            pg_catalog.pg_identify_object(1259, part.relation, 0) AS listed
        WHERE CASE WHEN $2 THEN listed.schema NOT LIKE 'pg\\_%'
              AND listed.schema <> 'information_schema'
          ELSE (listed.schema, listed.name) IN (
            SELECT pg_catalog.quote_ident(name.schema), pg_catalog.quote_ident(name.name)
            FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS name (schema, name)) END)";

/// The tables that a transaction may lock.
pub(super) struct TableLocks<'a> {
    allowed: &'a AllowedTables,
    roles: Vec<u32>,
}

impl<'a> TableLocks<'a> {
    /// Loads the roles, in a transaction that is rolled back before it is checked.
    pub(super) async fn load(
        transaction: &Transaction<'_>,
        allowed: &'a AllowedTables,
    ) -> Result<Self, DatabaseError> {
        let rows = transaction.query_typed(ROLES, &[]).await?;
        let roles = rows.iter().map(|row| row.try_get(0));
        Ok(Self {
            allowed,
            roles: roles.collect::<Result<_, _>>()?,
        })
    }

    /// Checks after the statement has run: now also what its functions have read is locked. It may
    /// have set another `search_path`, in which a function of the database hides one of the system.
    pub(super) async fn check_after(
        &self,
        transaction: &Transaction<'_>,
    ) -> Result<(), DatabaseError> {
        let reset = "SET LOCAL search_path = pg_catalog";
        transaction.batch_execute(reset).await?;
        self.check(transaction).await
    }

    /// Fails if a transaction has locked a table that is not listed, although one of the roles may read
    /// it.
    pub(super) async fn check(&self, transaction: &Transaction<'_>) -> Result<(), DatabaseError> {
        let all = *self.allowed == AllowedTables::All;
        let (schemas, names): (Vec<_>, Vec<_>) = qualified_names(self.allowed).unzip();
        let params: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 4] = [
            (&self.roles, Type::OID_ARRAY),
            (&all, Type::BOOL),
            (&schemas, Type::TEXT_ARRAY),
            (&names, Type::TEXT_ARRAY),
        ];
        let unlisted = transaction.query_typed(UNLISTED_TABLES, &params).await?;
        match unlisted.first() {
            None => Ok(()),
            Some(row) => Err(DatabaseError::UnknownTable {
                table: row.try_get(0)?,
                available: self.allowed.sentence(),
            }),
        }
    }
}
