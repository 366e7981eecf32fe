//! Calls of the source, as the agent makes them.

mod settings;

use std::path::Path;

use agent_tools::CallPermit;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::*;

/// Opens the source `shop` with these settings, whose relative paths begin at a folder. The errors are
/// those of `tools_file`, which quotes no value. Calls may take 60 s on a busy machine, unless the
/// settings say otherwise.
pub(super) fn open(folder: &Path, settings: &str) -> Result<Database, String> {
    let mut settings = settings.to_owned();
    if !settings.contains("timeout") {
        settings.push_str("\ntimeout = '60s'");
    }
    let settings: DatabaseSettings =
        toml::from_str(&settings).map_err(|it| it.message().to_owned())?;
    Database::open("shop", &settings.resolved(folder), None, None)
}

/// Takes all slots of a database, as soon as they are free.
pub(super) async fn all_slots(database: &Database) -> Vec<CallPermit> {
    let users = (0..MAX_CONCURRENT_CALLS).map(|user| format!("user {user}"));
    join_all(users.map(async |user| database.shares.acquire(&user).await)).await
}

/// Calls a tool.
pub(super) async fn call(database: &Database, tool: &str, arguments: Value) -> CallOutput {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let user = "user".to_owned();
    database
        .call(tool, arguments, &SourceContext { user })
        .await
}

/// Returns the answer to a statement.
pub(super) async fn query(database: &Database, sql: &str) -> String {
    let output = call(database, "query", json!({ "sql": sql })).await;
    assert!(!output.is_error(), "{sql}: {}", output.text);
    output.text
}

/// Returns the rows of the answer to a statement.
pub(super) async fn rows(database: &Database, sql: &str) -> Value {
    let answer: Value = serde_json::from_str(&query(database, sql).await).unwrap();
    answer["rows"].clone()
}

/// Returns the error of a statement.
pub(super) async fn query_error(database: &Database, sql: &str) -> String {
    let output = call(database, "query", json!({ "sql": sql })).await;
    let shown = &sql[..sql.floor_char_boundary(100)];
    assert!(output.is_error(), "{shown}: {}", output.text);
    output.text
}
