//! Parameters, and the values of answers.

use super::*;

async fn query_with(shop: &Shop, sql: &str, params: Value) -> String {
    let output = call(
        &shop.database,
        "query",
        json!({ "sql": sql, "params": params }),
    )
    .await;
    output.text
}

#[tokio::test]
async fn an_answer_is_compact_json() {
    let shop = Shop::new();
    let text = query(
        &shop.database,
        "SELECT id, customer, total, data FROM orders",
    )
    .await;
    assert_eq!(
        text,
        r#"{"columns":["id","customer","total","data"],"rows":[[1,"Ada",12.5,"[2 bytes]"],[2,"Bob",3.0,null]],"more":false}"#
    );
    let text = query(&shop.database, "SELECT 9e999, -9e999, 9223372036854775807").await;
    assert!(
        text.contains(r#"["inf","-inf",9223372036854775807]"#),
        "{text}"
    );
}

#[tokio::test]
async fn parameters_are_bound_and_keep_their_types() {
    let shop = Shop::new();
    let sql = "SELECT typeof(?1), typeof(?2), typeof(?3), typeof(?4), typeof(?5), ?5";
    let text = query_with(
        &shop,
        sql,
        json!([null, true, 7, 1.5, "'; DROP TABLE orders; --"]),
    )
    .await;
    let expected = r#"["null","integer","integer","real","text","'; DROP TABLE orders; --"]"#;
    assert!(text.contains(expected), "{text}");
    let text = query_with(
        &shop,
        "SELECT id FROM orders WHERE customer = ?",
        json!(["Bob"]),
    )
    .await;
    assert!(text.contains("[[2]]"), "{text}");
    let text = query_with(&shop, "SELECT :a + :b", json!([1, 2])).await;
    assert!(text.contains("[[3]]"), "{text}");
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_refused() {
    let shop = Shop::new();
    for (sql, params, expected) in [
        (
            "SELECT ?",
            json!([]),
            "has 1 parameters and `params` has 0 values",
        ),
        (
            "SELECT 1",
            json!([1]),
            "has 0 parameters and `params` has 1 values",
        ),
        ("SELECT ?3", json!([1]), "has 3 parameters"),
        (
            "SELECT ?",
            json!([[1]]),
            "`params[0]` is a list or an object",
        ),
        (
            "SELECT ?, ?",
            json!([1, { "a": 1 }]),
            "`params[1]` is a list or an object",
        ),
        (
            "SELECT ?",
            json!([u64::MAX]),
            "`params[0]` is beyond 64 bits",
        ),
    ] {
        let text = query_with(&shop, sql, params).await;
        assert!(text.contains(expected), "{sql}: {text}");
    }
    let text = query_with(&shop, "SELECT ?", json!(["x".repeat(2 << 20)])).await;
    assert!(text.contains("more than 1 MiB"), "{text}");
}
