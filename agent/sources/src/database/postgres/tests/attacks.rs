//! Statements that try to write, to leave the listed tables, or to use the agent up.

use super::*;

/// Makes sure that a statement is refused for a reason, and reveals nothing.
async fn assert_refused(database: &Database, sql: &str, expected: &str) {
    let error = query_error(database, sql).await;
    let shown = &sql[..sql.floor_char_boundary(100)];
    assert!(error.contains(expected), "{shown}: {error}");
    for secret in ["hunter", "Mallory", "127.0.0.1", "/tmp"] {
        assert!(
            !error.contains(secret) || sql.contains(secret),
            "{shown}: {error}"
        );
    }
}

const ONLY_SELECT: &str = "only one SELECT is possible";

#[tokio::test]
async fn nothing_can_be_written_or_configured_even_by_a_superuser() {
    let shop = Shop::create().await;
    for role in ["narrow", "wide", "admin"] {
        let database = shop.source(role, LISTED);
        for sql in [
            "INSERT INTO orders VALUES (3, 'x')",
            "INSERT INTO orders VALUES (3, 'x') RETURNING id",
            "UPDATE orders SET total = 0 RETURNING *",
            "DELETE FROM orders",
            "TRUNCATE orders",
            "WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x",
            "WITH x AS (SELECT 1) DELETE FROM orders RETURNING *",
            "SELECT * INTO t FROM orders",
            "CREATE TABLE t (a int)",
            "CREATE TEMP TABLE t AS SELECT * FROM orders",
            "DROP TABLE orders",
            "COPY orders TO '/tmp/orders'",
            "COPY orders TO STDOUT",
            "COPY orders FROM PROGRAM 'id'",
            "SET default_transaction_read_only = off",
            "SET TRANSACTION READ WRITE",
            "SET ROLE boss",
            "SET SESSION AUTHORIZATION admin",
            "RESET ALL",
            "SHOW data_directory",
            "EXPLAIN ANALYZE DELETE FROM orders",
            "EXPLAIN SELECT 1",
            "DO 'BEGIN DELETE FROM orders; END'",
            "CALL x()",
            "VACUUM",
            "ANALYZE orders",
            "LOCK TABLE orders",
            "LISTEN x",
            "NOTIFY x",
            "COMMIT",
            "ROLLBACK",
            "BEGIN",
            "PREPARE x AS SELECT 1",
            "DECLARE x CURSOR FOR SELECT 1",
            "DISCARD ALL",
            "SELECT FROM orders",
        ] {
            assert_refused(&database, sql, "").await;
        }
        for sql in [
            "DELETE FROM orders RETURNING *",
            "SHOW search_path",
            "EXPLAIN SELECT 1",
            "SELECT 1; -- done",
        ] {
            assert_refused(&database, sql, ONLY_SELECT).await;
        }
        for sql in [
            "SELECT nextval('x') FROM (SELECT set_config('transaction_read_only', 'off', true)) y",
            "SELECT set_config('transaction_read_only', 'off', true)",
            "SELECT * FROM orders FOR UPDATE",
            "SELECT query_to_xml('DELETE FROM orders RETURNING 1', true, false, '')",
        ] {
            assert_refused(&database, sql, "").await;
        }
    }
    // Changes that even such a transaction allows are rolled back.
    query(&shop.source("narrow", LISTED), "SELECT lo_create(1)").await;
    let admin = shop.admin().await;
    let count = admin
        .query_one("SELECT count(*) FROM orders", &[])
        .await
        .unwrap();
    assert_eq!(count.get::<_, i64>(0), 2);
    let sql = "SELECT count(*) FROM pg_largeobject_metadata";
    let count = admin.query_one(sql, &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 0);
}

/// A source that connects as the superuser.
fn superuser(shop: &Shop) -> Database {
    shop.source("admin", LISTED)
}

#[tokio::test]
async fn only_one_statement_runs() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    for sql in [
        "SELECT 1; DROP TABLE orders",
        "SELECT 1; SELECT 2",
        "SELECT 1 /* a */; -- b\n DELETE FROM orders",
        &"SELECT 1;".repeat(7000),
        "SELECT 1) AS q (c1); DELETE FROM orders; SELECT 1 FROM (SELECT 1",
    ] {
        assert_refused(&database, sql, "").await;
    }
    assert_refused(&database, "SELECT 1; SELECT 2", "must be one statement").await;
    assert_refused(&database, "SELECT 1) AS q (c1) --", "syntax error").await;
    assert_refused(&database, "SELECT 1 AS a, (SELECT 2", "syntax error").await;
    assert_refused(&database, "SELECT 1 /*", "unterminated").await;
    assert_refused(&database, "SELECT 'x", "unterminated").await;
    assert_refused(&database, "", ONLY_SELECT).await;
    for sql in [
        "SELECT 1;",
        "SELECT 1 -- done",
        "/* a */ SELECT 1 ;; ",
        "VALUES (1)",
        "TABLE one",
    ] {
        let sql = format!(
            "{}{sql}",
            if sql == "TABLE one" {
                "WITH one AS (SELECT 1) "
            } else {
                ""
            }
        );
        assert_eq!(rows(&database, &sql).await, json!([[1]]), "{sql}");
    }
}

