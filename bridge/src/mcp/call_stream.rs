//! A running call, with the messages that it sends to its client before the response.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::call_client::MessageBuffer;
use super::json_rpc_response::EncodedResponse;
use super::response_limit::ResponseLimit;
use super::session::CallGuard;
use crate::hub::Hub;
use crate::web::{InHttpRequest, in_current_request};

/// The next item of a call.
#[derive(Debug)]
pub(super) enum CallStreamItem {
    /// A notification, or a request to the client.
    Message(Vec<u8>),
    Response(EncodedResponse),
    /// The client has cancelled the call, or ended its session: there is no response.
    Cancelled,
}

/// The future of a call. It is large, and boxed where it begins: each function to which it was passed would
/// move all of it.
pub(crate) type CallFuture = Pin<Box<dyn Future<Output = EncodedResponse> + Send>>;

/// A running call. Dropping it before its response cancels the call in the page.
pub(super) struct CallStream {
    call: InHttpRequest<CallFuture>,
    messages: Arc<MessageBuffer>,
    limit: Option<ResponseLimit>,
    /// The guard of a call in an MCP session.
    guard: Option<CallGuard>,
    /// The response, stored until the messages before it have been returned.
    response: Option<EncodedResponse>,
}

impl CallStream {
    pub(super) fn new(call: CallFuture, messages: Arc<MessageBuffer>) -> Self {
        Self {
            call: in_current_request(call),
            messages,
            limit: None,
            guard: None,
            response: None,
        }
    }

    /// Limits the size of the response.
    pub(super) fn with_limit(self, limit: ResponseLimit) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// Ends the call with the MCP session that it is in.
    pub(super) fn with_guard(self, guard: CallGuard) -> Self {
        Self {
            guard: Some(guard),
            ..self
        }
    }

    /// Returns the next item. Must not be polled again after the response.
    pub(super) async fn next(&mut self) -> CallStreamItem {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<CallStreamItem> {
        let in_flight = self.guard.as_ref();
        if in_flight.is_some_and(|guard| guard.poll_cancelled(context).is_ready()) {
            return Poll::Ready(CallStreamItem::Cancelled);
        }
        if let Some(message) = self.messages.pop() {
            return Poll::Ready(CallStreamItem::Message(message));
        }
        if self.response.is_none()
            && let Poll::Ready(response) = Pin::new(&mut self.call).poll(context)
        {
            self.response = Some(match &self.limit {
                Some(limit) => limit.apply(response),
                None => response,
            });
        }
        if let Some(message) = self.messages.pop() {
            return Poll::Ready(CallStreamItem::Message(message));
        }
        match self.response.take() {
            Some(response) => Poll::Ready(CallStreamItem::Response(response)),
            None => Poll::Pending,
        }
    }

    /// Whether the client has cancelled the call, or ended its session.
    pub(super) fn is_cancelled(&self) -> bool {
        let in_flight = self.guard.as_ref();
        in_flight.is_some_and(CallGuard::is_cancelled)
    }

    pub(super) fn guard(&self) -> Option<&CallGuard> {
        self.guard.as_ref()
    }
}

/// Keeps a call in an MCP session running when its connection is lost (MCP 2025-11-25, "Streamable
/// HTTP"): dropping this continues the call in the background. Its client can no longer be asked.
pub(super) struct DetachOnDrop {
    stream: Option<CallStream>,
    hub: Arc<Hub>,
}

impl DetachOnDrop {
    pub(super) fn new(stream: CallStream, hub: &Arc<Hub>) -> Self {
        Self {
            stream: Some(stream),
            hub: Arc::clone(hub),
        }
    }

    pub(super) async fn next(&mut self) -> CallStreamItem {
        match &mut self.stream {
            Some(running) => running.next().await,
            None => std::future::pending().await,
        }
    }

    /// Takes the call out, because it has ended or something else continues it.
    pub(super) fn into_inner(mut self) -> Option<CallStream> {
        self.stream.take()
    }
}

impl Drop for DetachOnDrop {
    fn drop(&mut self) {
        if let Some(mut running) = self.stream.take() {
            running.messages.detach();
            self.hub.result_store.spawn(async move {
                while let CallStreamItem::Message(_) = running.next().await {}
            });
        }
    }
}
