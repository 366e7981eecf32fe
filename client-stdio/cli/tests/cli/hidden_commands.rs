//! Processes that the agent starts from its own program.

use rusqlite::Connection;

use crate::kit::*;

/// The MCP server is this program, which another process of it guards; a third one reads the database.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_is_guarded_and_a_database_read_by_this_program() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop.db");
    let connection = Connection::open(&database).unwrap();
    let schema = "CREATE TABLE orders (item TEXT); INSERT INTO orders VALUES ('oat milk');";
    connection.execute_batch(schema).unwrap();
    drop(connection);
    let servers = folder.path().join("servers.json").display().to_string();
    let url = format!("sqlite:{}", database.display());
    let mcp =
        |arguments: &[&str]| program(&[&["agent", "mcp", "--file", &servers], arguments].concat());

    let server = [
        PROGRAM, "agent", "plugin", "serve", "database", "--url", &url,
    ];
    let server = [&["add", "shop"], &server[..], &["--table", "orders"]].concat();
    let added = run(mcp(&server)).await;
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(added.stdout.contains("query"), "{added:?}");
    let call = [
        "call",
        "shop",
        "query",
        r#"{"sql": "SELECT item FROM orders"}"#,
    ];
    let called = run(mcp(&call)).await;
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(called.stdout.contains("oat milk"), "{called:?}");
}

#[tokio::test]
async fn the_guard_is_a_command_of_the_program_itself() {
    let ended = run(program(&["run-server"])).await;
    assert!(
        ended.stderr.contains("usage: mcp-web run-server"),
        "{ended:?}"
    );
    assert_ne!(ended.code, Some(0));
}
