//! The built-in source `database`: a SQL database, of which only the listed tables can be read.
//!
//! The SQL is written by a language model that may follow the orders of a stranger, so it is not
//! trusted.
//!
//! - [`settings`] has the settings of the operator, [`allowed_tables`] the tables, and [`limits`] the
//!   limits without a setting.
//! - [`request`] is a call of a tool; [`answer`] is its text for the model, and [`error`] is why a
//!   call fails.
//! - [`sqlite`] and [`postgres`] read the two kinds of databases. [`password`] is for the second.

mod allowed_tables;
mod answer;
mod error;
mod limits;
#[cfg(feature = "postgres")]
mod password;
#[cfg(feature = "postgres")]
mod postgres;
mod request;
mod settings;
mod sqlite;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_secrets::SecretStore;
use agent_tools::{
    AgentFailure, CallOutput, CallStatus, SourceContext, SourceMeta, SourceTool, ToolClass,
    ToolEffect, ToolSource, UserShares, builtin_tool,
};
use bridge_protocol::ErrorCode;
use bridge_traces::{SpanRole, TraceScope, TraceSpan, attributes};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use error::DatabaseError;
use limits::{MAX_CALLS_PER_USER, MAX_CONCURRENT_CALLS, MAX_PARAMETERS};
#[cfg(feature = "postgres")]
use password::Password;
#[cfg(feature = "postgres")]
use postgres::Postgres;
#[cfg(all(unix, feature = "postgres", any(test, feature = "testing")))]
pub use postgres::postgres_server::PostgresServer;
use request::{Request, Slot};
pub use settings::DatabaseSettings;
use settings::DatabaseUrl;
use sqlite::Sqlite;
pub use sqlite::{READ_ARGUMENT, read_for_agent};

/// The user for whom the source is started.
const NO_USER: &str = "";

/// The source.
#[derive(Debug)]
pub(super) struct Database {
    meta: SourceMeta,
    engine: Engine,
    tools: Arc<[SourceTool]>,
    prompt: String,
    max_rows: usize,
    timeout: Duration,
    shares: UserShares,
}

/// The reader of the database.
#[derive(Debug)]
enum Engine {
    Sqlite(Sqlite),
    #[cfg(feature = "postgres")]
    Postgres(Postgres),
}

impl Database {
    /// Checks the settings, and that the file exists if the database is one. Nothing is connected.
    /// `own_program` has the hidden commands of the agent.
    pub(super) fn open(
        name: &str,
        settings: &DatabaseSettings,
        secrets: Option<&Arc<SecretStore>>,
        own_program: Option<&Path>,
    ) -> Result<Self, String> {
        let engine = Engine::open(settings, secrets, own_program)?;
        let (dialect, tables) = (engine.dialect(), settings.tables.sentence());
        Ok(Self {
            meta: SourceMeta {
                name: name.to_owned(),
                kind: "database",
            },
            tools: tools(&engine, settings)?.into(),
            prompt: format!("a {dialect} database, which is only read: {tables}."),
            engine,
            max_rows: settings.max_rows,
            timeout: settings.timeout,
            shares: UserShares::new(MAX_CONCURRENT_CALLS, MAX_CALLS_PER_USER),
        })
    }

    /// Waits for a slot, at most as long as a call may take, and then runs what needs it until the time
    /// of a call is over.
    async fn in_time<T, F>(
        &self,
        user: &str,
        run: impl FnOnce(Slot) -> F,
    ) -> Result<T, DatabaseError>
    where
        F: Future<Output = Result<T, DatabaseError>>,
    {
        let permit = timeout(self.timeout, self.shares.acquire(user)).await;
        let _permit = permit.map_err(|_| DatabaseError::Busy)?;
        let deadline = Instant::now() + self.timeout;
        let ended = timeout(self.timeout, run(Slot { deadline, _permit })).await;
        ended.unwrap_or(Err(DatabaseError::Timeout))
    }

    async fn answer(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        user: &str,
    ) -> Result<String, DatabaseError> {
        let request = Request::parse(tool, arguments, self.max_rows)?;
        let span = self.engine.begin_span(tool);
        let answering = self.in_time(user, |slot| self.engine.answer(request, slot));
        let answer = answering.await;
        if let Err(error) = &answer {
            span.fail(outcome(error).as_str());
        }
        answer
    }
}

