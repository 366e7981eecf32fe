//! Statements that try to write, to leave the listed tables, or to use the agent up.

use super::*;

/// Texts that must not appear in an answer.
const SECRETS: [&str; 4] = ["hunter", "Mallory", "password", "/tmp"];

/// Makes sure that a statement is refused for a reason, and changes nothing.
async fn assert_refused(shop: &Shop, sql: &str, expected: &str) {
    let before = shop.state();
    let error = query_error(&shop.database, sql).await;
    let shown = &sql[..sql.floor_char_boundary(100)];
    let is_expected = error.to_lowercase().contains(&expected.to_lowercase());
    assert!(is_expected, "{shown}: {error}");
    let leaked = SECRETS
        .iter()
        .find(|it| error.contains(**it) && !sql.contains(**it));
    assert_eq!(leaked, None, "{shown}: {error}");
    assert_eq!(shop.state(), before, "{shown}");
}

#[tokio::test]
async fn nothing_can_be_written_attached_or_configured() {
    let shop = Shop::new();
    let path = shop.folder.path().join("new.db");
    let path = path.display();
    for sql in [
        "INSERT INTO orders (customer) VALUES ('x')",
        "INSERT INTO orders (customer) VALUES ('x') RETURNING id",
        "UPDATE orders SET total = 0",
        "DELETE FROM orders",
        "WITH x AS (SELECT 1) DELETE FROM orders",
        "WITH x AS (SELECT 1) INSERT INTO orders (customer) SELECT 'x' FROM x RETURNING *",
        "REPLACE INTO orders (id, customer) VALUES (1, 'x')",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t AS SELECT * FROM orders",
        "CREATE TEMP VIEW v AS SELECT * FROM orders",
        "CREATE VIRTUAL TABLE temp.v USING fts5 (a)",
        "DROP TABLE orders",
        "ALTER TABLE orders RENAME TO o",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA hard_heap_limit = 1",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA table_info (orders)",
        "PRAGMA database_list",
        "PRAGMA data_version = 1",
        &format!("ATTACH '{path}' AS other"),
        "ATTACH ':memory:' AS other",
        "DETACH main",
        &format!("VACUUM INTO '{path}'"),
        "VACUUM",
        "ANALYZE",
        "REINDEX",
        "BEGIN",
        "BEGIN IMMEDIATE",
        "SAVEPOINT a",
        "COMMIT",
        "EXPLAIN SELECT 1",
        "EXPLAIN QUERY PLAN SELECT * FROM team",
    ] {
        assert_refused(&shop, sql, "only one SELECT is possible").await;
    }
    // With `*` the statement is not prepared for another database before.
    let shop = Shop::with_settings("tables = ['*']");
    for sql in [
        "DELETE FROM orders RETURNING *",
        "PRAGMA writable_schema = ON",
        "ATTACH ':memory:' AS other",
        &format!("VACUUM INTO '{path}'"),
        "EXPLAIN SELECT 1",
    ] {
        assert_refused(&shop, sql, "only one SELECT is possible").await;
    }
}

#[tokio::test]
async fn only_one_statement_runs() {
    let shop = Shop::new();
    for sql in [
        "SELECT 1; DROP TABLE orders",
        "SELECT 1; SELECT 2",
        "SELECT 1;;SELECT 2",
        "SELECT 1 /* a */; -- b\n DELETE FROM orders",
        "SELECT 1; nonsense",
        &"SELECT 1;".repeat(7000),
        ";;SELECT 1; DELETE FROM orders",
    ] {
        assert_refused(&shop, sql, "must be one statement").await;
    }
    assert_refused(&shop, "", "it is empty").await;
    assert_refused(&shop, " -- SELECT 1", "it is empty").await;
    assert_refused(&shop, "SELECT 1 \0; DROP TABLE orders", "NUL").await;
    assert_refused(&shop, "SELECT 1 /* */ DROP TABLE orders", "syntax error").await;
    for sql in ["SELECT 1;", "SELECT 1; -- done", "/* a */ SELECT 1 ;; /* b"] {
        assert_eq!(rows(&shop.database, sql).await, json!([[1]]), "{sql}");
    }
}

