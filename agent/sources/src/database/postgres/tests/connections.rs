//! How many connections there are.

use futures_util::future::join_all;
use tokio::time::timeout;

use super::super::super::MAX_CONCURRENT_CALLS;
use super::*;

#[tokio::test]
async fn no_more_connections_than_slots_are_open() {
    let shop = Shop::create().await;
    let admin = shop.admin().await;
    let database = shop.source("narrow", LISTED);
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'narrow'
        AND datname = current_database()";
    // Abandoned calls keep their slots until their connections have ended.
    for _ in 0..3 {
        let calls = (0..2 * MAX_CONCURRENT_CALLS)
            .map(|_| call(&database, "query", json!({ "sql": "SELECT pg_sleep(600)" })));
        let calling = timeout(Duration::from_millis(200), join_all(calls));
        calling.await.unwrap_err();
        let open: i64 = admin.query_one(sql, &[]).await.unwrap().get(0);
        assert!(open <= MAX_CONCURRENT_CALLS as i64, "{open}");
    }
    session::wait_until_gone(&admin, "narrow").await;
    assert_eq!(rows(&database, "SELECT 1").await, json!([[1]]));
}
