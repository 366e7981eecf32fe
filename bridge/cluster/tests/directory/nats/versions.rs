//! The versions of the server.

use bridge_cluster::NatsServer;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::{check_contract_of, refusal, settings, start};

#[tokio::test]
async fn the_newest_version_keeps_the_contract() {
    check_contract_of(&[NatsServer::start()]).await;
}

#[tokio::test]
async fn the_oldest_supported_version_keeps_the_contract() {
    check_contract_of(&[NatsServer::start_oldest()]).await;
}

#[tokio::test]
async fn an_older_version_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut old = settings(&[]);
    old.servers = vec![listener.local_addr().unwrap().to_string()];
    let mut node = start(old);
    let (stream, _) = listener.accept().await.unwrap();
    let mut stream = BufReader::new(stream);
    let info = r#"INFO {"server_id":"A","version":"2.9.10","max_payload":1048576,"headers":true}"#;
    stream
        .write_all(format!("{info}\r\n").as_bytes())
        .await
        .unwrap();
    let mut line = String::new();
    while line.trim_end() != "PING" {
        line.clear();
        assert_ne!(stream.read_line(&mut line).await.unwrap(), 0);
    }
    stream.write_all(b"PONG\r\n").await.unwrap();
    let text = refusal(&mut node).await;
    assert!(
        text.contains("2.9.10") && text.contains("at least 2.10"),
        "{text}"
    );
    assert!(text.contains("https://nats.io"), "{text}");
}