impl Engine {
    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "for passwords")
    )]
    fn open(
        settings: &DatabaseSettings,
        secrets: Option<&Arc<SecretStore>>,
        own_program: Option<&Path>,
    ) -> Result<Self, String> {
        let tables = Arc::new(settings.tables.clone());
        Ok(match &settings.url {
            DatabaseUrl::Sqlite(path) => {
                if settings.has_password() {
                    return Err("a file of SQLite has no password: remove it".to_owned());
                }
                Self::Sqlite(Sqlite::open(path, tables, own_program)?)
            }
            #[cfg(feature = "postgres")]
            DatabaseUrl::Postgres(url) => {
                let password = Password::load(settings, secrets)?;
                Self::Postgres(Postgres::open(url, password, tables)?)
            }
        })
    }

    /// Returns the name of the SQL that it understands.
    fn dialect(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// Returns how its SQL refers to parameters.
    fn placeholders(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "?1, ?2",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "$1, $2",
        }
    }

    /// Begins the span of a call of a tool. It contains no SQL, which has the values that a model
    /// looks for.
    fn begin_span(&self, tool: &str) -> TraceSpan {
        let operation = match tool {
            "query" => "SELECT",
            other => other,
        };
        let scope = TraceScope::current();
        let span = match self {
            Self::Sqlite(_) => {
                let span = scope.begin(SpanRole::Internal, || operation.to_owned());
                span.set_text(attributes::DB_SYSTEM_NAME, "sqlite");
                span
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => postgres.begin_span(&scope, operation),
        };
        span.set_text(attributes::DB_OPERATION_NAME, operation);
        span
    }

    async fn answer(&self, request: Request, slot: Slot) -> Result<String, DatabaseError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.answer(request, slot).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => postgres.answer(request, slot).await,
        }
    }

    /// Connects, and returns warnings for the operator.
    async fn warnings(&self, slot: Slot) -> Result<Vec<String>, DatabaseError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.warnings(slot).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(postgres) => postgres.warnings(slot).await,
        }
    }
}

fn tools(engine: &Engine, settings: &DatabaseSettings) -> Result<Vec<SourceTool>, String> {
    let max_rows = settings.max_rows;
    let class = ToolClass {
        effect: ToolEffect::Read,
        is_open_world: false,
    };
    let query = format!(
        "Runs one SELECT in the SQL of {}, and returns its columns and rows. `more` tells that there \
         are more rows. Values belong into `params`, not into the SQL. It may take {}.",
        engine.dialect(),
        humantime::format_duration(settings.timeout)
    );
    let params = json!({ "type": "array", "maxItems": MAX_PARAMETERS,
        "items": { "type": ["null", "boolean", "number", "string"] },
        "description": format!("The values of {} in the SQL", engine.placeholders()) });
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

impl ToolSource for Database {
    fn meta(&self) -> &SourceMeta {
        &self.meta
    }

    fn start(&self) -> BoxFuture<'_, Result<(), AgentFailure>> {
        async {
            let warnings = self
                .in_time(NO_USER, |slot| self.engine.warnings(slot))
                .await;
            let warnings = warnings.map_err(|error| {
                AgentFailure::new(ErrorCode::AgentUnavailable, error.to_string())
                    .with_loggable_message()
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
        context: &'a SourceContext,
    ) -> BoxFuture<'a, CallOutput> {
        async move {
            match self.answer(tool, arguments, &context.user).await {
                Ok(text) => CallOutput::from_text(text),
                Err(error) => CallOutput::failed(outcome(&error), error.to_string()),
            }
        }
        .boxed()
    }

    fn prompt(&self) -> Option<Cow<'_, str>> {
        Some(self.prompt.as_str().into())
    }
}

fn outcome(error: &DatabaseError) -> CallStatus {
    match error {
        DatabaseError::Timeout => CallStatus::Timeout,
        DatabaseError::Unavailable | DatabaseError::Busy => CallStatus::Unavailable,
        _ => CallStatus::ToolError,
    }
}
