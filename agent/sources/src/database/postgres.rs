//! Reads a database of PostgreSQL. A statement is confined by the role with which the agent
//! connects: it needs SELECT on the listed tables, and nothing else. In addition, each statement
//!
//! 1. runs in a read-only transaction that is rolled back, on its own connection ([`session`]);
//! 2. is a part of a SELECT of ours, which cuts each value before it is sent ([`select`]), and gets its
//!    values apart ([`parameter`]);
//! 3. returns nothing if the transaction has locked a table that is not listed, although the role may
//!    read it ([`locked_tables`]).
//!
//! [`url`] parses the setting of the operator, [`server`] is the address, [`tls`] encrypts
//! connections, and [`limited_stream`] bounds what a server sends. [`role`] finds out what the role
//! can do, [`schema`] which tables exist, and [`error`] explains the errors of the server.

mod error;
mod few_names;
mod limited_stream;
mod locked_tables;
mod parameter;
#[cfg(all(unix, any(test, feature = "testing")))]
#[allow(clippy::unwrap_used, reason = "for tests")]
pub(super) mod postgres_server;
mod role;
mod schema;
mod select;
mod server;
mod session;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod tls;
mod url;

use std::sync::Arc;

use bridge_traces::{SpanRole, TraceScope, TraceSpan, attributes};

use super::allowed_tables::AllowedTables;
use super::answer::{json_text, table_list};
use super::error::DatabaseError;
use super::password::Password;
use super::request::{Request, Slot};
use session::Session;
use tls::TlsConnector;
pub(super) use url::PostgresUrl;

/// A database of PostgreSQL, to which each call connects anew, so that changes of the session end
/// with the call.
#[derive(Debug)]
pub(super) struct Postgres {
    url: PostgresUrl,
    password: Password,
    tls: TlsConnector,
    allowed: Arc<AllowedTables>,
}

impl Postgres {
    /// Loads the trusted authorities. Nothing is connected.
    pub(super) fn open(
        url: &PostgresUrl,
        password: Password,
        allowed: Arc<AllowedTables>,
    ) -> Result<Self, String> {
        Ok(Self {
            url: url.clone(),
            password,
            tls: TlsConnector::new(url.config.get_ssl_mode())?,
            allowed,
        })
    }

    /// Begins the span of an operation, which names the server and the database.
    pub(super) fn begin_span(&self, scope: &TraceScope, operation: &str) -> TraceSpan {
        let config = &self.url.config;
        // A server's default is the database with the name of the role.
        let database = config.get_dbname().or(config.get_user());
        let database = database.unwrap_or_default();
        let span = scope.begin(SpanRole::Client, || format!("{operation} {database}"));
        span.set_text(attributes::DB_SYSTEM_NAME, "postgresql");
        span.set_text(attributes::DB_NAMESPACE, database);
        span.set_text(attributes::SERVER_ADDRESS, self.url.address.name());
        if let Some(port) = self.url.address.port() {
            span.set_number(attributes::SERVER_PORT, port.into());
        }
        span
    }

    pub(super) async fn answer(
        &self,
        request: Request,
        slot: Slot,
    ) -> Result<String, DatabaseError> {
        let mut session = self.connect(slot).await?;
        let answer = self.answer_in(&mut session, request).await;
        session.finish(answer)
    }

    async fn connect(&self, slot: Slot) -> Result<Session, DatabaseError> {
        let mut config = self.url.config.clone();
        self.password.expose(|password| {
            config.password(password);
        })?;
        Session::connect(&self.url.address, &config, &self.tls, slot).await
    }

    /// Answers in a transaction, which is rolled back.
    async fn answer_in(
        &self,
        session: &mut Session,
        request: Request,
    ) -> Result<String, DatabaseError> {
        let mut transaction = session.begin().await?;
        match request {
            Request::ListTables => {
                table_list(schema::readable_tables(&transaction, &self.allowed).await?)
            }
            Request::DescribeTable(table) => {
                json_text(&schema::describe(&transaction, &table, &self.allowed).await?)
            }
            Request::Query(query) => select::run(&mut transaction, &query, &self.allowed).await,
        }
    }

    /// Connects, and returns warnings for the operator.
    pub(super) async fn warnings(&self, slot: Slot) -> Result<Vec<String>, DatabaseError> {
        let mut session = self.connect(slot).await?;
        let warnings = self.warnings_in(&mut session).await;
        session.finish(warnings)
    }

    async fn warnings_in(&self, session: &mut Session) -> Result<Vec<String>, DatabaseError> {
        let transaction = session.begin().await?;
        let mut warnings = role::warnings(&transaction).await?;
        warnings.extend(schema::warnings(&transaction, &self.allowed).await?);
        if self.url.is_exposed() {
            warnings.push(
                "`sslmode=disable` in `url` sends the password and all rows to another machine \
                 without encryption: use `sslmode=require`"
                    .to_owned(),
            );
        }
        Ok(warnings)
    }
}
