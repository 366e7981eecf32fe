//! Databases of SQLite, for each call of which the agent starts a process: statements that use the
//! machine up, and what is left of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::kit::*;

/// The token of the page of a second user.
const OTHER_TOKEN: &str = "token-of-another-test-page-0123456789";

const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

/// An agent with the source `shop`, whose database has the tables `orders` and `notes`.
struct Shop {
    bed: TestBed,
    _pages: [Page; 2],
    folder: TempDir,
    path: PathBuf,
    queries: AtomicUsize,
}

/// Creates the database.
fn create_database(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    let schema = "CREATE TABLE orders (item TEXT); INSERT INTO orders VALUES ('milk');
                  CREATE VIRTUAL TABLE notes USING fts5 (body);";
    connection.execute_batch(schema).unwrap();
    connection
}

impl Shop {
    /// Starts an agent whose calls of the database may take this time.
    async fn start(timeout: &str) -> Self {
        Self::start_in(OsStr::new("files"), "shop.db", timeout, settings()).await
    }

    /// Starts an agent with its files in a folder of this name.
    async fn start_in(
        folder_name: &OsStr,
        file: &str,
        timeout: &str,
        settings: agent::Config,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join(folder_name);
        std::fs::create_dir(&files).unwrap();
        let path = files.join(file);
        drop(create_database(&path));
        let tools = format!(
            "[sources.shop]\ntype = 'database'\nurl = 'sqlite:{file}'\ntables = ['*']\n\
             timeout = '{timeout}'\n\n[profiles.all]\nallow = ['shop-*']\ngrant = ['read']\nself_made = true\n"
        );
        let tools_file = files.join("tools.toml");
        std::fs::write(&tools_file, tools).unwrap();
        let bed = TestBed::start_with(agent::Config {
            tools_file: Some(tools_file),
            own_program: Some(built_program("mcp-web")),
            ..settings
        })
        .await;
        let pages = [
            bed.connect_page_of(TOKEN).await,
            bed.connect_page_of(OTHER_TOKEN).await,
        ];
        Self {
            bed,
            _pages: pages,
            folder,
            path,
            queries: AtomicUsize::new(0),
        }
    }

    /// Begins a query of a user.
    async fn ask(&self, token: &str, query: &Value) -> EventStream {
        let number = self.queries.fetch_add(1, Ordering::Relaxed);
        let request = self.bed.put(&format!("query-{number}"), query);
        EventStream::open(streaming(request).bearer_auth(token)).await
    }

    /// Begins a query that calls a tool.
    async fn begin(&self, token: &str, tool: &str, arguments: Value) -> EventStream {
        let query = prompt(&format!("/shop-{tool} {arguments}"));
        self.ask(token, &query).await
    }

    /// Calls a tool, and returns what has become of the call.
    async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let events = self.begin(token, tool, arguments).await.collect().await;
        let mut contents = events.iter().map(|event| &event["content"]);
        let finished = contents.find(|content| content["type"] == "tool-finished");
        finished.unwrap_or_else(|| panic!("{events:?}")).clone()
    }

    async fn query(&self, token: &str, sql: &str) -> Value {
        self.call(token, "query", json!({ "sql": sql })).await
    }

    /// Waits until this number of processes read the database, and returns them.
    async fn wait_for_readers(&self, count: usize) -> Vec<PathBuf> {
        wait_for_readers(&self.path, count).await
    }
}

/// Returns the processes with the command `read-sqlite` that have a file open, as folders of `/proc`.
fn readers(path: &Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let processes = processes.filter_map(|entry| Some(entry.ok()?.path()));
    let is_reader = |process: &PathBuf| {
        let arguments = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let files = std::fs::read_dir(process.join("fd"));
        let mut files = files.into_iter().flatten().flatten();
        arguments.ends_with(b"\0read-sqlite\0")
            && files.any(|file| std::fs::read_link(file.path()).is_ok_and(|it| it == path))
    };
    processes.filter(is_reader).collect()
}

async fn wait_for_readers(path: &Path, count: usize) -> Vec<PathBuf> {
    let waiting = async {
        loop {
            let readers = readers(path);
            if readers.len() == count {
                return readers;
            }
            raw_page::poll_pause().await;
        }
    };
    with_deadline(&format!("{count} readers"), waiting).await
}

