//! Real files of SQLite, and what a hostile statement tries.

mod attacks;
mod authorizer;
mod cancellation;
mod functions;
mod limits;
#[cfg(unix)]
mod reader_process;
mod tables;
mod values;

use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::super::tests::{all_slots, call, open, query, query_error, rows};
use super::super::{Database, DatabaseSettings};

/// A folder with a database and a source that reads it.
pub(super) struct Shop {
    pub(super) folder: TempDir,
    pub(super) database: Database,
}

/// `staff` is a view over the table `secret`, which is not listed; `team` is one over it.
const SCHEMA: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, total REAL, data BLOB);
    CREATE TABLE order_items (order_id INTEGER REFERENCES orders (id), product TEXT,
        seller INTEGER REFERENCES secret (id));
    CREATE TABLE secret (id INTEGER PRIMARY KEY, name TEXT, password TEXT);
    CREATE VIEW staff AS SELECT name FROM secret WHERE id < 2;
    CREATE VIEW team AS SELECT upper(name) AS name FROM staff;
    CREATE VIEW broken AS SELECT * FROM no_more;
    CREATE VIRTUAL TABLE docs USING fts5 (title, body);
    CREATE VIRTUAL TABLE notes USING fts5 (body);
    INSERT INTO secret VALUES (1, 'Eve', 'hunter2'), (2, 'Mallory', 'hunter3');
    INSERT INTO orders VALUES (1, 'Ada', 12.5, x'00ff'), (2, 'Bob', 3.0, NULL);
    INSERT INTO order_items VALUES (1, 'tea', 1), (1, 'cup', 1), (2, 'tea', 2);
    INSERT INTO docs VALUES ('Tea', 'How to make tea'), ('Cups', 'How to wash cups');
    INSERT INTO notes VALUES ('hunter2');
";

const LISTED: &str = "tables = ['orders', 'Order_Items', 'team', 'staff', 'broken', 'docs']";

impl Shop {
    /// A shop with the listed tables.
    pub(super) fn new() -> Self {
        Self::with_settings(LISTED)
    }

    pub(super) fn with_settings(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        Connection::open(path)
            .unwrap()
            .execute_batch(SCHEMA)
            .unwrap();
        let settings = format!("url = 'sqlite:shop.db'\n{settings}");
        let database = open(folder.path(), &settings).unwrap();
        Self { folder, database }
    }

    /// Returns the hash of the file, and the names of all files.
    pub(super) fn state(&self) -> (Vec<u8>, Vec<String>) {
        let file = std::fs::read(self.folder.path().join("shop.db")).unwrap();
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let names = files.map(|it| it.unwrap().file_name().into_string().unwrap());
        (Sha256::digest(file).to_vec(), names.collect())
    }
}

/// Calls a tool of a shop and returns its answer.
async fn answer(shop: &Shop, tool: &str, arguments: Value) -> Value {
    let output = call(&shop.database, tool, arguments).await;
    assert!(!output.is_error(), "{}", output.text);
    serde_json::from_str(&output.text).unwrap()
}
