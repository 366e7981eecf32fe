//! Each call has its own connection, which ends with it.

use tokio::time::timeout;
use tokio_postgres::Client;

use super::*;

/// Waits until the server has no connection of a role anymore.
pub(super) async fn wait_until_gone(admin: &Client, role: &str) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1::text::name
        AND datname = current_database()";
    while admin
        .query_one(sql, &[&role])
        .await
        .unwrap()
        .get::<_, i64>(0)
        > 0
    {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_abandoned_call_ends_on_the_server() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let database = shop.source("narrow", &format!("{LISTED}\ntimeout = '60s'"));
    for sql in [
        "SELECT pg_sleep(600)",
        "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
    ] {
        let calling = call(&database, "query", json!({ "sql": sql }));
        timeout(Duration::from_millis(300), calling)
            .await
            .unwrap_err();
        let start = Instant::now();
        wait_until_gone(&admin, "narrow").await;
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{sql}: {:?}",
            start.elapsed()
        );
    }
}

#[tokio::test]
async fn each_call_has_its_own_connection() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let database = shop.source("narrow", LISTED);
    let lock = "SELECT pg_try_advisory_lock(1), set_config('search_path', 'x', false)";
    query(&database, lock).await;
    wait_until_gone(&admin, "narrow").await;
    assert_eq!(rows(&database, lock).await, json!([[true, "x"]]));
    assert_eq!(
        rows(&database, "SELECT count(*) FROM orders").await,
        json!([[2]])
    );
}