/// Statements that SQLite does not stop for minutes.
fn unstoppable_statements() -> [String; 2] {
    let column = ["(x LIKE p)"; 15].join("+");
    let like = format!(
        "WITH m (x, p) AS MATERIALIZED (SELECT printf('%.*c', 1000000, 'a'), \
         '%' || printf('%.*c', 250, 'a') || 'b') SELECT {} FROM m",
        [column.as_str(); 50].join(", ")
    );
    let search = "SELECT 1 FROM notes WHERE notes MATCH \
                  replace(printf('%.*c', 200000, 'x'), 'x', 'a OR ') || 'a'";
    [like, search.to_owned()]
}

fn assert_answered(call: &Value) {
    assert!(call["result"].to_string().contains("rows"), "{call}");
}

#[tokio::test]
async fn statements_that_sqlite_does_not_stop_end_with_their_time() {
    let shop = Shop::start("1s").await;
    for sql in unstoppable_statements() {
        let start = Instant::now();
        let calls = [&sql, &sql].map(|sql| shop.query(TOKEN, sql));
        for call in join_all(calls).await {
            assert_eq!(call["outcome"], "timeout", "{call}");
        }
        // The slots are free again, also for the same user.
        for token in [OTHER_TOKEN, TOKEN] {
            assert_answered(&shop.query(token, "SELECT * FROM orders").await);
        }
        let time = start.elapsed();
        assert!(time < Duration::from_secs(5), "{time:?}: {sql:.100}");
        shop.wait_for_readers(0).await;
    }
}

#[tokio::test]
async fn a_user_has_at_most_two_calls_and_leaves_no_process_after_them() {
    let shop = Shop::start("60s").await;
    let [like, _] = unstoppable_statements();
    let endless = format!("{ENDLESS} SELECT count(*) FROM n");
    let begun = [&like, &endless, &like, &endless];
    let begun = begun.map(|sql| shop.begin(TOKEN, "query", json!({ "sql": sql })));
    let begun = join_all(begun).await;
    let first = shop.wait_for_readers(2).await;
    assert_answered(&shop.query(OTHER_TOKEN, "SELECT * FROM orders").await);
    assert_eq!(shop.wait_for_readers(2).await, first, "the others wait");
    // Their queries are cancelled.
    drop(begun);
    shop.bed.wait_for_running(0).await;
    shop.wait_for_readers(0).await;
    assert_answered(&shop.query(TOKEN, "SELECT * FROM orders").await);
}

#[tokio::test]
async fn a_statement_that_needs_too_much_memory_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    for file in [None, Some(folder.path().join("conversations.db"))] {
        let mut settings = settings();
        settings.conversations.conversations_file = file;
        let shop = Shop::start_in(OsStr::new("files"), "shop.db", "60s", settings).await;
        let hog = format!("{ENDLESS} SELECT i FROM n ORDER BY randomblob(10000)");
        let using_memory = async {
            let call = shop.query(TOKEN, &hog).await;
            let error = call["error"].to_string();
            assert!(error.contains("too much memory"), "{call}");
        };
        let talking = async {
            for _ in 0..5 {
                let query = json!({ "prompt": "x".repeat(20_000), "conversation": "c" });
                let last = shop.ask(OTHER_TOKEN, &query).await.last().await;
                assert_eq!(last["type"], "query_complete", "{last}");
            }
        };
        tokio::join!(using_memory, talking);
        shop.wait_for_readers(0).await;
    }
    // SQLite has no limit in the process of the agent.
    let connection = Connection::open_in_memory().unwrap();
    let limit = connection.query_row("PRAGMA hard_heap_limit", [], |row| row.get(0));
    assert_eq!(limit, Ok(0_i64));
}

#[tokio::test]
async fn a_process_has_no_variables_and_has_its_own_limits() {
    let shop = Shop::start("60s").await;
    let endless = json!({ "sql": format!("{ENDLESS} SELECT count(*) FROM n") });
    let _begun = shop.begin(TOKEN, "query", endless).await;
    // The process that described the tables may still be ending.
    let reading = async {
        loop {
            let process = shop.wait_for_readers(1).await.remove(0);
            let read = |file: &str| std::fs::read_to_string(process.join(file));
            if let (Ok(variables), Ok(limits)) = (read("environ"), read("limits")) {
                return (variables, limits);
            }
        }
    };
    let (variables, limits) = with_deadline("a reader that runs", reading).await;
    assert_eq!(variables, "");
    let limit = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(limit("Max data size"), (256 * 1024 * 1024).to_string());
    assert_eq!(limit("Max cpu time"), "61");
}

#[tokio::test]
async fn a_path_may_have_any_characters() {
    let folder = OsStr::from_bytes(b"a \"b\"\n\xff%41?x#");
    let shop = Shop::start_in(folder, "file:shop?mode=memory&#%42.db", "10s", settings()).await;
    let call = shop.query(TOKEN, "SELECT item FROM orders").await;
    assert!(call["result"].to_string().contains("milk"), "{call}");
}

