//! A transport that reads nothing while too many requests of the client have no answer: a client that
//! sends without end, or does not read, would fill the memory.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The maximum number of requests without an answer.
pub(super) const MAX_OPEN_REQUESTS: usize = 64;

/// How long a client that has closed its end is waited for when so many requests are open.
const CLOSED_GRACE: Duration = Duration::from_secs(1);

/// A transport with a bounded number of open requests.
pub(super) struct OpenRequests<T> {
    transport: T,
    table: Arc<RequestTable>,
    input_closed: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_input_closed: bool,
    /// Is cancelled when the input has ended.
    input_end: CancellationToken,
}

/// The requests that have no answer yet.
#[derive(Debug, Default)]
struct RequestTable {
    requests: Mutex<HashMap<RequestId, RequestState>>,
    answered: Notify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestState {
    Running,
    /// Its answer waits to be written.
    Sending,
}

/// An answer that waits to be written.
#[derive(Debug)]
struct Sending {
    table: Arc<RequestTable>,
    id: RequestId,
}

impl<T> OpenRequests<T> {
    /// `input_closed` completes when the other end of the input is closed. `input_end` is cancelled
    /// at the end of the input.
    pub(super) fn new(
        transport: T,
        input_closed: impl Future<Output = ()> + Send + 'static,
        input_end: CancellationToken,
    ) -> Self {
        Self {
            transport,
            table: Arc::default(),
            input_closed: Box::pin(input_closed),
            is_input_closed: false,
            input_end,
        }
    }

    /// Waits until a request may be read. Returns whether one may be: a client that has closed its
    /// end is given a short grace period.
    async fn wait_for_room(&mut self) -> bool {
        let room = self.table.room();
        let closed = async {
            if !self.is_input_closed {
                self.input_closed.as_mut().await;
                self.is_input_closed = true;
            }
            sleep(CLOSED_GRACE).await;
        };
        tokio::select! {
            biased;
            () = room => true,
            () = closed => false,
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for OpenRequests<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let sending = id.map(|id| Sending::begin(&self.table, id));
        let sent = self.transport.send(message);
        async move {
            let result = sent.await;
            drop(sending);
            result
        }
    }

    /// Nothing is lost if the future is dropped.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = if self.wait_for_room().await {
                self.transport.receive().await
            } else {
                None
            };
            let Some(message) = message else {
                self.input_end.cancel();
                return None;
            };
            match &message {
                JsonRpcMessage::Request(request) if !self.table.begin(&request.id) => {
                    // Neither of the two could be answered so that the client knows which it is.
                    tracing::warn!(
                        "a request is dropped, because another one with its id has no answer yet"
                    );
                    continue;
                }
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.table.cancel(id);
                    }
                }
                _ => {}
            }
            return Some(message);
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}

impl RequestTable {
    /// Adds a request. Returns whether there was none with its id.
    fn begin(&self, id: &RequestId) -> bool {
        let mut requests = self.requests();
        let is_new = !requests.contains_key(id);
        if is_new {
            requests.insert(id.clone(), RequestState::Running);
        }
        is_new
    }

    /// Removes a request that was cancelled, which gets no answer. An answer that waits already is
    /// written.
    fn cancel(&self, id: &RequestId) {
        let mut requests = self.requests();
        if requests.get(id) == Some(&RequestState::Running) {
            requests.remove(id);
        }
    }

    /// Waits until fewer requests are open than may be.
    async fn room(&self) {
        while self.requests().len() >= MAX_OPEN_REQUESTS {
            self.answered.notified().await;
        }
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, RequestState>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sending {
    fn begin(table: &Arc<RequestTable>, id: RequestId) -> Self {
        table.requests().insert(id.clone(), RequestState::Sending);
        Self {
            table: Arc::clone(table),
            id,
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.table.requests().remove(&self.id);
        self.table.answered.notify_one();
    }
}
