//! The server of all tests of a process, with a database for each test.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::OnceCell;
use tokio_postgres::Client;

use super::super::postgres_server::PostgresServer;
use super::*;

/// The server, which ends with the process.
static SERVER: OnceCell<PostgresServer> = OnceCell::const_new();

/// How many databases were created.
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A database with the schema, for one test.
#[derive(Debug)]
pub(super) struct Shop {
    pub(super) server: &'static PostgresServer,
    name: String,
}

impl Shop {
    pub(super) async fn create() -> Self {
        let server = SERVER.get_or_init(start).await;
        let name = format!("shop_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name} TEMPLATE shop");
        server
            .admin("postgres")
            .await
            .batch_execute(&create)
            .await
            .unwrap();
        Self { server, name }
    }

    /// Connects as the superuser.
    pub(super) async fn admin(&self) -> Client {
        self.server.admin(&self.name).await
    }

    /// Returns the URL for a role.
    pub(super) fn url(&self, role: &str, host: &str) -> String {
        self.server.url(role, host, &self.name)
    }

    /// Opens a source that connects as a role.
    pub(super) fn source(&self, role: &str, more: &str) -> Database {
        let url = self.url(role, "127.0.0.1");
        let settings = format!("url = '{url}'\npassword = 'hunter2'\n{more}");
        open(Path::new("/"), &settings).unwrap()
    }
}

/// Starts a server with the database that the others are copies of.
async fn start() -> PostgresServer {
    let server = PostgresServer::start();
    let admin = server.admin("postgres").await;
    admin.batch_execute("CREATE DATABASE shop").await.unwrap();
    let shop = server.admin("shop").await;
    shop.batch_execute(SCHEMA).await.unwrap();
    server
}
