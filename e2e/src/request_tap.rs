//! A TCP proxy that records what clients send to a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A proxy between clients and a server, such as a bridge, which may be away for a while. It stops when
/// it is dropped.
#[derive(Debug)]
pub struct RequestTap {
    address: SocketAddr,
    requests: Requests,
    forwarding: JoinHandle<()>,
}

/// The bytes that were sent on each connection.
type Requests = Arc<Mutex<Vec<Vec<u8>>>>;

impl RequestTap {
    /// Starts the proxy on a free port.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Requests::default();
        let forwarding = tokio::spawn(serve(listener, server, Arc::clone(&requests)));
        Self {
            address,
            requests,
            forwarding,
        }
    }

    /// Returns the address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how often clients have sent this text.
    pub fn count(&self, text: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        let connections = requests.iter();
        connections
            .map(|bytes| String::from_utf8_lossy(bytes).matches(text).count())
            .sum()
    }
}

impl Drop for RequestTap {
    fn drop(&mut self) {
        self.forwarding.abort();
    }
}

async fn serve(listener: TcpListener, server: SocketAddr, requests: Requests) {
    // Aborted with this task.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let number = {
            let mut requests = requests.lock().unwrap();
            requests.push(Vec::new());
            requests.len() - 1
        };
        connections.spawn(forward(client, server, Arc::clone(&requests), number));
    }
}

/// Forwards a connection until either side closes it.
async fn forward(mut client: TcpStream, server: SocketAddr, requests: Requests, number: usize) {
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.split(), server.split());
    let requests = async {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(bytes @ 1..) = from_client.read(&mut chunk).await {
            requests.lock().unwrap()[number].extend_from_slice(&chunk[..bytes]);
            if to_server.write_all(&chunk[..bytes]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = requests => {}
        _ = copy(&mut from_server, &mut to_client) => {}
    }
}
