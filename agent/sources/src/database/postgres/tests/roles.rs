//! Warnings for the operator about the role.

use tokio_postgres::Client;

use super::*;

pub(super) async fn warnings(database: &Database) -> Vec<String> {
    let warnings = database
        .in_time("user", |slot| database.engine.warnings(slot))
        .await;
    warnings.unwrap()
}

const TEAM: &str = "the role of the agent may execute functions that do what it may not (`team`): \
    revoke EXECUTE from PUBLIC unless a statement of anybody may do that";

/// Returns the functions that may write to the WAL, as the server names them. Their last parameter
/// exists since PostgreSQL 17.
async fn wal_functions(admin: &Client) -> String {
    let sql = "SELECT string_agg(oid::regprocedure::text, ', ' ORDER BY oid::regprocedure::text)
        FROM pg_proc WHERE proname = 'pg_logical_emit_message'";
    admin.query_one(sql, &[]).await.unwrap().get(0)
}

/// Revokes the functions that every role may call in a new database, but should not.
pub(super) async fn revoke_wal_functions(admin: &Client) {
    let functions = wal_functions(admin).await;
    let revoke = format!("REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC");
    admin.batch_execute(&revoke).await.unwrap();
}

#[tokio::test]
async fn functions_that_write_to_the_wal_are_warned_of_until_they_are_revoked() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let database = shop.source("narrow", LISTED);
    let functions = wal_functions(&admin).await;
    let warning = format!(
        "a SELECT of the role of the agent can write to the WAL without limit: as a superuser, \
         execute `REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC` in this database"
    );
    assert_eq!(warnings(&database).await, [TEAM, &warning]);
    let sql = "SELECT pg_logical_emit_message(false, 'x', 'y')";
    query(&database, sql).await;
    let statement = warning.split('`').nth(1).unwrap();
    admin.batch_execute(statement).await.unwrap();
    assert_eq!(warnings(&database).await, [TEAM]);
    let error = query_error(&database, sql).await;
    assert!(error.contains("SQLSTATE 42501"), "{error}");
}

#[tokio::test]
async fn a_role_that_can_do_more_than_read_is_named() {
    let shop = Shop::create().await;
    revoke_wal_functions(&shop.admin().await).await;
    assert_eq!(warnings(&shop.source("narrow", LISTED)).await, [TEAM]);
    let listed = "tables = ['orders', 'order_items', 'visits', 'staff', 'customers']";
    let expected = [
        TEAM,
        "`customers` in `tables` is not a table that the role of the agent may read",
        "the role of the agent may write to `orders`: grant it only SELECT",
        "the role of the agent may read tables that are not in `tables` (`Back Office.Pay Roll`, \
         `secret`): revoke that, because the role is what protects them",
    ];
    assert_eq!(warnings(&shop.source("wide", listed)).await, expected);
    let found = warnings(&shop.source("admin", "tables = ['*']")).await;
    let expected = "the role of the agent has the rights of `admin`";
    assert!(found[0].starts_with(expected), "{found:?}");
    let found = warnings(&shop.source("reader", LISTED)).await;
    assert!(found[0].contains("`pg_read_server_files`"), "{found:?}");
}

/// Creates the role as the guide does.
#[tokio::test]
async fn the_role_of_the_guide_can_only_read() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let guide = include_str!("../../../../../../docs/agent-tools.md");
    let block = guide.split("```sql\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let block = block.replace("choose-a-long-one", "hunter2");
    // The guide names the functions of the versions before 17.
    let block = match wal_functions(&admin).await {
        newer if newer.contains("text, text, boolean") || newer.contains("text,text,boolean") => {
            block
                .replace("(boolean, text, text)", "(boolean, text, text, boolean)")
                .replace("(boolean, text, bytea)", "(boolean, text, bytea, boolean)")
        }
        _ => block,
    };
    admin.batch_execute(&block).await.unwrap();
    let database = shop.source("agent", "tables = ['orders', 'order_items']");
    assert_eq!(warnings(&database).await, [TEAM]);
    let sql = "SELECT count(*) FROM orders JOIN order_items ON order_id = id";
    assert_eq!(rows(&database, sql).await, json!([[3]]));
    let sql = "SELECT set_config('temp_file_limit', '-1', true)";
    let error = query_error(&database, sql).await;
    assert!(error.contains("SQLSTATE 42501"), "{error}");
    // Its advice against other calls of the same role.
    let revoke = "REVOKE EXECUTE ON FUNCTION pg_stat_get_activity, pg_cancel_backend,
        pg_terminate_backend FROM PUBLIC";
    let sql = "SELECT pg_cancel_backend(pid) FROM pg_stat_get_activity(NULL)";
    admin.batch_execute(revoke).await.unwrap();
    let error = query_error(&database, sql).await;
    assert!(error.contains("SQLSTATE 42501"), "{error}");
}
