//! The client of a running request: it receives progress and logs, and answers requests of the
//! page.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge_protocol::{ClientRequest, ClientResponse};
use bridge_realm::realm::CallEvent;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, CustomRequest, ProgressNotificationParam, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle, ServiceError};
use serde_json::value::to_raw_value;

use super::client_questions::Answer;
use super::{convert, input_required};
use crate::calls::ClientChannel;

/// A client that does not take a notification within this time does not read its stream: it
/// receives only the result of this call, and no further notifications.
pub(super) const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// A client that rmcp serves, with the request that it has sent.
pub(super) struct PeerClient<'a> {
    context: &'a RequestContext<RoleServer>,
    is_modern: bool,
    is_muted: AtomicBool,
}

impl<'a> PeerClient<'a> {
    pub(super) fn new(context: &'a RequestContext<RoleServer>) -> Self {
        let is_modern = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        Self {
            context,
            is_modern,
            is_muted: AtomicBool::new(false),
        }
    }

    /// Creates the client of a request for which MCP defines neither progress nor `InputRequired`.
    pub(super) fn muted(context: &'a RequestContext<RoleServer>) -> Self {
        let client = Self::new(context);
        client.is_muted.store(true, Ordering::Relaxed);
        client
    }

    /// Whether the client uses MCP 2026-07-28 or later.
    pub(super) fn is_modern(&self) -> bool {
        self.is_modern
    }

    async fn send_notification(&self, event: CallEvent) -> bool {
        let peer = &self.context.peer;
        match event {
            CallEvent::Progress(progress) => {
                let Some(token) = self.context.meta.get_progress_token() else {
                    return true;
                };
                let number = |number: serde_json::Number| number.as_f64().unwrap_or_default();
                let mut params = ProgressNotificationParam::new(token, number(progress.progress));
                params.total = progress.total.map(number);
                params.message = progress.message;
                peer.notify_progress(params).await.is_ok()
            }
            CallEvent::Log(log) => {
                let message = convert::log_message(log);
                peer.notify_logging_message(message).await.is_ok()
            }
        }
    }

    async fn send_request(&self, request: ClientRequest) -> ClientResponse {
        let params = serde_json::from_str(request.params.get()).ok();
        // A custom request carries the page's parameters unchanged.
        let server_request =
            ServerRequest::CustomRequest(CustomRequest::new(request.method, params));
        let peer = &self.context.peer;
        let options = PeerRequestOptions::no_options();
        let response = match peer.send_request_with_option(server_request, options).await {
            Ok(sent) => PendingPeerRequest(Some(sent)).response().await,
            Err(error) => Err(error),
        };
        let answer = match response {
            Ok(result) => to_raw_value(&result).ok().map(Answer::Result),
            Err(ServiceError::McpError(error)) => to_raw_value(&error).ok().map(Answer::Error),
            Err(_) => None,
        };
        convert::client_response(request.key, answer)
    }
}

/// A request to the client. If it is dropped before the response, it is cancelled at the client: a
/// person must not be asked about a call that has ended.
struct PendingPeerRequest(Option<RequestHandle<RoleServer>>);

impl PendingPeerRequest {
    async fn response(mut self) -> Result<ClientResult, ServiceError> {
        let Some(sent) = &mut self.0 else {
            return Err(ServiceError::TransportClosed);
        };
        let answer = (&mut sent.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for PendingPeerRequest {
    fn drop(&mut self) {
        if let Some(sent) = self.0.take() {
            let reason = "the call that asked is over, or waits no longer";
            // Polling once puts the cancellation into the client's queue. If the queue is full, the
            // client does not read anyway.
            let cancel = tokio::task::unconstrained(sent.cancel(Some(reason.to_owned())));
            let _ = cancel.now_or_never();
        }
    }
}

impl ClientChannel for PeerClient<'_> {
    fn notify(&self, event: CallEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.is_muted.load(Ordering::Relaxed) {
                return;
            }
            let sent = tokio::time::timeout(NOTIFY_TIMEOUT, self.send_notification(event)).await;
            if !matches!(sent, Ok(true)) {
                self.is_muted.store(true, Ordering::Relaxed);
            }
        })
    }

    fn request(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        Box::pin(self.send_request(request))
    }

    fn reject(&self, request: &ClientRequest) -> Option<ClientResponse> {
        let refused = input_required::to_input_request(request).err()?;
        Some(convert::unsupported_request(
            request.key.clone(),
            refused.message.into_owned(),
        ))
    }

    fn uses_input_required(&self) -> bool {
        self.is_modern
    }
}
