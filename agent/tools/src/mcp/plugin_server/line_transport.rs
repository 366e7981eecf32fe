//! A transport that answers lines that are not messages, so that a client does not wait in vain.

use std::io;

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, Empty, empty};

use crate::mcp::message_lines::MessageLines;

/// A transport that reads messages, a line each.
pub(super) struct LineTransport<R, W: AsyncWrite> {
    lines: MessageLines<R>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    /// The answer to a line that is not a message. While it is sent, nothing is read.
    answering: Option<BoxFuture<'static, io::Result<()>>>,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Lines with more than `max_bytes` are dropped.
    pub(super) fn new(input: R, output: W, max_bytes: usize) -> Self {
        Self {
            lines: MessageLines::new(input, max_bytes),
            output: AsyncRwTransport::new(empty(), output),
            answering: None,
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.output.send(message)
    }

    /// Nothing is lost if the future is dropped.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                answering.await.ok()?;
                self.answering = None;
            }
            match self.lines.next::<RoleServer>().await? {
                Ok(message) => return Some(message),
                Err(error) => {
                    let answer = TxJsonRpcMessage::<RoleServer>::error(error, None);
                    self.answering = Some(Box::pin(self.output.send(answer)));
                }
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.output.close()
    }
}
