//! An HTTP server that publishes keys.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedRwLockWriteGuard, RwLock, watch};
use tokio::task::JoinHandle;

use crate::signer::Signer;

/// The body of the responses.
#[derive(Clone)]
pub(crate) struct KeyAnswer(String);

impl KeyAnswer {
    pub(crate) fn keys(signers: &[&Signer]) -> Self {
        let keys: Vec<_> = signers.iter().map(|signer| signer.jwk()).collect();
        Self(json!({ "keys": keys }).to_string())
    }
}

pub(crate) struct KeyServer {
    pub(crate) url: String,
    answer: Arc<Mutex<KeyAnswer>>,
    /// Locked for writing while no answer is sent.
    hold: Arc<RwLock<()>>,
    requests: watch::Receiver<usize>,
    server: JoinHandle<()>,
}

impl KeyServer {
    /// Returns a URL where connections are refused until a server starts on the socket.
    pub(crate) fn reserve_address() -> (String, TcpSocket) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        (url(socket.local_addr().unwrap()), socket)
    }

    pub(crate) fn start(answer: KeyAnswer) -> Self {
        let (_, socket) = Self::reserve_address();
        Self::start_on(socket, answer)
    }

    pub(crate) fn start_on(socket: TcpSocket, answer: KeyAnswer) -> Self {
        let listener = socket.listen(16).unwrap();
        let url = url(listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new(answer));
        let hold = Arc::<RwLock<()>>::default();
        let (count, requests) = watch::channel(0);
        let server = serve(listener, Arc::clone(&answer), Arc::clone(&hold), count);
        Self {
            url,
            answer,
            hold,
            requests,
            server: tokio::spawn(server),
        }
    }

    pub(crate) fn answer_with(&self, answer: KeyAnswer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// Holds answers back until the guard is dropped.
    pub(crate) fn hold_answers(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.hold).try_write_owned().unwrap()
    }

    /// The number of requests so far.
    pub(crate) fn request_count(&self) -> usize {
        *self.requests.borrow()
    }

    pub(crate) async fn wait_for_requests(&self, count: usize) {
        let mut requests = self.requests.clone();
        requests.wait_for(|it| *it >= count).await.unwrap();
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/jwks.json")
}

async fn serve(
    listener: TcpListener,
    answer: Arc<Mutex<KeyAnswer>>,
    hold: Arc<RwLock<()>>,
    count: watch::Sender<usize>,
) {
    loop {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_head(&mut socket).await;
        count.send_modify(|count| *count += 1);
        let _sending = hold.read().await;
        let KeyAnswer(body) = answer.lock().unwrap().clone();
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        // A client that has given up closes the connection.
        let _ = socket.write_all((head + &body).as_bytes()).await;
    }
}

async fn read_head(socket: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
}
