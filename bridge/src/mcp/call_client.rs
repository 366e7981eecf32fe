//! The client of a running call: it receives progress and logs, and answers requests of the page.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bridge_mcp_results::encoded_size::{ENVELOPE_BYTES, encoded_len};
use bridge_protocol::{CallLog, CallProgress, ClientRequest, ClientResponse, LogLevel};
use bridge_realm::realm::CallerEvent;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Number;
use serde_json::value::RawValue;

use super::client_questions::{ClientQuestions, Question};
use super::{input_required, rmcp_conversions};
use crate::calls::{ClientChannel, DETACHED_CLIENT};

/// The messages of a call to its client, which wait until the call is polled.
///
/// A call is polled for its next message only when the last one was taken, and sends nothing until
/// then. So the buffer contains only what was waiting for the caller at the last poll.
#[derive(Debug, Default)]
pub(crate) struct MessageBuffer {
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
    /// Not at all: the connection was lost before.
    None,
}

impl MessageBuffer {
    /// Commits to a stream. Returns false when the response is a JSON body, which follows at once.
    pub(super) fn commit_to_stream(&self) -> bool {
        *self.form.get_or_init(|| ResponseForm::Stream) == ResponseForm::Stream
    }

    /// Commits to a JSON body. Returns false when the response is a stream, or messages are waiting,
    /// which begin one.
    fn commit_to_body(&self) -> bool {
        let form = if self.lock().is_empty() {
            ResponseForm::Body
        } else {
            ResponseForm::Stream
        };
        *self.form.get_or_init(|| form) == ResponseForm::Body
    }

    /// Records that the messages and the response are not read any more. Waiting messages begin a
    /// stream at once, so that no message is lost that the client must answer.
    pub(super) fn detach(&self) {
        let _ = self.form.set(ResponseForm::None);
    }

    fn is_detached(&self) -> bool {
        self.form.get() == Some(&ResponseForm::None)
    }

    pub(crate) fn push(&self, message: &impl Serialize) {
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

/// The client of a call.
pub(super) struct CallClient {
    pub(super) progress_token: Option<Box<RawValue>>,
    /// The requests to the client, in an MCP session.
    pub(super) questions: Option<Arc<ClientQuestions>>,
    /// Whether the client uses MCP 2026-07-28 or later.
    pub(super) is_modern: bool,
    pub(super) messages: Arc<MessageBuffer>,
    /// The maximum size of a message, if the client ends at a larger one. Progress and log messages
    /// are always smaller.
    pub(super) max_message_bytes: Option<usize>,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: String,
    method: &'a str,
    params: &'a RawValue,
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

/// Whether a message of a call is a request to the client.
pub(super) fn is_request(message: &[u8]) -> bool {
    message.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":")
}

impl CallClient {
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
        self.messages.push(&Notification {
            jsonrpc: "2.0",
            method,
            params,
        });
    }

    /// Returns the response to a request at which the client would end.
    fn reject_too_long(&self, request: &ClientRequest) -> Option<ClientResponse> {
        let max_bytes = self.max_message_bytes?;
        let bytes = encoded_len(&(&request.method, &request.params)) + ENVELOPE_BYTES;
        if bytes <= max_bytes {
            return None;
        }
        let message = format!(
            "the client was not asked: the request has {bytes} bytes, and this client takes \
             {max_bytes}: send less"
        );
        let key = request.key.clone();
        Some(rmcp_conversions::unsupported_request(key, message))
    }
}

impl ClientChannel for CallClient {
    fn notify(&self, event: CallerEvent) -> BoxFuture<'_, ()> {
        match event {
            CallerEvent::Progress(report) => self.send_progress(report),
            CallerEvent::Log(log) => self.send_log(log),
        }
        Box::pin(std::future::ready(()))
    }

    /// Sends a request on the stream of the call.
    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        let questions = self.questions.as_ref();
        let Some(questions) = questions.filter(|_| !self.messages.is_detached()) else {
            return DETACHED_CLIENT.request(request);
        };
        if let Some(rejection) = self.reject_too_long(&request) {
            return Box::pin(std::future::ready(rejection));
        }
        let question = Question::open(questions);
        self.messages.push(&Request {
            jsonrpc: "2.0",
            id: question.id(),
            method: &request.method,
            params: &request.params,
        });
        Box::pin(
            async move { rmcp_conversions::client_response(request.key, question.answer().await) },
        )
    }

    fn reject(&self, request: &ClientRequest) -> Option<ClientResponse> {
        if let Some(rejection) = self.reject_too_long(request) {
            return Some(rejection);
        }
        let refused = input_required::to_input_request(request).err()?;
        let message = refused.message.into_owned();
        Some(rmcp_conversions::unsupported_request(
            request.key.clone(),
            message,
        ))
    }

    fn uses_input_required(&self) -> bool {
        self.is_modern
    }

    fn uses_single_response(&self) -> bool {
        self.messages.commit_to_body()
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::ErrorCode;
    use futures_util::FutureExt;

    use super::*;

    fn ask(client: &CallClient) -> Option<ClientResponse> {
        let request = ClientRequest {
            key: "k".to_owned(),
            method: "roots/list".to_owned(),
            params: RawValue::from_string("{}".to_owned()).unwrap(),
        };
        client.request(request).now_or_never()
    }

    #[test]
    fn a_client_that_lost_its_connection_before_the_stream_is_not_asked() {
        let client = CallClient {
            progress_token: None,
            questions: Some(Arc::new(ClientQuestions::new())),
            is_modern: false,
            messages: Arc::default(),
            max_message_bytes: None,
        };
        assert!(ask(&client).is_none());
        assert!(is_request(&client.messages.pop().unwrap()));
        client.messages.detach();
        let error = ask(&client).unwrap().error.unwrap();
        assert_eq!(error.code, ErrorCode::ClientCapabilityMissing);
        assert!(client.messages.pop().is_none());
    }
}
