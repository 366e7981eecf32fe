//! The functions that take the place of those of SQLite.

use super::super::functions::replace_quadratic;
use super::*;

#[test]
fn they_return_what_those_of_sqlite_return() {
    let original = Connection::open_in_memory().unwrap();
    let replaced = Connection::open_in_memory().unwrap();
    replace_quadratic(&replaced).unwrap();
    let values = [
        "NULL",
        "''",
        "'a'",
        "'aXbXa'",
        "'äöä'",
        "'öä'",
        "'0'",
        "'  a '",
        "12",
        "-7",
        "0",
        "1.5",
        "0.1",
        "19.99",
        "100.0",
        "1e20",
        "-2.5e-10",
        "9e999",
        "-9e999",
        "x'00ff00'",
        "x'ff'",
        "'.'",
    ];
    let text = |connection: &Connection, sql: &str| {
        let value = connection.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0));
        value.unwrap_or_else(|error| panic!("{sql}: {error}"))
    };
    let mut count = 0;
    for a in values {
        for b in values {
            let is_blob = a.starts_with('x') != b.starts_with('x');
            for call in [
                format!("instr({a}, {b})"),
                format!("trim({a}, {b})"),
                format!("ltrim({a}, {b})"),
                format!("rtrim({a}, {b})"),
                format!("replace({a}, {b}, 'x')"),
                format!("replace({a}, {b}, {a})"),
            ] {
                // Bytes that are not UTF-8 and meet text have no meaning that could be kept.
                if is_blob || (a.starts_with('x') && !call.starts_with("instr")) {
                    continue;
                }
                let sql = format!("SELECT {call}");
                assert_eq!(text(&replaced, &sql), text(&original, &sql), "{call}");
                count += 1;
            }
        }
    }
    assert!(count > 2000, "{count}");
}

#[tokio::test]
async fn long_texts_take_no_longer_than_their_lengths() {
    let shop = Shop::with_settings("tables = ['orders']\ntimeout = '5s'");
    let long = "hex(zeroblob(500000))";
    for sql in [
        format!("SELECT instr({long}, hex(zeroblob(250000)) || '1')"),
        format!("SELECT length(replace({long}, hex(zeroblob(250000)) || '1', ''))"),
        format!("SELECT length(trim({long}, printf('%900000s0', '')))"),
        format!("SELECT {long} LIKE '{}1'", "%_0".repeat(80)),
        format!("SELECT {long} GLOB '*[{}0]1'", "a".repeat(240)),
    ] {
        query(&shop.database, &sql).await;
    }
    let error = query_error(&shop.database, "SELECT unhex('00', 'x')").await;
    assert!(error.contains("one argument"), "{error}");
    assert_eq!(
        rows(&shop.database, "SELECT trim('  a '), unhex('41')").await,
        json!([["a", "[1 bytes]"]])
    );
}
