//! Parameters, and the values of answers.

use super::*;

async fn query_with(database: &Database, sql: &str, params: Value) -> String {
    let output = call(database, "query", json!({ "sql": sql, "params": params })).await;
    output.text
}

#[tokio::test]
async fn an_answer_is_compact_json() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    assert_eq!(
        query(&database, "SELECT * FROM orders ORDER BY id").await,
        r#"{"columns":["id","customer","total","data"],"rows":[[1,"Ada",12.50,"[2 bytes]"],[2,"Bob",3.00,null]],"more":false}"#
    );
    let text = query(
        &database,
        "SELECT true, 1::int8, 1.5::float8, 'NaN'::numeric, '1e300'::float8, 'Infinity'::float4,
            '{\"a\": [1]}'::jsonb, '2026-01-02'::date, '{1,2}'::int[], NULL, 'ä', interval '1 day',
            '10.0.0.1'::inet, 'a'::char(3)",
    );
    let expected = r#"[[true,1,1.5,"NaN",1e+300,"Infinity",{"a": [1]},"2026-01-02","{1,2}",null,"ä","1 day","10.0.0.1/32","a"]]"#;
    let text = text.await;
    assert!(text.contains(expected), "{text}");
    let limited = json!({ "sql": "SELECT generate_series(1, 100)", "limit": 20 });
    let text = call(&database, "query", limited).await.text;
    assert!(text.ends_with("[19],[20]],\"more\":true}"), "{text}");
    let limited = json!({ "sql": "SELECT generate_series(1, 16)", "limit": 16 });
    let text = call(&database, "query", limited).await.text;
    assert!(text.ends_with("[16]],\"more\":false}"), "{text}");
    let text = query(&database, "SELECT repeat('ä', 4096)").await;
    assert!(text.contains(&("ä".repeat(2048) + "… [cut")), "{text}");
}

#[tokio::test]
async fn parameters_become_the_types_that_the_statement_needs() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    let sql = "SELECT $1::int + 1, $2::bool, $3::numeric, $4::date, $5, $6::mood, $7::jsonb, \
         $8::float8, $9::int[], $10::int";
    let params = json!([
        1,
        true,
        1.25,
        "2026-01-02",
        "'; DROP TABLE orders; --",
        "good",
        "{}",
        2,
        "{1,2}",
        null
    ]);
    let text = query_with(&database, sql, params).await;
    let expected =
        r#"[[2,true,1.25,"2026-01-02","'; DROP TABLE orders; --","good",{},2,"{1,2}",null]]"#;
    assert!(text.contains(expected), "{text}");
    let sql = "SELECT id FROM orders WHERE customer = $1 AND total > $2";
    let text = query_with(&database, sql, json!(["Bob", 2.5])).await;
    assert!(text.contains("[[2]]"), "{text}");
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_refused() {
    let shop = Shop::create().await;
    let database = shop.source("narrow", LISTED);
    for (sql, params, expected) in [
        (
            "SELECT $1::int",
            json!([]),
            "has 1 parameters and `params` has 0 values",
        ),
        (
            "SELECT 1",
            json!([1]),
            "has 0 parameters and `params` has 1 values",
        ),
        (
            "SELECT $1::int",
            json!([true]),
            "`params[0]` does not fit the type `int4` of $1",
        ),
        (
            "SELECT $1::bool",
            json!([1]),
            "`params[0]` does not fit the type `bool` of $1",
        ),
        (
            "SELECT $1::int",
            json!(["x"]),
            "does not have the form of its type",
        ),
        (
            "SELECT $1::int",
            json!([1.5]),
            "does not have the form of its type",
        ),
        (
            "SELECT $1::mood",
            json!(["x"]),
            "does not have the form of its type",
        ),
        ("SELECT 1 / $1::int", json!([0]), "division by zero"),
        (
            "SELECT * FROM orders WHERE id = ?",
            json!([1]),
            "syntax error",
        ),
        (
            "SELECT nothing FROM orders",
            json!([]),
            "column \"nothing\" does not exist",
        ),
    ] {
        let text = query_with(&database, sql, params).await;
        assert!(text.contains(expected), "{sql}: {text}");
    }
}
