//! The authorizer alone, for statements that `names_check` would refuse before.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::super::allowed_tables::AllowedTables;
use super::super::authorizer::{Authorizer, Refusal};
use super::super::cancellation::Cancellation;
use super::super::connection;
use super::super::schema::Schema;
use super::*;

/// Returns what is refused of a statement that is prepared for the database itself.
fn refusal(path: &Path, sql: &str) -> Option<Refusal> {
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut connection = connection::open(path, &Arc::new(Cancellation::new(deadline))).unwrap();
    let names = ["orders", "team", "docs"].map(str::to_owned).to_vec();
    let schema = Schema::load(&connection, &AllowedTables::Listed(names)).unwrap();
    let authorizer = Authorizer::new(Arc::new(schema));
    authorizer.install(&mut connection).unwrap();
    let prepared = connection.prepare(sql);
    assert_eq!(prepared.is_err(), authorizer.refusal().is_some(), "{sql}");
    authorizer.refusal()
}

#[tokio::test]
async fn it_refuses_the_values_of_tables_that_are_not_listed() {
    let shop = Shop::new();
    let path = shop.folder.path().join("shop.db");
    for (sql, table) in [
        ("SELECT password FROM secret", "secret"),
        ("SELECT (SELECT id FROM main.secret)", "secret"),
        ("WITH x AS (SELECT * FROM secret) SELECT * FROM x", "secret"),
        ("SELECT name FROM staff", "staff"),
        ("SELECT * FROM orders JOIN secret USING (id)", "secret"),
        ("SELECT c0 FROM notes_content", "notes_content"),
        ("SELECT sql FROM sqlite_master", "sqlite_master"),
        ("SELECT count(*) FROM sqlite_master", "sqlite_master"),
        ("SELECT name FROM pragma_table_list", "pragma_table_list"),
    ] {
        assert_eq!(
            refusal(&path, sql),
            Some(Refusal::Table(table.to_owned())),
            "{sql}"
        );
    }
    for sql in [
        "SELECT * FROM orders",
        "SELECT name FROM team",
        "SELECT count(*) FROM team",
        "SELECT c0 FROM docs_content",
        "WITH secret AS (SELECT 1 AS a) SELECT a FROM secret",
    ] {
        assert_eq!(refusal(&path, sql), None, "{sql}");
    }
}
