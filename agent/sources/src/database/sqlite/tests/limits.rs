//! The limits of an answer.

use super::super::super::limits::{MAX_ANSWER_BYTES, MAX_COLUMNS, MAX_PARAMETERS, MAX_SQL_BYTES};
use super::*;

const NUMBERS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

#[tokio::test]
async fn rows_are_limited_by_the_operator_and_by_the_call() {
    let shop = Shop::with_settings("tables = ['orders']\nmax_rows = 5");
    for (limit, expected) in [
        (json!(null), 5),
        (json!(2), 2),
        (json!(1000), 5),
        (json!(5), 5),
    ] {
        let sql = format!("{NUMBERS} SELECT i FROM n");
        let arguments = json!({ "sql": sql, "limit": limit });
        let answer = answer(&shop, "query", arguments).await;
        assert_eq!(answer["rows"].as_array().unwrap().len(), expected);
        assert_eq!(answer["more"], true);
    }
    let answer = answer(&shop, "query", json!({ "sql": "SELECT 1", "limit": 1 })).await;
    assert_eq!(answer["more"], false);
}

#[tokio::test]
async fn long_values_are_cut() {
    let shop = Shop::new();
    let sql = "SELECT replace(printf('%4095s', ''), ' ', 'x') || 'öö', zeroblob(5000)";
    let rows = rows(&shop.database, sql).await;
    let text = rows[0][0].as_str().unwrap();
    assert_eq!(text, "x".repeat(4095) + "… [cut: the value is longer]");
    assert_eq!(rows[0][1], "[5000 bytes]");
    let exact = "SELECT printf('%4096s', '')";
    let rows = super::rows(&shop.database, exact).await;
    assert_eq!(rows[0][0].as_str().unwrap().len(), 4096);
}

#[tokio::test]
async fn an_answer_is_limited_as_a_whole() {
    let shop = Shop::new();
    // Each of these characters is six in JSON.
    let sql = format!("{NUMBERS} SELECT replace(printf('%4000s', ''), ' ', char(1)) FROM n");
    let text = query(&shop.database, &sql).await;
    assert!(text.len() < MAX_ANSWER_BYTES + 100, "{}", text.len());
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (answer["rows"].as_array().unwrap().len(), &answer["more"]),
        (10, &json!(true))
    );
    let wide = format!("SELECT {}1", "printf('%4000s', ''), ".repeat(80));
    let error = query_error(&shop.database, &wide).await;
    assert!(error.contains("one row has more than 256 KiB"), "{error}");
    // The name of a column is the whole text of its expression.
    let text = query(&shop.database, &format!("SELECT '{}'", "x".repeat(3000))).await;
    assert!(text.len() < 3300, "{}", text.len());
}

#[tokio::test]
async fn statements_and_their_parameters_are_limited() {
    let shop = Shop::new();
    let statement = |bytes: usize| format!("SELECT 1 {}", " ".repeat(bytes - 9));
    rows(&shop.database, &statement(MAX_SQL_BYTES)).await;
    let error = query_error(&shop.database, &statement(MAX_SQL_BYTES + 1)).await;
    assert!(error.contains("it has more than 64 KiB"), "{error}");
    let numbered = |count: usize| {
        let names: Vec<_> = (1..=count).map(|number| format!("?{number}")).collect();
        json!({ "sql": format!("SELECT {}", names.join(", ")), "params": vec![1; count] })
    };
    answer(&shop, "query", numbered(MAX_PARAMETERS)).await;
    let schema = &shop.database.tools[2].arguments;
    assert!(schema.validate(&numbered(MAX_PARAMETERS)).is_ok());
    assert!(schema.validate(&numbered(MAX_PARAMETERS + 1)).is_err());
}

#[tokio::test]
async fn the_columns_of_an_answer_are_limited() {
    let shop = Shop::new();
    let wide = |columns: usize| format!("SELECT {}", vec!["1"; columns].join(", "));
    rows(&shop.database, &wide(MAX_COLUMNS)).await;
    let error = query_error(&shop.database, &wide(MAX_COLUMNS + 1)).await;
    assert!(error.contains("more than 256 columns"), "{error}");
}
