//! The WebSocket to the bridge, in a task of its own: it reads, and answers pings, whatever the
//! handlers do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, client_async};

/// How long the bridge may take to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// RFC 6455 section 7.1.5: the connection ended without a close frame.
const ABNORMAL_CLOSE: u16 = 1006;
/// RFC 6455 section 7.1.5: the close frame has no code.
const NO_CODE: u16 = 1005;

/// The program ends the session.
pub(crate) const NORMAL_CLOSE: u16 = 1000;
/// RFC 6455 section 7.4.1: the program goes away, as a page that is left.
pub(crate) const LEAVING_CLOSE: u16 = 1001;
/// The program reconnects: the same code as in a browser.
pub(crate) const ABANDONED_CLOSE: u16 = 4000;

/// What happens on a socket. The number says on which.
#[derive(Debug)]
pub(crate) enum SocketEvent {
    Opened,
    Frame(String),
    Closed {
        code: u16,
        reason: String,
    },
    /// The address cannot be one of a bridge, or TLS cannot be used.
    Refused(String),
}

enum Command {
    Frame(String),
    Close(u16),
}

/// An open or opening socket. Dropping it ends the connection without a close frame.
pub(crate) struct Socket {
    commands: mpsc::UnboundedSender<Command>,
    unsent_bytes: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Socket {
    /// Opens a socket and calls `on_event` for its events.
    pub(crate) fn open(url: String, on_event: impl Fn(SocketEvent) + Send + 'static) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let unsent_bytes = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(run(url, receiver, unsent_bytes.clone(), on_event));
        Self {
            commands,
            unsent_bytes,
            task,
        }
    }

    /// Sends a frame. If the connection has ended, the event of its end follows.
    pub(crate) fn send(&self, frame: String) {
        self.unsent_bytes.fetch_add(frame.len(), Ordering::Relaxed);
        let _ = self.commands.send(Command::Frame(frame));
    }

    /// The bytes of frames that the operating system has not taken yet.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes.load(Ordering::Relaxed)
    }

    /// Closes the socket. The returned task ends once the bridge has answered, or not in time.
    pub(crate) fn close(self, code: u16) -> JoinHandle<()> {
        let _ = self.commands.send(Command::Close(code));
        self.task
    }
}

async fn run(
    url: String,
    mut commands: mpsc::UnboundedReceiver<Command>,
    unsent_bytes: Arc<AtomicUsize>,
    on_event: impl Fn(SocketEvent),
) {
    let opened = tokio::select! {
        opened = connect(&url) => opened,
        () = closed_before_open(&mut commands) => return,
    };
    let mut socket = match opened {
        Ok(socket) => socket,
        Err(event) => return on_event(event),
    };
    on_event(SocketEvent::Opened);
    let mut end = (ABNORMAL_CLOSE, String::new());
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Frame(text)) => {
                    let bytes = text.len();
                    let sent = socket.send(Message::text(text)).await;
                    unsent_bytes.fetch_sub(bytes, Ordering::Relaxed);
                    if sent.is_err() {
                        break;
                    }
                }
                Some(Command::Close(code)) => {
                    let frame = CloseFrame { code: code.into(), reason: "".into() };
                    let closed = async {
                        let _ = socket.close(Some(frame)).await;
                        while let Some(Ok(_)) = socket.next().await {}
                    };
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closed).await;
                    return;
                }
                None => return,
            },
            read = socket.next() => match read {
                Some(Ok(Message::Text(text))) => on_event(SocketEvent::Frame(text.as_str().to_owned())),
                Some(Ok(Message::Close(frame))) => {
                    end = frame.map_or((NO_CODE, String::new()), |frame| (frame.code.into(), frame.reason.to_string()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            },
        }
    }
    let (code, reason) = end;
    on_event(SocketEvent::Closed { code, reason });
}

/// Waits for a close, and forgets what was to be sent before it.
async fn closed_before_open(commands: &mut mpsc::UnboundedReceiver<Command>) {
    while let Some(Command::Frame(_)) = commands.recv().await {}
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn connect(url: &str) -> Result<WebSocketStream<Box<dyn Stream>>, SocketEvent> {
    let refused = |error: &dyn std::fmt::Display| SocketEvent::Refused(error.to_string());
    let request = url.into_client_request().map_err(|error| refused(&error))?;
    let uri = request.uri().clone();
    let unreachable = || SocketEvent::Closed {
        code: ABNORMAL_CLOSE,
        reason: String::new(),
    };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let port = uri
        .port_u16()
        .unwrap_or(if is_tls(&uri) { 443 } else { 80 });
    let stream = TcpStream::connect((host, port))
        .await
        .map_err(|_| unreachable())?;
    // Otherwise each answer waits for the acknowledgement of the receipt before it.
    let _ = stream.set_nodelay(true);
    let stream: Box<dyn Stream> = if is_tls(&uri) {
        let connector = tls_connector().map_err(|error| refused(&error))?;
        let name = host.to_owned().try_into();
        let name = name.map_err(|error: rustls::pki_types::InvalidDnsNameError| refused(&error))?;
        let stream = connector.connect(name, stream).await;
        Box::new(stream.map_err(|error| match error.get_ref() {
            // Such as a certificate that the platform does not trust: another attempt does not help.
            Some(cause) if cause.is::<rustls::Error>() => refused(&error),
            _ => unreachable(),
        })?)
    } else {
        Box::new(stream)
    };
    let (socket, _) = client_async(request, stream)
        .await
        .map_err(|_| unreachable())?;
    Ok(socket)
}

fn is_tls(uri: &Uri) -> bool {
    uri.scheme_str() == Some("wss")
}

/// Certificates are verified as the platform does, with `ring`: the program may have another
/// provider of its own.
fn tls_connector() -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
