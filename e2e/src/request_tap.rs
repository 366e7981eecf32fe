//! A TCP proxy that records what clients send to a bridge.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A proxy between clients and a bridge, which may be away for a while. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestTap {
    address: SocketAddr,
    requests: Requests,
    server: JoinHandle<()>,
}

/// The bytes that were sent on each connection.
type Requests = Arc<Mutex<Vec<Vec<u8>>>>;

impl RequestTap {
    /// Starts the proxy on a free port.
    pub(crate) async fn start(bridge: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Requests::default();
        let server = tokio::spawn(serve(listener, bridge, Arc::clone(&requests)));
        Self {
            address,
            requests,
            server,
        }
    }

    /// Returns the URL of the MCP endpoint through the proxy.
    pub(crate) fn mcp_url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns how often clients have sent this text.
    pub(crate) fn count(&self, text: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        let connections = requests.iter();
        connections
            .map(|bytes| String::from_utf8_lossy(bytes).matches(text).count())
            .sum()
    }
}

impl Drop for RequestTap {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, bridge: SocketAddr, requests: Requests) {
    // Aborted with this task.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let number = {
            let mut requests = requests.lock().unwrap();
            requests.push(Vec::new());
            requests.len() - 1
        };
        connections.spawn(forward(client, bridge, Arc::clone(&requests), number));
    }
}

/// Forwards a connection until either side closes it.
async fn forward(mut client: TcpStream, bridge: SocketAddr, requests: Requests, number: usize) {
    let Ok(mut bridge) = TcpStream::connect(bridge).await else {
        return;
    };
    let _ = (client.set_nodelay(true), bridge.set_nodelay(true));
    let ((mut from_client, mut to_client), (mut from_bridge, mut to_bridge)) =
        (client.split(), bridge.split());
    let requests = async {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(bytes @ 1..) = from_client.read(&mut chunk).await {
            requests.lock().unwrap()[number].extend_from_slice(&chunk[..bytes]);
            if to_bridge.write_all(&chunk[..bytes]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = requests => {}
        _ = copy(&mut from_bridge, &mut to_client) => {}
    }
}
