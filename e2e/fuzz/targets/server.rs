//! A bridge and an agent in this process, on loopback, for targets that need sockets.

use std::net::SocketAddr;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// How long an answer may take.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Creates the runtime of a target. Its tasks run only while the target waits.
pub(crate) fn runtime() -> Runtime {
    count_panics();
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Counts the panics of tasks, which do not end a test.
fn count_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if tokio::task::try_id().is_some() {
                PANICS.fetch_add(1, Ordering::Relaxed);
                eprintln!("a task has panicked: {panic}");
            }
            former(panic);
        }));
    });
}

/// Panics if a task has.
pub(crate) fn assert_no_panics() {
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "a task has panicked");
}

/// Opens a connection that sends everything at once: the kernel would otherwise delay the second of
/// two small writes by 40 ms.
pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A client with one connection, which is opened again when it is needed.
pub(crate) struct Client {
    address: SocketAddr,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            connection: None,
        }
    }

    /// Sends a request. `None` if the server closes the connection before it answers.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Option<Response<Incoming>> {
        let mut connection = match self.connection.take() {
            Some(connection) if !connection.is_closed() => connection,
            _ => self.connect().await,
        };
        if connection.ready().await.is_err() {
            connection = self.connect().await;
        }
        let answer = timeout(ANSWER_TIMEOUT, connection.send_request(request)).await;
        let response = answer.expect("the server answers").ok()?;
        self.connection = Some(connection);
        Some(response)
    }

    async fn connect(&self) -> SendRequest<Full<Bytes>> {
        let stream = connect(self.address).await;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    /// Closes the connection, as a client does that reads no more of a stream.
    pub(crate) fn close(&mut self) {
        self.connection = None;
    }
}

/// Reads a whole body.
pub(crate) async fn body(response: Response<Incoming>) -> Option<Bytes> {
    let read = timeout(ANSWER_TIMEOUT, response.into_body().collect()).await;
    let body = read.expect("the response ends");
    body.ok().map(|body| body.to_bytes())
}

/// Asserts that a bridge or an agent answers another client.
pub(crate) async fn assert_alive(client: &mut Client) {
    let request = Request::get("/healthz").header("host", "localhost");
    let request = request.body(Full::default()).unwrap();
    let response = client.send(request).await.expect("the server answers");
    assert_eq!(response.status(), 200);
    body(response).await;
    assert_no_panics();
}
