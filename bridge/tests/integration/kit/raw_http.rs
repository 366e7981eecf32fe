//! HTTP on a plain socket, for clients that do not complete their requests.

use bridge::ServerHandle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::with_deadline;

pub(crate) async fn connect(bridge: &ServerHandle) -> TcpStream {
    TcpStream::connect(bridge.local_addr()).await.unwrap()
}

/// Connects, and sends these bytes.
pub(crate) async fn connect_and_send(bridge: &ServerHandle, bytes: &str) -> TcpStream {
    let mut socket = connect(bridge).await;
    socket.write_all(bytes.as_bytes()).await.unwrap();
    socket
}

/// Reads until the bridge closes the connection, and returns the text.
pub(crate) async fn read_to_end(mut socket: TcpStream) -> String {
    let mut response = Vec::new();
    // A rejected connection may be reset after the response.
    let _ = with_deadline("end of the connection", socket.read_to_end(&mut response)).await;
    String::from_utf8(response).unwrap()
}

/// Sends a request on a connection that remains open, and returns the response.
pub(crate) async fn get_health(socket: &mut TcpStream) -> String {
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let mut response = String::new();
    while !response.ends_with("ok") {
        let mut chunk = [0; 1024];
        let read = with_deadline("response", socket.read(&mut chunk))
            .await
            .unwrap();
        assert_ne!(read, 0, "{response}");
        response += std::str::from_utf8(&chunk[..read]).unwrap();
    }
    response
}

/// Connects until a connection is served, which is when one of `max_connections` has ended.
pub(crate) async fn wait_for_free_connection(bridge: &ServerHandle) {
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let served = async {
        while !read_to_end(connect_and_send(bridge, request).await)
            .await
            .ends_with("ok")
        {}
    };
    with_deadline("free connection", served).await;
}
