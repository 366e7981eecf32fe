//! The client of a call on the fast path. It receives progress and logs, and no requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bridge_protocol::{
    CallLog, CallProgress, ClientError, ClientRequest, ClientResponse, ErrorCode, LogLevel,
};
use bridge_realm::realm::CallEvent;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Number;
use serde_json::value::RawValue;

use crate::calls::ClientChannel;
use crate::mcp::{convert, input_required};

/// Notifications about a call, as JSON-RPC messages that wait until the call is polled.
///
/// A call is polled for its next message only when the last one was taken, and sends nothing until
/// then. So the buffer contains only what was waiting for the caller at the last poll.
#[derive(Debug, Default)]
pub(super) struct NotificationBuffer {
    queue: Mutex<VecDeque<Vec<u8>>>,
    /// How the response is sent, once that is decided. The decision is final.
    form: OnceLock<ResponseForm>,
}

/// How a response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseForm {
    /// As a JSON body.
    Body,
    /// As the last event of a stream.
    Stream,
}

impl NotificationBuffer {
    /// Commits to a stream. Returns false when the response is a JSON body, which follows at once.
    pub(super) fn commit_to_stream(&self) -> bool {
        *self.form.get_or_init(|| ResponseForm::Stream) == ResponseForm::Stream
    }

    /// Commits to a JSON body. Returns false when the response is a stream, or notifications are
    /// waiting, which begin one.
    fn commit_to_body(&self) -> bool {
        let form = if self.lock().is_empty() {
            ResponseForm::Body
        } else {
            ResponseForm::Stream
        };
        *self.form.get_or_init(|| form) == ResponseForm::Body
    }

    pub(super) fn push(&self, message: &impl Serialize) {
        if let Ok(json) = serde_json::to_vec(message) {
            self.lock().push_back(json);
        }
    }

    pub(super) fn pop(&self) -> Option<Vec<u8>> {
        self.lock().pop_front()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Vec<u8>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client of a call on the fast path: it stores notifications in a buffer, and rejects
/// requests.
pub(super) struct NotificationSink {
    pub(super) progress_token: Option<Box<RawValue>>,
    /// Whether the client's revision has `InputRequired` and the client has declared no capability
    /// for requests.
    pub(super) uses_input_required: bool,
    pub(super) notifications: Arc<NotificationBuffer>,
}

#[derive(Serialize)]
struct Notification<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: &'a RawValue,
    progress: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Serialize)]
struct LogParams {
    level: LogLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    logger: Option<String>,
    data: Box<RawValue>,
}

impl NotificationSink {
    fn send_progress(&self, progress: CallProgress) {
        let Some(progress_token) = self.progress_token.as_deref() else {
            return;
        };
        let params = ProgressParams {
            progress_token,
            progress: progress.progress,
            total: progress.total,
            message: progress.message,
        };
        self.send_notification("notifications/progress", params);
    }

    fn send_log(&self, log: CallLog) {
        let params = LogParams {
            level: log.level,
            logger: log.logger,
            data: log.data,
        };
        self.send_notification("notifications/message", params);
    }

    fn send_notification(&self, method: &'static str, params: impl Serialize) {
        self.notifications.push(&Notification {
            jsonrpc: "2.0",
            method,
            params,
        });
    }
}

impl ClientChannel for NotificationSink {
    fn notify(&self, event: CallEvent) -> BoxFuture<'_, ()> {
        match event {
            CallEvent::Progress(report) => self.send_progress(report),
            CallEvent::Log(log) => self.send_log(log),
        }
        Box::pin(std::future::ready(()))
    }

    /// Rejects a request, because the tool has declared that it sends none. The realm may have
    /// passed it on, because the client has declared the capability for it.
    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        let error = ClientError {
            code: ErrorCode::ClientCapabilityMissing,
            message: "the tool is marked with `mcp-web/asksClient: false`, and asks its client: \
                      take the mark out of its `_meta`"
                .to_owned(),
            data: None,
        };
        Box::pin(std::future::ready(ClientResponse {
            key: request.key,
            result: None,
            error: Some(error),
        }))
    }

    fn reject(&self, request: &ClientRequest) -> Option<ClientResponse> {
        let refused = input_required::to_input_request(request).err()?;
        let message = refused.message.into_owned();
        Some(convert::unsupported_request(request.key.clone(), message))
    }

    fn uses_input_required(&self) -> bool {
        self.uses_input_required
    }

    fn uses_single_response(&self) -> bool {
        self.notifications.commit_to_body()
    }
}
