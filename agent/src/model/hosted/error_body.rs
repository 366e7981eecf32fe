//! Reads the body of an error.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::timeout;

/// How much of the body of an error is read.
pub(super) const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How long the body of an error is read.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the body of an error. It is empty if it does not come in time, and a connection that breaks ends
/// it.
pub(super) async fn read<E>(chunks: impl Stream<Item = Result<Bytes, E>> + Unpin) -> String {
    let body = timeout(READ_TIMEOUT, read_beginning(chunks)).await;
    body.unwrap_or_default()
}

async fn read_beginning<E>(mut chunks: impl Stream<Item = Result<Bytes, E>> + Unpin) -> String {
    let mut body = Vec::new();
    while let Some(Ok(chunk)) = chunks.next().await {
        let room = MAX_ERROR_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == MAX_ERROR_BYTES {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}
