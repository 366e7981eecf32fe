use std::net::Ipv4Addr;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// A server that answers `/readyz` with its status, and everything else with its name.
struct TestNode {
    address: SocketAddr,
    status: Arc<Mutex<u16>>,
    serving: JoinHandle<()>,
}

impl TestNode {
    async fn start(name: &'static str) -> Self {
        let listener = listener().await;
        let address = listener.local_addr().unwrap();
        let status = Arc::new(Mutex::new(200));
        let answered = Arc::clone(&status);
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, name, Arc::clone(&answered)));
            }
        });
        Self {
            address,
            status,
            serving,
        }
    }

    fn set_status(&self, status: u16) {
        *self.status.lock().unwrap() = status;
    }
}

/// Answers the first bytes, and returns all further ones.
async fn serve(mut stream: TcpStream, name: &str, status: Arc<Mutex<u16>>) {
    let mut bytes = [0; 1024];
    let length = stream.read(&mut bytes).await.unwrap();
    if bytes.starts_with(b"GET /readyz ") {
        let status = *status.lock().unwrap();
        let response = format!("HTTP/1.0 {status} x\r\n\r\n");
        return stream.write_all(response.as_bytes()).await.unwrap();
    }
    stream.write_all(name.as_bytes()).await.unwrap();
    stream.write_all(&bytes[..length]).await.unwrap();
    let (mut from, mut to) = stream.split();
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

async fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap()
}

async fn balancer(nodes: &[&TestNode]) -> Balancer {
    let addresses = nodes.iter().map(|node| node.address);
    let balancer = Balancer::start(listener().await, addresses).unwrap();
    for node in 0..nodes.len() {
        balancer.wait_until(node, true).await;
    }
    balancer
}

/// Sends bytes through the balancer, and returns what comes back until the connection ends.
async fn send(balancer: &Balancer, text: &str) -> String {
    let mut stream = TcpStream::connect(balancer.address()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    // A connection that no node takes may be reset.
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

async fn answers(balancer: &Balancer) -> Vec<String> {
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(send(balancer, "").await);
    }
    answers.sort();
    answers
}

#[tokio::test]
async fn connections_go_to_one_node_after_the_other() {
    let (a, b) = (TestNode::start("a").await, TestNode::start("b").await);
    let balancer = balancer(&[&a, &b]).await;
    assert_eq!(answers(&balancer).await, ["a", "a", "b", "b"]);
}

#[tokio::test]
async fn a_node_that_is_not_ready_gets_no_new_connection_and_keeps_its_open_ones() {
    let (a, b) = (TestNode::start("a").await, TestNode::start("b").await);
    let balancer = balancer(&[&a, &b]).await;
    balancer.use_only(&[0]);
    let mut open = TcpStream::connect(balancer.address()).await.unwrap();
    open.write_all(b"1").await.unwrap();
    let mut bytes = [0; 2];
    open.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"a1");
    balancer.use_all();

    a.set_status(503);
    balancer.wait_until(0, false).await;

    assert_eq!(answers(&balancer).await, ["b", "b", "b", "b"]);
    open.write_all(b"2").await.unwrap();
    open.read_exact(&mut bytes[..1]).await.unwrap();
    assert_eq!(bytes[0], b'2');
    a.set_status(200);
    balancer.wait_until(0, true).await;
    assert_eq!(answers(&balancer).await, ["a", "a", "b", "b"]);
}

#[tokio::test]
async fn a_node_that_does_not_accept_is_skipped_before_it_is_checked() {
    let (a, b) = (TestNode::start("a").await, TestNode::start("b").await);
    let balancer = balancer(&[&a, &b]).await;
    a.serving.abort();
    assert!(a.serving.await.is_err_and(|error| error.is_cancelled()));
    assert_eq!(answers(&balancer).await, ["b", "b", "b", "b"]);
}

#[tokio::test]
async fn a_connection_is_closed_when_no_node_is_ready() {
    let a = TestNode::start("a").await;
    let balancer = balancer(&[&a]).await;
    a.set_status(503);
    balancer.wait_until(0, false).await;
    assert_eq!(send(&balancer, "x").await, "");
}
