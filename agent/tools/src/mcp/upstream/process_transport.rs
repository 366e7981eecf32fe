//! The transport to the process of a server.

use std::io;

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, Empty, empty};

use crate::mcp::message_lines::MessageLines;

/// A transport over the streams of a process. A line that is not a message is received as an error
/// without an id, so that it is counted like others.
pub(super) struct ProcessTransport<R, W: AsyncWrite> {
    lines: MessageLines<R>,
    output: AsyncRwTransport<RoleClient, Empty, W>,
}

impl<R, W> ProcessTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Lines with more than `max_bytes` are dropped.
    pub(super) fn new(stdout: R, stdin: W, max_bytes: usize) -> Self {
        Self {
            lines: MessageLines::new(stdout, max_bytes),
            output: AsyncRwTransport::new(empty(), stdin),
        }
    }
}

impl<R, W> Transport<RoleClient> for ProcessTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.output.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.lines.next::<RoleClient>().await?;
        Some(message.unwrap_or_else(|error| JsonRpcMessage::error(error, None)))
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.output.close()
    }
}
