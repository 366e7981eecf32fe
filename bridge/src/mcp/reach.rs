//! A client while a request of it runs: progress, logs, and what the page asks it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bridge_protocol::{ClientRequest, ClientResponse};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, CustomRequest, ProgressNotificationParam, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle, ServiceError};

use super::{convert, rounds};
use crate::calls::Client;
use crate::realm::CallEvent;

/// A client that does not take a notification within this does not read its stream: it hears no
/// more of this call but its result.
pub(super) const NOTIFY_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Reach<'a> {
    context: &'a RequestContext<RoleServer>,
    modern: bool,
    silent: AtomicBool,
}

impl<'a> Reach<'a> {
    pub(super) fn new(context: &'a RequestContext<RoleServer>) -> Self {
        let modern = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        Self {
            context,
            modern,
            silent: AtomicBool::new(false),
        }
    }

    /// For requests that MCP gives no progress and no rounds.
    pub(super) fn mute(context: &'a RequestContext<RoleServer>) -> Self {
        let reach = Self::new(context);
        reach.silent.store(true, Ordering::Relaxed);
        reach
    }

    /// MCP 2026-07-28 or later.
    pub(super) fn modern(&self) -> bool {
        self.modern
    }

    async fn tell(&self, event: CallEvent) -> bool {
        let peer = &self.context.peer;
        match event {
            CallEvent::Progress(progress) => {
                let Some(token) = self.context.meta.get_progress_token() else {
                    return true;
                };
                let number = |number: serde_json::Number| number.as_f64().unwrap_or_default();
                let mut told = ProgressNotificationParam::new(token, number(progress.progress));
                told.total = progress.total.map(number);
                told.message = progress.message;
                peer.notify_progress(told).await.is_ok()
            }
            CallEvent::Log(log) => {
                let message = convert::log_message(log);
                peer.notify_logging_message(message).await.is_ok()
            }
        }
    }

    async fn asked(&self, request: ClientRequest) -> ClientResponse {
        let params = serde_json::from_str(request.params.get()).ok();
        // As a custom request the page's words go out as they are.
        let asked = ServerRequest::CustomRequest(CustomRequest::new(request.method, params));
        let peer = &self.context.peer;
        let options = PeerRequestOptions::no_options();
        let answer = match peer.send_request_with_option(asked, options).await {
            Ok(sent) => Asked(Some(sent)).answer().await,
            Err(error) => Err(error),
        };
        convert::client_response(request.key, answer)
    }
}

/// A request to the client. Dropped before its answer, it is cancelled there: a person must not be
/// asked for a call that is over.
struct Asked(Option<RequestHandle<RoleServer>>);

impl Asked {
    async fn answer(mut self) -> Result<ClientResult, ServiceError> {
        let Some(sent) = &mut self.0 else {
            return Err(ServiceError::TransportClosed);
        };
        let answer = (&mut sent.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(sent) = self.0.take() {
            let reason = "the call that asked is over, or waits no longer";
            // Looked at once, this is in the client's line; if that is full, the client does not
            // read anyway.
            let cancel = tokio::task::unconstrained(sent.cancel(Some(reason.to_owned())));
            let _ = cancel.now_or_never();
        }
    }
}

impl Client for Reach<'_> {
    fn notify(&self, event: CallEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.silent.load(Ordering::Relaxed) {
                return;
            }
            let told = tokio::time::timeout(NOTIFY_WITHIN, self.tell(event)).await;
            if !matches!(told, Ok(true)) {
                self.silent.store(true, Ordering::Relaxed);
            }
        })
    }

    fn ask(&self, request: ClientRequest) -> BoxFuture<'_, ClientResponse> {
        Box::pin(self.asked(request))
    }

    fn refuses(&self, request: &ClientRequest) -> Option<ClientResponse> {
        let refused = rounds::input_request(request).err()?;
        Some(convert::refused_request(
            request.key.clone(),
            refused.message.into_owned(),
        ))
    }

    fn answers_in_rounds(&self) -> bool {
        self.modern
    }
}
