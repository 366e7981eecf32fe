//! Which tables there are, and what can be read of them.

use super::*;

async fn answer(database: &Database, tool: &str, arguments: Value) -> Value {
    let output = call(database, tool, arguments).await;
    assert!(!output.is_error(), "{}", output.text);
    serde_json::from_str(&output.text).unwrap()
}

#[tokio::test]
async fn the_listed_tables_are_listed_and_described() {
    let shop = Shop::create().await;
    let database = shop.source("wide", LISTED);
    let list = answer(&database, "list_tables", json!({})).await;
    let table = |name| json!({ "name": name, "type": "table" });
    let expected = [
        table("Back Office.Pay Roll"),
        table("order_items"),
        table("orders"),
        json!({ "name": "staff", "type": "view" }),
        table("visits"),
    ];
    assert_eq!(list, json!({ "tables": expected }));
    let described = answer(
        &database,
        "describe_table",
        json!({ "table": "order_items" }),
    )
    .await;
    assert_eq!(
        described,
        json!({ "table": "order_items", "type": "table", "columns": [
            { "name": "order_id", "type": "integer", "nullable": true, "primary_key": false },
            { "name": "product", "type": "character varying(20)", "nullable": true,
                "primary_key": false },
            { "name": "seller", "type": "integer", "nullable": true, "primary_key": false }],
            "foreign_keys": [{ "column": "order_id", "table": "orders", "references": "id" }] })
    );
    let described = answer(&database, "describe_table", json!({ "table": "orders" })).await;
    assert_eq!(described["columns"][0]["primary_key"], true);
    for table in [
        "secret",
        "pg_class",
        "visits_2026",
        "x'; DROP TABLE orders; --",
    ] {
        let output = call(&database, "describe_table", json!({ "table": table })).await;
        assert!(
            output.text.starts_with("there is no table"),
            "{}",
            output.text
        );
    }
    let all = answer(
        &shop.source("wide", "tables = ['*']"),
        "list_tables",
        json!({}),
    )
    .await;
    let all = all.to_string();
    assert!(
        all.contains("secret") && !all.contains("pg_") && !all.contains("visits_"),
        "{all}"
    );
}

#[tokio::test]
async fn views_functions_partitions_and_quoted_names_are_read() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    for (sql, expected) in [
        ("SELECT * FROM staff", json!([["Eve"]])),
        ("SELECT count(*) FROM staff", json!([[1]])),
        (
            "SELECT * FROM team() ORDER BY 1",
            json!([["EVE"], ["MALLORY"]]),
        ),
        ("SELECT * FROM visits", json!([["2026-05-01"]])),
        ("SELECT * FROM \"Back Office\".\"Pay Roll\"", json!([[7]])),
        (
            "WITH secret AS (SELECT 7 AS a) SELECT a FROM secret",
            json!([[7]]),
        ),
        (
            "SELECT customer FROM orders ORDER BY id DESC",
            json!([["Bob"], ["Ada"]]),
        ),
        (
            "SELECT 'good'::mood, ARRAY['bad'::mood]",
            json!([["good", "{bad}"]]),
        ),
        (
            "SELECT orders FROM orders WHERE id = 2",
            json!([["(2,Bob,3.00,)"]]),
        ),
    ] {
        assert_eq!(rows(&database, sql).await, expected, "{sql}");
    }
    // For a role that may read the table behind it, the view does not hide that it is read.
    let wide = shop.source("wide", LISTED);
    let error = query_error(&wide, "SELECT * FROM staff").await;
    assert!(error.contains("public.secret"), "{error}");
    let all = shop.source("wide", "tables = ['*']");
    assert_eq!(
        rows(&all, "SELECT count(*) FROM staff, secret").await,
        json!([[2]])
    );
}
