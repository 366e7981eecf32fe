//! The routes for supervisors and load balancers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::{http_client, start_bridge, with_deadline};

#[tokio::test]
async fn readyz_is_200_while_the_bridge_serves_and_503_while_it_shuts_down() {
    let bridge = start_bridge().await;
    // The bridge accepts connections in order, so it has accepted this one when it serves the next.
    let mut open = TcpStream::connect(bridge.local_addr()).await.unwrap();
    open.write_all(b"GET /readyz HTTP/1.1\r\n").await.unwrap();
    let ready = http_client().get(format!("{}/readyz", bridge.url()));
    let ready = with_deadline("response", ready.send()).await.unwrap();
    assert_eq!(ready.status(), 200);
    assert_eq!(ready.text().await.unwrap(), "ready");
    let rest = async {
        // The shutdown begins before this runs.
        open.write_all(b"host: localhost\r\n\r\n").await.unwrap();
        let mut response = String::new();
        let end = open.read_to_string(&mut response);
        with_deadline("end of the connection", end).await.unwrap();
        response
    };
    let ((), response) = tokio::join!(biased; bridge.shutdown(), rest);
    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
    assert!(
        response.contains("\"error\":\"BridgeStopping\""),
        "{response}"
    );
}
