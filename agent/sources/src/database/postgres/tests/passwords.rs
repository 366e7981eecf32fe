//! The password of the role, and that nothing shows it.

use std::path::Path;
use std::sync::Arc;

use agent_secrets::{MasterKey, SecretStore, SecretText};
use bridge_output::CapturedLog;

use super::super::super::DatabaseSettings;
use super::*;

fn settings(shop: &Shop, password: &str) -> DatabaseSettings {
    let url = shop.url("narrow", "127.0.0.1");
    toml::from_str(&format!("url = '{url}'\n{password}\n{LISTED}")).unwrap()
}

#[tokio::test]
async fn a_stored_password_is_read_for_each_call() {
    let shop = Shop::create().await;
    let folder = tempfile::tempdir().unwrap();
    let key = MasterKey::generate(&folder.path().join("key")).unwrap();
    let secrets = SecretStore::open(&folder.path().join("secrets.json"), key).unwrap();
    let secrets = Arc::new(secrets);
    let settings = settings(&shop, "password_secret = 'shop'");
    let error = Database::open("shop", &settings, Some(&secrets), None).unwrap_err();
    assert_eq!(error, "the secret of `password_secret` is not stored");
    let set = |value: &str| {
        let value = SecretText::new(value.to_owned());
        secrets.set("shop", None, &value).unwrap();
    };
    set("hunter2");
    let database = Database::open("shop", &settings, Some(&secrets), None).unwrap();
    assert_eq!(rows(&database, "SELECT 1").await, json!([[1]]));
    let unavailable = "the database cannot be used at the moment: do without it";
    set("hunter3");
    assert_eq!(query_error(&database, "SELECT 1").await, unavailable);
    secrets.remove("shop", None).unwrap();
    assert_eq!(query_error(&database, "SELECT 1").await, unavailable);
    set("hunter2");
    assert_eq!(rows(&database, "SELECT 1").await, json!([[1]]));
}

#[tokio::test]
async fn no_password_is_in_the_log_or_an_error() {
    let shop = Shop::create().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "hunter3 and more\n").unwrap();
    let (log, _guard) = CapturedLog::start();
    for password in [
        "password = 'hunter2'".to_owned(),
        "password = 'hunter3'".to_owned(),
        format!("password_file = '{}'", file.display()),
    ] {
        let database = settings(&shop, &password).resolved(Path::new("/"));
        let database = Database::open("shop", &database, None, None).unwrap();
        let text = call(&database, "query", json!({ "sql": "SELECT 1" })).await;
        let shown = format!("{text:?} {database:?}");
        assert!(!shown.contains("hunter"), "{shown}");
    }
    let log = log.text();
    let expected = "password authentication failed for user";
    assert_eq!(log.matches(expected).count(), 2, "{log}");
    assert!(!log.contains("hunter"), "{log}");
}