#[tokio::test]
async fn an_unlisted_table_cannot_be_read_though_the_role_may() {
    let shop = Shop::create().await;
    let wide = shop.source("wide", LISTED);
    let superuser = superuser(&shop);
    for database in [&wide, &superuser] {
        for sql in [
            "SELECT * FROM secret",
            "SELECT * FROM public.secret",
            "SELECT count(*) FROM SECRET",
            "SELECT 1 FROM orders WHERE EXISTS (SELECT FROM secret WHERE false)",
            "SELECT (SELECT password FROM secret LIMIT 1)::int",
            "SELECT o.* FROM orders o LEFT JOIN secret s ON s.id = o.id",
            "SELECT customer FROM orders UNION SELECT password FROM secret",
            "WITH staff AS (SELECT * FROM secret) SELECT * FROM staff",
            "WITH x AS (SELECT * FROM secret) SELECT 1",
            "SELECT customer FROM orders ORDER BY (SELECT password FROM secret LIMIT 1)",
            "SELECT customer FROM orders LIMIT (SELECT min(id) FROM secret)",
            "SELECT (secret).password FROM secret",
            // These read it while they run.
            "SELECT peek()",
            "SELECT query_to_xml('SELECT * FROM secret', true, false, '')",
            "SELECT table_to_xml('secret', true, false, '')",
            "SELECT * FROM ts_stat('SELECT to_tsvector(password) FROM secret')",
            "SELECT staff.* FROM staff, peek()",
        ] {
            assert_refused(database, sql, "there is no table `public.secret`").await;
        }
    }
    let error = query_error(&wide, "SELECT * FROM secret").await;
    let expected = "there is no table `public.secret` to read: the tables are `orders`, \
         `order_items`, `visits`, `staff`, `Back Office.Pay Roll`";
    assert_eq!(error, expected);
    // Without the right, the server itself refuses.
    let narrow = shop.source("narrow", LISTED);
    for sql in [
        "SELECT * FROM secret",
        "SELECT peek()",
        "SELECT query_to_xml('SELECT * FROM secret', true, false, '')",
    ] {
        assert_refused(&narrow, sql, "may not be used (SQLSTATE 42501)").await;
    }
    // Planning evaluates a function that is stable, and the error would quote what it returns.
    let sql =
        "SELECT 1 FROM orders WHERE id = (table_to_xml('secret', true, false, '')::text)::int";
    assert_refused(&wide, sql, "(SQLSTATE 22P02)").await;
    let sql = "SELECT (query_to_xml('SELECT password FROM secret', true, false, '')::text)::int";
    assert_refused(&wide, sql, "(SQLSTATE 22P02)").await;
}

#[tokio::test]
async fn a_role_that_it_is_a_member_of_does_not_help() {
    let shop = Shop::create().await;
    let nested = shop.source("nested", LISTED);
    let read = "query_to_xml('SELECT password FROM secret', true, false, '')";
    for sql in [
        format!("SELECT set_config('role', 'boss', true), {read}"),
        format!(
            "SELECT set_config('role', 'boss', true), {read}, set_config('role', 'none', true)"
        ),
        format!(
            "SELECT set_config('role', 'boss', true), {read}, set_config('role', 'visitor', true)"
        ),
    ] {
        assert_refused(&nested, &sql, "there is no table `public.secret`").await;
    }
}

#[tokio::test]
async fn the_catalog_cannot_be_read() {
    let shop = Shop::create().await;
    for settings in [LISTED, "tables = ['*']"] {
        let database = shop.source("wide", settings);
        for table in [
            "pg_class",
            "pg_catalog.pg_class",
            "pg_tables",
            "pg_stats",
            "pg_roles",
            "pg_database",
            "pg_settings",
            "information_schema.tables",
        ] {
            assert_refused(
                &database,
                &format!("SELECT * FROM {table}"),
                "there is no table",
            )
            .await;
        }
        let sql = "SELECT schema_to_xml('public', true, false, '')";
        assert_refused(&database, sql, "there is no table").await;
        assert_refused(&database, "SELECT * FROM pg_authid", "SQLSTATE 42501").await;
    }
}

#[tokio::test]
async fn the_role_decides_about_functions_that_lock_nothing() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    for sql in [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT pg_reload_conf()",
        "SELECT pg_stat_file('/etc/passwd')",
        "SELECT set_config('session_authorization', 'admin', false)",
    ] {
        assert_refused(&database, sql, "SQLSTATE 42501").await;
    }
    let error = query_error(&database, "SELECT dblink('', 'SELECT 1')").await;
    assert!(error.contains("function dblink"), "{error}");
}

#[tokio::test]
async fn large_values_do_not_reach_the_agent() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    let text = query(&database, "SELECT repeat('x', 100000000)").await;
    assert!(
        text.len() < 5000 && text.contains("[cut: "),
        "{}",
        text.len()
    );
    let text = query(
        &database,
        "SELECT generate_series(1, 1000000000), repeat('x', 4000)",
    );
    assert!(text.await.ends_with("],\"more\":true}"));
    let text = query(
        &database,
        "SELECT convert_to(repeat('x', 100000000), 'UTF8')",
    )
    .await;
    assert!(text.contains("[100000000 bytes]"), "{text}");
    let wide = format!("SELECT {}1", "1,".repeat(300));
    assert_refused(&database, &wide, "more than 256 columns").await;
    let deep = format!("SELECT {}1{}", "(".repeat(20000), ")".repeat(20000));
    assert_refused(&database, &deep, "").await;
    assert_refused(&database, "SELECT repeat('x', 2000000000)", "").await;
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_stopped() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", &format!("{LISTED}\ntimeout = '500ms'"));
    for sql in [
        "SELECT pg_sleep(600)",
        "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT set_config('statement_timeout', '0', true), pg_sleep(600)",
        "SELECT pg_sleep(0.02) FROM generate_series(1, 1000)",
    ] {
        let start = Instant::now();
        assert_refused(&database, sql, "the call took too long").await;
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{sql}: {:?}",
            start.elapsed()
        );
    }
}
