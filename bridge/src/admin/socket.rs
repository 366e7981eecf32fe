//! Both ends of the connection over the Unix socket: one request, one answer.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bridge_edge::{PrivateSocket, PrivateSocketError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::administration::Administration;
use super::messages::{AdminAnswer, AdminReply, AdminRequest};

/// The maximum number of requests at the same time. Others wait.
const MAX_CONNECTIONS: usize = 8;

/// The maximum length of a request in bytes.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;

/// How long the bridge waits for a request, and until its answer is read.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the command waits for the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause after no connection could be accepted.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The task that answers the operator.
#[derive(Debug)]
pub(crate) struct AdminServer(JoinHandle<()>);

impl AdminServer {
    /// Listens at the path until `stopping` is cancelled.
    ///
    /// # Errors
    ///
    /// Why the path cannot be used.
    pub(crate) async fn start(
        path: &Path,
        administration: Arc<Administration>,
        stopping: CancellationToken,
    ) -> Result<Self, PrivateSocketError> {
        let socket = PrivateSocket::bind(path).await?;
        let serving = serve(socket, administration, stopping);
        Ok(Self(tokio::spawn(serving)))
    }

    /// Waits until the task has ended.
    pub(crate) async fn stopped(self) {
        let _ = self.0.await;
    }
}

/// Checks that a bridge can listen at the path.
///
/// # Errors
///
/// Why the path cannot be used.
pub(crate) fn check(path: &Path) -> Result<(), PrivateSocketError> {
    PrivateSocket::check(path)
}

async fn serve(
    socket: PrivateSocket,
    administration: Arc<Administration>,
    stopping: CancellationToken,
) {
    let mut connections = JoinSet::new();
    loop {
        let has_room = connections.len() < MAX_CONNECTIONS;
        tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = socket.accept(), if has_room => match accepted {
                Ok((stream, uid)) => {
                    connections.spawn(answer(stream, uid, Arc::clone(&administration)));
                }
                Err(error) => {
                    tracing::error!(%error, "no request of the operator can be accepted");
                    sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }
    connections.shutdown().await;
}

/// Answers the request of a connection.
async fn answer(mut stream: UnixStream, uid: u32, administration: Arc<Administration>) {
    let Some(line) = read_line(&mut stream).await else {
        return;
    };
    let outcome = match serde_json::from_slice::<AdminRequest>(&line) {
        Ok(request) => administration.execute(request, uid).await,
        Err(error) => Err(format!(
            "the request is not understood: {error}. Use the program of the version that runs"
        )),
    };
    let reply = outcome.map_or_else(AdminReply::Error, AdminReply::Ok);
    // It has only texts and numbers.
    let mut reply = serde_json::to_vec(&reply).unwrap_or_default();
    reply.push(b'\n');
    let _ = timeout(TRANSFER_TIMEOUT, stream.write_all(&reply)).await;
}

/// Reads a line, or less of it if it is too long. Returns `None` if nothing arrives in time: a connection
/// without a request only looks whether somebody listens.
async fn read_line(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(stream.take(MAX_REQUEST_BYTES));
    let read = timeout(TRANSFER_TIMEOUT, reader.read_until(b'\n', &mut line)).await;
    matches!(read, Ok(Ok(1..))).then_some(line)
}

/// Sends a request to the bridge that listens at the path, and returns its answer.
///
/// # Errors
///
/// The reason, and what to do.
pub(super) async fn request(path: &Path, request: &AdminRequest) -> Result<AdminAnswer, String> {
    let name = path.display();
    let connected = UnixStream::connect(path).await;
    let mut stream = connected.map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!(
            "there is no {name}: start the bridge with `admin_socket` set to it, or name its socket"
        ),
        ErrorKind::ConnectionRefused => format!("the bridge of {name} has ended: start it"),
        ErrorKind::PermissionDenied => {
            format!("{name} is for root and the user who runs the bridge: run the command as one of them")
        }
        _ => format!("{name} cannot be used: {error}"),
    })?;
    let failed = |error: std::io::Error| format!("the bridge of {name} does not answer: {error}");
    // It has only texts and numbers.
    let mut line = serde_json::to_vec(request).unwrap_or_default();
    line.push(b'\n');
    stream.write_all(&line).await.map_err(failed)?;
    let mut reply = Vec::new();
    let read = timeout(ANSWER_TIMEOUT, stream.read_to_end(&mut reply)).await;
    read.map_err(|_| format!("the bridge of {name} does not answer"))?
        .map_err(failed)?;
    if reply.is_empty() {
        return Err(format!(
            "the bridge of {name} has closed the connection: only root and the user who runs it may \
             administer it"
        ));
    }
    match serde_json::from_slice(&reply) {
        Ok(AdminReply::Ok(answer)) => Ok(answer),
        Ok(AdminReply::Error(error)) => Err(error),
        Err(error) => Err(format!(
            "the answer of the bridge is not understood: {error}. Use the program of the version that \
             runs"
        )),
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_has_little_time_and_a_maximum_length() {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"{}\n").await.unwrap();
        assert_eq!(read_line(&mut near).await.as_deref(), Some(&b"{}\n"[..]));

        let started = Instant::now();
        far.write_all(b"{").await.unwrap();
        assert_eq!(read_line(&mut near).await, None);
        assert_eq!(started.elapsed(), TRANSFER_TIMEOUT);

        let (mut near, mut far) = UnixStream::pair().unwrap();
        let writing = tokio::spawn(async move {
            // It fails when the reader is gone.
            while far.write_all(&[b'x'; 4096]).await.is_ok() {}
        });
        let line = read_line(&mut near).await.unwrap();
        assert_eq!(line.len() as u64, MAX_REQUEST_BYTES);
        drop(near);
        writing.await.unwrap();
    }
}