#[tokio::test]
async fn an_unlisted_table_cannot_be_read_in_any_place_of_a_statement() {
    let shop = Shop::new();
    for sql in [
        "SELECT * FROM secret",
        "SELECT * FROM SECRET",
        "SELECT * FROM main.secret",
        "SELECT * FROM \"secret\"",
        "SELECT * FROM [secret]",
        "SELECT/**/*/**/FROM/**/secret",
        "SELECT count(*) FROM secret",
        "SELECT 1 FROM secret",
        "SELECT (SELECT password FROM secret)",
        "SELECT * FROM (SELECT password FROM secret)",
        "SELECT * FROM orders o JOIN secret s ON s.id = o.id",
        "SELECT o.* FROM orders o, secret",
        "SELECT o.* FROM orders o LEFT JOIN secret s ON s.id = o.id",
        "SELECT * FROM orders NATURAL JOIN secret",
        "SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM secret)",
        "SELECT * FROM orders WHERE id IN (SELECT id FROM secret)",
        "SELECT * FROM orders WHERE (id, customer, total) IN secret",
        "SELECT customer FROM orders UNION SELECT password FROM secret",
        "SELECT customer FROM orders ORDER BY (SELECT password FROM secret)",
        "SELECT customer FROM orders LIMIT (SELECT id FROM secret)",
        "SELECT max(customer) FILTER (WHERE (SELECT id FROM secret)) FROM orders",
        "VALUES ((SELECT password FROM secret))",
        "WITH x AS (SELECT * FROM secret) SELECT * FROM x",
        "WITH x AS (SELECT password FROM secret) SELECT (SELECT password FROM x) FROM orders",
        // SQLite reports the same about these as about the views.
        "WITH staff AS (SELECT * FROM secret) SELECT * FROM staff",
        "WITH team AS (SELECT * FROM secret) SELECT * FROM team",
        "WITH team AS MATERIALIZED (SELECT * FROM secret) SELECT * FROM main.team, team",
        "SELECT * FROM (WITH team AS (SELECT * FROM secret) SELECT * FROM team)",
        "SELECT * FROM (SELECT * FROM secret) AS team",
    ] {
        assert_refused(&shop, sql, "there is no table `secret`").await;
    }
    let error = query_error(&shop.database, "SELECT * FROM secret").await;
    let expected = "there is no table `secret` to read: the tables are `orders`, `Order_Items`, \
         `team`, `staff`, `broken`, `docs`";
    assert_eq!(error, expected);
    // No answer reveals whether such a table exists.
    let error = query_error(&shop.database, "SELECT * FROM customers").await;
    assert_eq!(error, expected.replace("secret", "customers"));
}

#[tokio::test]
async fn the_schema_and_the_tables_of_sqlite_cannot_be_read() {
    for settings in [LISTED, "tables = ['*']"] {
        let shop = Shop::with_settings(settings);
        for table in [
            "sqlite_master",
            "sqlite_schema",
            "main.sqlite_master",
            "sqlite_temp_master",
            "sqlite_sequence",
            "pragma_table_info('secret')",
            "pragma_table_list",
            "pragma_database_list",
            "pragma_function_list",
            "pragma_query_only(0)",
            "dbstat",
            "fts3tokenize('simple', 'a')",
        ] {
            assert_refused(
                &shop,
                &format!("SELECT * FROM {table}"),
                "there is no table",
            )
            .await;
            let count = format!("SELECT count(*) FROM {table}");
            assert_refused(&shop, &count, "").await;
            let cte = format!("WITH team AS (SELECT * FROM {table}) SELECT * FROM team");
            assert_refused(&shop, &cte, "there is no table").await;
        }
    }
    let shop = Shop::new();
    for table in ["notes", "notes_content", "notes_data", "notes_config"] {
        assert_refused(
            &shop,
            &format!("SELECT * FROM {table}"),
            "there is no table",
        )
        .await;
    }
}

#[tokio::test]
async fn dangerous_functions_are_not_available() {
    let shop = Shop::new();
    for function in [
        "load_extension('/tmp/x.so')",
        "LOAD_EXTENSION('x', 'y')",
        "fts3_tokenizer('simple')",
        "json_patch('{}', '{}')",
        "sqlite_log(1, 'x')",
    ] {
        assert_refused(&shop, &format!("SELECT {function}"), "is not available").await;
    }
    for function in [
        "readfile('/etc/passwd')",
        "writefile('/tmp/x', 'y')",
        "edit('x')",
    ] {
        assert_refused(&shop, &format!("SELECT {function}"), "no such function").await;
    }
}

#[tokio::test]
async fn statements_that_are_too_large_or_too_deep_are_refused_at_once() {
    let shop = Shop::new();
    for (sql, expected) in [
        ("SELECT randomblob(1000000000)", "more than 1 MiB"),
        ("SELECT zeroblob(1e9)", "more than 1 MiB"),
        ("SELECT printf('%.*c', 1000000000, 'x')", "more than 1 MiB"),
        (
            "SELECT replace(printf('%1000000s', ''), ' ', 'many')",
            "more than 1 MiB",
        ),
        (
            "SELECT group_concat(hex(zeroblob(400000))) FROM order_items",
            "more than 1 MiB",
        ),
        (
            &format!("SELECT {}1{}", "(".repeat(20000), ")".repeat(20000)),
            "Recursion limit",
        ),
        (&format!("SELECT 1{}", "||1".repeat(10000)), "too large"),
        (
            &format!("SELECT 1{}", " UNION SELECT 1".repeat(1000)),
            "too many terms",
        ),
        (
            &format!("SELECT max(1{})", ",1".repeat(40)),
            "too many arguments",
        ),
        (
            &format!("SELECT 'a' LIKE '{}'", "%".repeat(1000)),
            "too complex",
        ),
        ("SELECT ?32766", "variable number"),
        (
            &format!("SELECT '{}'", "x".repeat(1 << 20)),
            "more than 64 KiB",
        ),
        (
            &format!("SELECT {}1", "1,".repeat(300)),
            "more than 256 columns",
        ),
        (&format!("SELECT {}1", "upper(1),".repeat(7000)), ""),
    ] {
        assert_refused(&shop, sql, expected).await;
    }
}
