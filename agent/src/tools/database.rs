//! The built-in source `database`: a SQL database, of which only the listed tables can be read.
//!
//! The SQL is written by a language model that may follow the orders of a stranger: nothing of it is
//! trusted.
//!
//! - [`settings`] has what the operator writes, [`allowed_tables`] the tables.
//! - [`request`] is a call of a tool; [`answer`] is its text for the model, and [`error`] why there is
//!   none.
//! - [`sqlite`] reads a file of SQLite.

mod allowed_tables;
mod answer;
mod error;
mod request;
mod settings;
mod slot;
mod sqlite;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_protocol::ErrorCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::builtin_tool::builtin_tool;
use super::class::{ToolClass, ToolEffect};
use super::output::{CallOutcome, CallOutput};
use super::source::{CallContext, Source, SourceMeta, SourceTool};
use crate::failure::Failure;
use error::DatabaseError;
use request::{MAX_PARAMETERS, Request};
pub(crate) use settings::DatabaseSettings;
use slot::Slot;
use sqlite::Sqlite;

/// How many calls of a source run at the same time. A connection is opened for each, and a hostile
/// statement can use a processor until its time is over.
const MAX_CONCURRENT_CALLS: usize = 4;

/// The source.
#[derive(Debug)]
pub(super) struct Database {
    meta: SourceMeta,
    sqlite: Sqlite,
    tools: Arc<[SourceTool]>,
    prompt: String,
    max_rows: usize,
    timeout: Duration,
    slots: Arc<Semaphore>,
}

impl Database {
    /// Checks the settings, and that the file exists if the database is one. Nothing is connected.
    pub(super) fn open(name: &str, settings: &DatabaseSettings) -> Result<Self, String> {
        let allowed = Arc::new(settings.tables.clone());
        let sqlite = Sqlite::open(settings.url.path(), allowed)?;
        let tables = settings.tables.sentence();
        Ok(Self {
            meta: SourceMeta {
                name: name.to_owned(),
                kind: "database",
            },
            tools: tools(settings)?.into(),
            prompt: format!("a SQLite database, which is only read: {tables}."),
            sqlite,
            max_rows: settings.max_rows,
            timeout: settings.timeout,
            slots: Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS)),
        })
    }

    /// Runs what needs a slot, until the time of a call is over.
    async fn in_time<T, F>(&self, run: impl FnOnce(Slot) -> F) -> Result<T, DatabaseError>
    where
        F: Future<Output = Result<T, DatabaseError>>,
    {
        let deadline = Instant::now() + self.timeout;
        let running = async {
            let permit = Arc::clone(&self.slots).acquire_owned().await;
            let _permit = permit.map_err(|_| DatabaseError::Unavailable)?;
            run(Slot { deadline, _permit }).await
        };
        let ended = timeout(self.timeout, running).await;
        ended.unwrap_or(Err(DatabaseError::Timeout))
    }

    async fn answer(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, DatabaseError> {
        let request = Request::parse(tool, arguments, self.max_rows)?;
        self.in_time(|slot| self.sqlite.answer(request, slot)).await
    }
}

fn tools(settings: &DatabaseSettings) -> Result<Vec<SourceTool>, String> {
    let max_rows = settings.max_rows;
    let class = ToolClass {
        effect: ToolEffect::Read,
        is_open_world: false,
    };
    let query = format!(
        "Runs one SELECT in the SQL of SQLite, and returns its columns and rows. `more` tells that there \
         are more rows. Values belong into `params`, not into the SQL. It may take {}.",
        humantime::format_duration(settings.timeout)
    );
    let params = json!({ "type": "array", "maxItems": MAX_PARAMETERS,
        "items": { "type": ["null", "boolean", "number", "string"] },
        "description": "The values of ?1, ?2 … in the SQL" });
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": max_rows,
        "default": max_rows, "description": "The most rows to return" });
    Ok(vec![
        builtin_tool(
            "list_tables",
            "Lists the tables and views that can be read.",
            json!({}),
            &[],
            class,
        )?,
        builtin_tool(
            "describe_table",
            "Returns the columns of a table or view, with their types, and its foreign keys.",
            json!({ "table": { "type": "string" } }),
            &["table"],
            class,
        )?,
        builtin_tool(
            "query",
            &query,
            json!({ "sql": { "type": "string" }, "params": params, "limit": limit }),
            &["sql"],
            class,
        )?,
    ])
}

impl Source for Database {
    fn meta(&self) -> &SourceMeta {
        &self.meta
    }

    fn start(&self) -> BoxFuture<'_, Result<(), Failure>> {
        async {
            let warnings = self.in_time(|slot| self.sqlite.warnings(slot)).await;
            let warnings = warnings.map_err(|error| {
                Failure::new(ErrorCode::AgentUnavailable, error.to_string()).with_loggable_message()
            })?;
            for warning in warnings {
                tracing::warn!(source = self.meta.name, "{warning}");
            }
            Ok(())
        }
        .boxed()
    }

    fn tools(&self) -> Arc<[SourceTool]> {
        Arc::clone(&self.tools)
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, CallOutput> {
        async move {
            match self.answer(tool, arguments).await {
                Ok(text) => CallOutput::from_text(text),
                Err(error) => CallOutput::failed(outcome(&error), error.to_string()),
            }
        }
        .boxed()
    }

    fn prompt(&self) -> Option<Cow<'_, str>> {
        Some(self.prompt.as_str().into())
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

fn outcome(error: &DatabaseError) -> CallOutcome {
    match error {
        DatabaseError::Timeout => CallOutcome::Timeout,
        DatabaseError::Unavailable => CallOutcome::Unavailable,
        _ => CallOutcome::ToolError,
    }
}
