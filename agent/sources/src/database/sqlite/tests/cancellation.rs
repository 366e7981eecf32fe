//! Statements that take long.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;
use tokio::time::timeout;

use super::super::cancellation::{CancelOnDrop, Cancellation};
use super::super::{DatabaseError, connection};
use super::*;

const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

/// Statements that would take hours.
fn slow_statements() -> Vec<String> {
    let numbers = format!("{ENDLESS}, few AS (SELECT i FROM n LIMIT 100000)");
    vec![
        format!("{ENDLESS} SELECT count(*) FROM n"),
        format!("{numbers} SELECT count(*) FROM few a, few b, few c"),
        format!(
            "{numbers} SELECT max(a.i * b.i) FROM few a JOIN few b ON a.i % 7 < b.i ORDER BY 1"
        ),
        format!("{ENDLESS} SELECT sum(length(hex(zeroblob(500000)))) FROM n"),
        format!("{ENDLESS} SELECT i FROM n ORDER BY i DESC"),
        format!(
            "{ENDLESS} SELECT length(group_concat(i) OVER (ORDER BY i)) FROM (SELECT i FROM n LIMIT 9999999)"
        ),
    ]
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_stopped() {
    let shop = Shop::with_settings("tables = ['orders']\ntimeout = '300ms'");
    for sql in slow_statements() {
        let start = Instant::now();
        let error = query_error(&shop.database, &sql).await;
        let expected = "the call took too long and was stopped";
        assert!(error.starts_with(expected), "{sql}: {error}");
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{:?}",
            start.elapsed()
        );
    }
    all_slots(&shop.database).await;
}

/// Set in the process that uses up its memory. The limit is one of the whole process, in which other
/// tests would fail.
const MEMORY_PROCESS: &str = "MEMORY_PROCESS";

#[test]
fn memory_is_bounded() {
    if std::env::var_os(MEMORY_PROCESS).is_some() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(use_memory_up());
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args([&format!("{module}::memory_is_bounded"), "--exact"]);
    test.env(MEMORY_PROCESS, "1");
    assert!(test.status().unwrap().success());
}

async fn use_memory_up() {
    let shop = Shop::with_settings("tables = ['orders']\ntimeout = '3s'");
    let long = "printf('%1000000s', '')";
    let columns = vec!["upper(x)"; 250].join(", ");
    for sql in [
        format!("{ENDLESS} SELECT json_group_array({long}) FROM n"),
        format!("{ENDLESS} SELECT i FROM n ORDER BY randomblob(10000)"),
        format!(
            "{ENDLESS}, m AS MATERIALIZED (SELECT {long} FROM n) SELECT count(*) FROM m a, m b"
        ),
        format!(
            "WITH m (x) AS MATERIALIZED (SELECT {long}), w AS (SELECT {columns} FROM m \
             UNION ALL SELECT {columns} FROM m UNION ALL SELECT {columns} FROM m) SELECT * FROM w"
        ),
        format!(
            "{ENDLESS}, x (j) AS MATERIALIZED (SELECT json_group_array(i) FROM \
             (SELECT i FROM n LIMIT 20000)) SELECT json_pretty(j, {long}) FROM x"
        ),
    ] {
        let error = query_error(&shop.database, &sql).await;
        let expected = ["too much memory", "more than 256 KiB", "took too long"];
        assert!(
            expected.iter().any(|it| error.contains(it)),
            "{sql}: {error}"
        );
    }
    // The allocator keeps some of it for each thread. Without a limit it would be several GiB.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let peak_kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak_kib < 1536 * 1024, "{peak_kib}");
}

#[tokio::test]
async fn an_abandoned_call_ends_soon() {
    let shop = Shop::with_settings("tables = ['orders']\ntimeout = '60s'");
    for sql in slow_statements() {
        let calling = call(&shop.database, "query", json!({ "sql": sql }));
        timeout(Duration::from_millis(100), calling)
            .await
            .unwrap_err();
        let start = Instant::now();
        all_slots(&shop.database).await;
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{sql}: {:?}",
            start.elapsed()
        );
    }
}

#[tokio::test]
async fn a_connection_stops_at_its_deadline_and_when_it_was_cancelled_before() {
    let shop = Shop::new();
    let path = shop.folder.path().join("shop.db");
    let soon = Instant::now() + Duration::from_millis(100);
    let cancellation = Arc::new(Cancellation::new(soon));
    let at_deadline = connection::open(&path, &cancellation).unwrap();
    let late = Instant::now() + Duration::from_secs(60);
    let cancellation = Arc::new(Cancellation::new(late));
    let cancelled = connection::open(&path, &cancellation).unwrap();
    drop(CancelOnDrop(Arc::clone(&cancellation)));
    let start = Instant::now();
    for connection in [&at_deadline, &cancelled] {
        let sql = format!("{ENDLESS} SELECT count(*) FROM n");
        let error = connection.query_row(&sql, [], |_| Ok(())).unwrap_err();
        assert_eq!(
            error.sqlite_error_code(),
            Some(ErrorCode::OperationInterrupted)
        );
    }
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(
        connection::open(&path, &cancellation).err(),
        Some(DatabaseError::Timeout)
    );
}

#[tokio::test]
async fn a_call_waits_for_others_until_its_time_is_over() {
    let shop = Shop::with_settings("tables = ['orders']\ntimeout = '50ms'");
    let running = all_slots(&shop.database).await;
    let error = query_error(&shop.database, "SELECT 1").await;
    assert!(
        error.starts_with("too many calls use the database"),
        "{error}"
    );
    drop(running);
    assert_eq!(rows(&shop.database, "SELECT 1").await, json!([[1]]));
}
