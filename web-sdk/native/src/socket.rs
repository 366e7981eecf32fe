//! The WebSocket to the bridge, in a separate task: it reads and answers pings even while handlers
//! are busy.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use rustls::{CertificateError, ClientConfig};
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
use web_sdk_core::close_codes::{ABNORMAL_CLOSE, NO_CODE};

/// How long to wait for the bridge's answer to a close frame, and the same time again to read
/// messages sent before it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// An event of a socket. The number identifies the socket.
#[derive(Debug)]
pub(crate) enum SocketEvent {
    Opened,
    Frame(String),
    Closed {
        code: u16,
        reason: String,
    },
    /// The address cannot be a bridge, or TLS is not available.
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
    pub(crate) fn open(
        url: String,
        on_event: impl Fn(SocketEvent) + Send + Sync + 'static,
    ) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let unsent_bytes = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(run(url, receiver, unsent_bytes.clone(), on_event));
        Self {
            commands,
            unsent_bytes,
            task,
        }
    }

    /// Sends a frame. If the connection has ended, its end event follows.
    pub(crate) fn send(&self, frame: String) {
        self.unsent_bytes.fetch_add(frame.len(), Ordering::Relaxed);
        let _ = self.commands.send(Command::Frame(frame));
    }

    /// Returns the size of the frames that the operating system has not accepted yet, in bytes.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes.load(Ordering::Relaxed)
    }

    /// Closes the socket, and waits for the bridge's answer for a limited time. Earlier frames are
    /// written first.
    pub(crate) async fn close(mut self, code: u16) {
        let _ = self.commands.send(Command::Close(code));
        // If the bridge does not read, the close frame cannot be written.
        if tokio::time::timeout(2 * CLOSE_TIMEOUT, &mut self.task)
            .await
            .is_err()
        {
            self.task.abort();
        }
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
    let socket = match opened {
        Ok(socket) => socket,
        Err(event) => return on_event(event),
    };
    on_event(SocketEvent::Opened);
    // Reading continues during writes: two sides that only write would block each other.
    let (mut sink, mut stream) = socket.split();
    let end = tokio::select! {
        end = read_frames(&mut stream, &on_event) => Some(end),
        () = write_frames(&mut sink, &mut commands, &unsent_bytes) => None,
    };
    match end {
        Some((code, reason)) => on_event(SocketEvent::Closed { code, reason }),
        None => {
            let answered = async { while let Some(Ok(_)) = stream.next().await {} };
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, answered).await;
        }
    }
}

/// Reads until the connection has ended, and returns its close code with the reason.
async fn read_frames(
    stream: &mut SplitStream<BridgeSocket>,
    on_event: &impl Fn(SocketEvent),
) -> (u16, String) {
    let mut end = (ABNORMAL_CLOSE, String::new());
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Text(text) => on_event(SocketEvent::Frame(text.as_str().to_owned())),
            Message::Close(Some(frame)) => end = (frame.code.into(), frame.reason.to_string()),
            Message::Close(None) => end.0 = NO_CODE,
            _ => {}
        }
    }
    end
}

/// Writes frames until the program closes the socket, then writes the close frame.
async fn write_frames(
    sink: &mut SplitSink<BridgeSocket, Message>,
    commands: &mut mpsc::UnboundedReceiver<Command>,
    unsent_bytes: &AtomicUsize,
) {
    while let Some(command) = commands.recv().await {
        match command {
            Command::Frame(text) => {
                let bytes = text.len();
                let sent = sink.send(Message::text(text)).await;
                unsent_bytes.fetch_sub(bytes, Ordering::Relaxed);
                if sent.is_err() {
                    // The reading side reports how the connection ended.
                    return std::future::pending().await;
                }
            }
            Command::Close(code) => {
                let frame = CloseFrame {
                    code: code.into(),
                    reason: "".into(),
                };
                let _ = sink.send(Message::Close(Some(frame))).await;
                return;
            }
        }
    }
}

/// Waits for a close, and discards frames sent before it.
async fn closed_before_open(commands: &mut mpsc::UnboundedReceiver<Command>) {
    while let Some(Command::Frame(_)) = commands.recv().await {}
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type BridgeSocket = WebSocketStream<Box<dyn Stream>>;

async fn connect(url: &str) -> Result<BridgeSocket, SocketEvent> {
    let refused = |error: &dyn std::fmt::Display| SocketEvent::Refused(error.to_string());
    let request = url.into_client_request().map_err(|error| refused(&error))?;
    let uri = request.uri().clone();
    let unreachable = |error: &dyn std::fmt::Display| SocketEvent::Closed {
        code: ABNORMAL_CLOSE,
        reason: error.to_string(),
    };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let port = uri
        .port_u16()
        .unwrap_or(if is_tls(&uri) { 443 } else { 80 });
    let stream = TcpStream::connect((host, port))
        .await
        .map_err(|error| unreachable(&error))?;
    // Otherwise each answer would wait for the acknowledgement of the receipt before it.
    let _ = stream.set_nodelay(true);
    let stream: Box<dyn Stream> = if is_tls(&uri) {
        let connector = tls_connector().map_err(|error| refused(&error))?;
        let name = host.to_owned().try_into();
        let name = name.map_err(|error: rustls::pki_types::InvalidDnsNameError| refused(&error))?;
        let stream = connector.connect(name, stream).await;
        // A certificate that the platform does not trust may be renewed later.
        Box::new(stream.map_err(|error| unreachable(&tls_failure(&error)))?)
    } else {
        Box::new(stream)
    };
    let (socket, _) = client_async(request, stream)
        .await
        .map_err(|error| unreachable(&error))?;
    Ok(socket)
}

/// Describes why TLS failed, with what to do if the authority of the certificate is not trusted.
fn tls_failure(error: &io::Error) -> String {
    let tls_error = error.get_ref().and_then(|error| error.downcast_ref());
    match tls_error {
        // A bad signature is that of an authority that was created again under its old name.
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => format!(
            "{error}: add the authority that signed it to those of the system, or, except on macOS \
             and Windows, name its PEM file in SSL_CERT_FILE"
        ),
        _ => error.to_string(),
    }
}

fn is_tls(uri: &Uri) -> bool {
    uri.scheme_str() == Some("wss")
}

/// Certificates are verified by the platform's rules, with `ring`, because the program may use
/// another default provider.
fn tls_connector() -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_authority_names_the_variable_that_adds_it() {
        for (error, is_named) in [
            (CertificateError::UnknownIssuer, true),
            (CertificateError::Expired, false),
        ] {
            let error = io::Error::other(rustls::Error::InvalidCertificate(error));
            let reason = tls_failure(&error);
            assert_eq!(reason.contains("SSL_CERT_FILE"), is_named, "{reason}");
        }
    }
}