#[tokio::test]
async fn numbers_and_errors_pass_unchanged() {
    let shop = Shop::start("10s").await;
    let numbers = json!([
        0.1,
        5e-324,
        1.7976931348623157e308,
        9007199254740993_i64,
        "a\n\"ö",
        null
    ]);
    let sql = "SELECT ?1 = 0.1, ?2 = 5e-324, ?3 = 1.7976931348623157e308, ?4 = 9007199254740993, \
               ?5 = 'a' || char(10) || '\"ö', ?6 IS NULL";
    let call = shop
        .call(TOKEN, "query", json!({ "sql": sql, "params": numbers }))
        .await;
    assert!(
        call["result"].to_string().contains("[[1,1,1,1,1,1]]"),
        "{call}"
    );
    for (sql, expected) in [
        ("SELECT * FROM other", "there is no table `other` to read"),
        (
            "SELECT ?1",
            "the SQL has 1 parameters and `params` has 0 values",
        ),
        ("DELETE FROM orders", "only one SELECT is possible"),
    ] {
        let call = shop.query(TOKEN, sql).await;
        assert_eq!(call["outcome"], "tool_error", "{call}");
        assert!(call["error"].to_string().contains(expected), "{call}");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_refused() {
    let shop = Shop::start("10s").await;
    let connection = Connection::open(&shop.path).unwrap();
    for number in 0..100 {
        let name = format!("{number}{}", "x".repeat(50_000));
        let create = format!("CREATE TABLE \"{name}\" (a)");
        connection.execute_batch(&create).unwrap();
    }
    drop(connection);
    let call = shop.call(TOKEN, "list_tables", json!({})).await;
    assert!(call["error"].to_string().contains("a fault"), "{call}");
    shop.wait_for_readers(0).await;
    assert!(shop.folder.path().exists());
}

/// A request of a plugin, as lines.
fn plugin_call(sql: &str) -> String {
    let info = json!({ "name": "test", "version": "1" });
    let initialize =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    let call = json!({ "name": "query", "arguments": { "sql": sql } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

#[tokio::test]
async fn no_process_outlives_an_agent_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    drop(create_database(&path));
    for sql in unstoppable_statements() {
        let url = format!("sqlite:{}", path.display());
        let mut plugin = agent_program()
            .args(["plugin", "serve", "database", "--url", &url])
            .args(["--table", "orders", "--table", "notes", "--timeout", "60s"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = plugin.stdin.take().unwrap();
        let lines = plugin_call(&sql);
        stdin.write_all(lines.as_bytes()).await.unwrap();
        wait_for_readers(&path, 1).await;
        // The signal is SIGKILL.
        plugin.kill().await.unwrap();
        wait_for_readers(&path, 0).await;
    }
}

/// The process that reads a database for an agent.
fn reader() -> Command {
    let mut reader = Command::new(built_program("mcp-web"));
    reader.arg("read-sqlite").stdin(Stdio::piped());
    reader
}

#[tokio::test]
async fn a_process_that_is_not_killed_ends_by_its_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    drop(create_database(&path));
    let [like, _] = unstoppable_statements();
    let query = json!({ "sql": like, "params": [], "limit": 1 });
    let file = json!({ "path": { "Unix": path.as_os_str().as_bytes() }, "allowed": ["*"] });
    let request = json!({ "file": file, "request": { "Call": { "Query": query } },
        "time": { "secs": 1, "nanos": 0 } });
    let mut reader = reader();
    let reader = reader.stdout(Stdio::piped()).kill_on_drop(true).spawn();
    let mut reader = reader.unwrap();
    let mut stdin = reader.stdin.take().unwrap();
    stdin
        .write_all(format!("{request}\n").as_bytes())
        .await
        .unwrap();
    let status = with_deadline("end", reader.wait()).await.unwrap();
    // SIGXCPU.
    assert_eq!(status.signal(), Some(24), "{status}");
}

#[tokio::test]
async fn the_command_is_not_for_people() {
    let mut reader = reader().stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = reader.stdin.take().unwrap();
    stdin.write_all(b"SELECT 1\n").await.unwrap();
    let mut error = String::new();
    let mut stderr = reader.stderr.take().unwrap();
    stderr.read_to_string(&mut error).await.unwrap();
    assert!(error.contains("for an agent of this version"), "{error}");
    let status = with_deadline("end", reader.wait()).await.unwrap();
    assert_eq!(status.code(), Some(1));
}
