//! Connections that are encrypted.

use std::time::{Duration, Instant};

use rustls::RootCertStore;

use super::super::PostgresUrl;
use super::super::session::Session;
use super::super::tls::TlsConnector;
use super::*;

#[tokio::test]
async fn the_certificate_of_the_server_is_verified() {
    let shop = Shop::create().await;
    let mut trusted = RootCertStore::empty();
    trusted.add(shop.server.certificate().clone()).unwrap();
    let trusted = TlsConnector::with_authorities(trusted);
    let untrusted = TlsConnector::with_authorities(RootCertStore::empty());
    for (host, tls, is_accepted) in [
        ("localhost", &trusted, true),
        ("127.0.0.1", &trusted, false),
        ("localhost", &untrusted, false),
    ] {
        let url = format!("{}?sslmode=require", shop.url("narrow", host));
        let mut url = PostgresUrl::parse(&url).unwrap();
        url.config.password("hunter2");
        let slot = slot(Duration::from_secs(60)).await;
        let session = Session::connect(&url.address, &url.config, tls, slot).await;
        assert_eq!(session.is_ok(), is_accepted, "{host}");
        let Ok(mut session) = session else { continue };
        let transaction = session.begin().await.unwrap();
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let row = transaction.query_one(sql, &[]).await.unwrap();
        assert!(row.get::<_, bool>(0));
        // The request to cancel is also encrypted.
        let admin = shop.admin().await;
        let sleeping = transaction.batch_execute("SELECT pg_sleep(600)");
        tokio::time::timeout(Duration::from_millis(100), sleeping)
            .await
            .unwrap_err();
        drop(transaction);
        let start = Instant::now();
        drop(session);
        session::wait_until_gone(&admin, "narrow").await;
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
