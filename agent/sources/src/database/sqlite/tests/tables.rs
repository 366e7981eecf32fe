//! Which tables there are, and what can be read of them.

use agent_tools::ToolSource;

use super::*;

#[tokio::test]
async fn the_listed_tables_are_listed_as_they_are_written_in_the_database() {
    let shop = Shop::new();
    let list = answer(&shop, "list_tables", json!({})).await;
    let table = |name| json!({ "name": name, "type": "table" });
    let view = |name| json!({ "name": name, "type": "view" });
    let expected = [
        view("broken"),
        table("docs"),
        table("order_items"),
        table("orders"),
        view("staff"),
        view("team"),
    ];
    assert_eq!(list, json!({ "tables": expected }));
    let all = Shop::with_settings("tables = ['*']");
    let list = answer(&all, "list_tables", json!({})).await.to_string();
    assert!(
        list.contains("secret") && !list.contains("sqlite_"),
        "{list}"
    );
    assert!(!list.contains("docs_content"), "{list}");
}

#[tokio::test]
async fn a_table_is_described_without_the_tables_that_are_not_listed() {
    let shop = Shop::new();
    let described = answer(&shop, "describe_table", json!({ "table": "ORDER_items" })).await;
    assert_eq!(
        described,
        json!({ "table": "order_items", "type": "table", "columns": [
            { "name": "order_id", "type": "INTEGER", "nullable": true, "primary_key": false },
            { "name": "product", "type": "TEXT", "nullable": true, "primary_key": false },
            { "name": "seller", "type": "INTEGER", "nullable": true, "primary_key": false }],
            "foreign_keys": [{ "column": "order_id", "table": "orders", "references": "id" }] })
    );
    for table in [
        "secret",
        "sqlite_master",
        "docs_content",
        "x'; DROP TABLE orders; --",
        "",
    ] {
        let output = call(&shop.database, "describe_table", json!({ "table": table })).await;
        assert!(
            output.text.starts_with("there is no table"),
            "{}",
            output.text
        );
    }
}

#[tokio::test]
async fn a_listed_view_reads_what_is_not_listed() {
    let shop = Shop::new();
    let database = &shop.database;
    assert_eq!(
        rows(database, "SELECT * FROM staff").await,
        json!([["Eve"]])
    );
    assert_eq!(
        rows(database, "SELECT name FROM team").await,
        json!([["EVE"]])
    );
    let counted = rows(database, "SELECT count(*) FROM team, main.staff").await;
    assert_eq!(counted, json!([[1]]));
    let counted = rows(database, "SELECT count(*) FROM staff").await;
    assert_eq!(counted, json!([[1]]));
    let error = query_error(database, "SELECT * FROM broken").await;
    assert!(error.contains("no table `broken`"), "{error}");
}

#[tokio::test]
async fn names_within_a_statement_may_be_those_of_any_table() {
    let shop = Shop::new();
    for sql in [
        "WITH orders AS (SELECT 7 AS a) SELECT a FROM orders",
        "WITH secret AS (SELECT 7 AS a) SELECT a FROM secret",
        "WITH team AS (SELECT 7 AS a) SELECT a FROM team",
        "WITH x (a) AS (VALUES (7)), y AS (SELECT * FROM x) SELECT * FROM y",
        "SELECT secret.a FROM (SELECT 7 AS a) AS secret",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7) \
         SELECT max(i) FROM n",
        "SELECT sum(value) FROM json_each('[3, 4]')",
        "SELECT count(*) + 5 FROM json_each('[3, 4]')",
        "WITH x AS (SELECT 1) SELECT count(*) + 6 FROM x",
        "WITH secret AS (SELECT 1) SELECT count(*) + 6 FROM secret",
    ] {
        assert_eq!(rows(&shop.database, sql).await, json!([[7]]), "{sql}");
    }
}

#[tokio::test]
async fn a_full_text_index_can_be_searched() {
    for settings in [LISTED, "tables = ['*']"] {
        let shop = Shop::with_settings(settings);
        let sql = "SELECT title, snippet(docs, 1, '[', ']', '…', 3) FROM docs \
             WHERE docs MATCH 'cups' ORDER BY bm25(docs)";
        let found = rows(&shop.database, sql).await;
        assert_eq!(found, json!([["Cups", "…to wash [cups]"]]));
    }
}

#[tokio::test]
async fn the_operator_is_warned_of_tables_that_do_not_exist() {
    let shop = Shop::with_settings("tables = ['orders', 'custmers']");
    let database = &shop.database;
    let warnings = database
        .in_time("user", |slot| database.engine.warnings(slot))
        .await;
    let expected = "`custmers` in `tables` is not a table of the database";
    assert_eq!(warnings.unwrap(), [expected]);
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_unavailable() {
    let shop = Shop::new();
    std::fs::write(shop.folder.path().join("shop.db"), "hunter2 ".repeat(1000)).unwrap();
    let error = query_error(&shop.database, "SELECT 1").await;
    assert_eq!(
        error,
        "the database cannot be used at the moment: do without it"
    );
    assert_eq!(shop.database.start().await.unwrap_err().message, error);
    std::fs::remove_file(shop.folder.path().join("shop.db")).unwrap();
    assert_eq!(query_error(&shop.database, "SELECT 1").await, error);
    assert!(!shop.folder.path().join("shop.db").exists());
}

#[tokio::test]
async fn a_database_that_another_program_writes_is_read() {
    let shop = Shop::new();
    let writer = Connection::open(shop.folder.path().join("shop.db")).unwrap();
    let sql = "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; DELETE FROM order_items";
    writer.execute_batch(sql).unwrap();
    let count = "SELECT count(*) FROM order_items";
    assert_eq!(rows(&shop.database, count).await, json!([[3]]));
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(rows(&shop.database, count).await, json!([[0]]));
    writer
        .execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
        .unwrap();
    let error = query_error(&shop.database, count).await;
    assert!(error.contains("another program has locked"), "{error}");
}
