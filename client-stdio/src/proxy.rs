//! The proxy between the client and the bridge: one loop that handles one event at a time.

use std::io;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::bridge_restart::{BridgeRestart, DueStep, RestartPhase};
use crate::bridge_session::{BridgeSession, KnownBridge};
use crate::change_notifications::{
    acknowledgement, session_notifications, subscription_notifications,
};
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::connection::{BridgeEvent, BridgeState};
use crate::exchange::BridgeMessage;
use crate::handshake::ClientHandshake;
use crate::headers::ToolHeaders;
use crate::in_flight::InFlightRequests;
use crate::input::Input;
use crate::message::{self, JsonRpcMessage, JsonRpcRequest, ParseError};
use crate::offline;
use crate::output::{Backpressure, Output};
use crate::oversized::OversizedMessage;
use crate::progress_gap::ProgressGap;
use crate::protocol_version::is_session_initialize;
use crate::reconnect_backoff::ReconnectBackoff;
use crate::request_id::RequestId;
use crate::session_state::SessionState;
use crate::shared_text::SharedText;
use crate::silence::SilenceLimit;
use crate::token_source::TokenSource;

/// Serves the client on `input` and `output` until the input ends, the output cannot be written or
/// `stop` is ready. Then it cancels the requests in flight, which takes at most a few seconds.
pub(crate) async fn run<R, W>(config: Config, input: R, output: W, stop: impl Future<Output = ()>)
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    if config.exposes_token() {
        tracing::warn!(
            "--url (MCP_SERVER_URL) sends the token over http:// to another machine, and whoever \
             can read that network can use it: use https://"
        );
    }
    let (output, backpressure) = Output::new(output, config.token_redactor());
    let mut proxy = Proxy {
        tokens: TokenSource::start(&config),
        client: Input::new(input, config.max_message_bytes),
        output,
        backpressure,
        silence: SilenceLimit::new(config.max_silence),
        config,
        handshake: None,
        in_flight: InFlightRequests::default(),
        session_state: SessionState::default(),
        tool_headers: ToolHeaders::default(),
        progress_gap: ProgressGap::default(),
        bridge: BridgeState::Idle,
        backoff: ReconnectBackoff::default(),
        list_source: ListSource::Undecided,
        restart: BridgeRestart::default(),
        has_been_online: false,
    };
    tokio::select! {
        () = stop => tracing::info!("stopped by a signal"),
        result = proxy.run_inner() => if let Err(error) = result {
            tracing::info!("the client does not read any more: {error}");
        },
    }
    proxy.shutdown().await;
}

/// The state of the proxy.
struct Proxy<R> {
    config: Config,
    tokens: TokenSource,
    client: Input<R>,
    output: Output,
    backpressure: Backpressure,
    /// The handshake of the client; `None` until its first request. No bridge is contacted before
    /// that.
    handshake: Option<ClientHandshake>,
    in_flight: InFlightRequests,
    session_state: SessionState,
    tool_headers: ToolHeaders,
    silence: SilenceLimit,
    progress_gap: ProgressGap,
    bridge: BridgeState,
    backoff: ReconnectBackoff,
    list_source: ListSource,
    restart: BridgeRestart,
    /// Whether the client was connected to a bridge before.
    has_been_online: bool,
}

/// The source of the lists of tools, prompts and resources that the client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListSource {
    /// The first attempt to connect has not ended, so the client has no list.
    Undecided,
    /// No bridge is online, and the proxy lists the built-in tools and resources of the bridge.
    Offline,
    /// A bridge is online.
    Bridge,
}

/// An event that the loop handles.
enum Event {
    /// A line of the client; `None` at the end of input.
    Client(Option<Result<JsonRpcMessage, ParseError>>),
    Bridge(BridgeEvent),
    /// A step of the restart of a bridge is due.
    RestartStepDue,
}

/// The parameters of a `notifications/cancelled` or of the acknowledgement of a listen: they name
/// the request that the notification refers to.
#[derive(Deserialize)]
struct RelatedRequest {
    #[serde(rename = "requestId")]
    request_id: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<SubscriptionMeta>,
}

#[derive(Deserialize)]
struct SubscriptionMeta {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    id: Option<Value>,
}

impl<R> Proxy<R>
where
    R: AsyncRead + Send + Unpin,
{
    async fn run_inner(&mut self) -> io::Result<()> {
        loop {
            let event = tokio::select! {
                line = self.client.recv() => Event::Client(line),
                event = next_when_writable(&mut self.backpressure, &mut self.bridge) => {
                    Event::Bridge(event)
                }
                () = self.restart.step_due() => Event::RestartStepDue,
                () = self.output.closed() => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            match event {
                Event::Client(None) => return Ok(()),
                Event::Client(Some(Ok(message))) => self.on_client_message(message).await?,
                Event::Client(Some(Err(error))) => {
                    tracing::warn!("a line of the client cannot be used: {error}");
                    self.on_malformed(&error).await?;
                }
                Event::Bridge(event) => self.on_bridge_event(event).await?,
                Event::RestartStepDue => match self.restart.next_step(Instant::now()) {
                    DueStep::Probe(request) => self.probe_tools(request),
                    DueStep::End => self.end_restart().await?,
                },
            }
            if self.bridge.session().is_some() && self.in_flight.has_only_queued() {
                self.send_queued().await?;
            }
        }
    }

    async fn on_bridge_event(&mut self, event: BridgeEvent) -> io::Result<()> {
        match event {
            BridgeEvent::Connected(session) => self.on_connected(session).await,
            BridgeEvent::ConnectFailed(error) => self.on_connect_failed(error).await,
            BridgeEvent::RetryDue => {
                self.connect();
                Ok(())
            }
            BridgeEvent::Received(BridgeMessage::Message(message)) => {
                self.on_bridge_message(message).await
            }
            BridgeEvent::Received(BridgeMessage::Failed { id, error }) => {
                self.on_request_failed(id, error).await
            }
            BridgeEvent::Received(BridgeMessage::Lost(error)) => self.on_bridge_lost(error).await,
        }
    }

    /// Cancels the requests in flight, ends the session with the bridge and writes the messages
    /// that wait for the client.
    async fn shutdown(mut self) {
        let in_flight = self.in_flight.drain_sent();
        if let BridgeState::Online { session, .. } = self.bridge {
            session.close(in_flight).await;
        }
        self.output.close().await;
    }

    /// Queues a message for the client. Waits while the queue is full; the client's input is not
    /// read meanwhile.
    async fn send_to_client(&mut self, message: JsonRpcMessage) -> io::Result<()> {
        self.output.send(message).await
    }

    /// Reports a line that is not a message to the side that waits for an answer.
    async fn on_malformed(&mut self, error: &ParseError) -> io::Result<()> {
        let ParseError::TooLong(OversizedMessage { id, method, .. }) = error else {
            return self.send_to_client(error.to_response()).await;
        };
        match (id, method) {
            // A notification has no answer.
            (None, Some(_)) => Ok(()),
            // The bridge waits for a reply of the client.
            (Some(id), None) => {
                if self.in_flight.remove_from_bridge(id) {
                    self.forward(error.to_response());
                }
                Ok(())
            }
            (_, Some(_)) | (None, None) => self.send_to_client(error.to_response()).await,
        }
    }

    async fn on_client_message(&mut self, message: JsonRpcMessage) -> io::Result<()> {
        match &message {
            JsonRpcMessage::Request(request) => self.on_client_request(request.clone()).await?,
            JsonRpcMessage::Notification { method, .. } => match &**method {
                // Each session sends its own after `initialize`.
                "notifications/initialized" => {}
                "notifications/cancelled" => self.on_client_cancel(message),
                _ => self.forward(message),
            },
            JsonRpcMessage::Response { id: Some(id), .. } => {
                if self.in_flight.remove_from_bridge(id) {
                    self.forward(message);
                }
            }
            JsonRpcMessage::Response { id: None, text, .. } => {
                tracing::warn!("the client reports an error without a request: {text}");
            }
        }
        Ok(())
    }

    async fn on_client_request(&mut self, request: JsonRpcRequest) -> io::Result<()> {
        if is_session_initialize(&request) {
            self.handshake = ClientHandshake::from_request(&request);
            self.session_state = SessionState::default();
            if !matches!(self.bridge, BridgeState::Idle) {
                self.on_bridge_lost(BridgeError::ConnectionLost).await?;
            }
            self.bridge = BridgeState::Idle;
            self.restart = BridgeRestart::default();
        } else if self.handshake.is_none() {
            self.handshake = ClientHandshake::from_request(&request);
        }
        if &*request.method == "ping" && self.bridge.session().is_none() {
            return self.send_to_client(offline::respond(&request, "")).await;
        }
        if self.handshake.is_none() {
            return self.reject(&request, "send initialize first").await;
        }
        if let Some(answer) = self.restart.answer(&request) {
            return self.send_to_client(answer).await;
        }
        if !self.in_flight.insert(request.clone()) {
            let reason = "a request with this id is in flight";
            return self.reject(&request, reason).await;
        }
        match &self.bridge {
            BridgeState::Online { .. } => self.send_queued().await,
            BridgeState::Connecting(_) => Ok(()),
            BridgeState::Idle | BridgeState::Offline { .. } => {
                self.connect();
                Ok(())
            }
        }
    }

    async fn reject(&mut self, request: &JsonRpcRequest, reason: &str) -> io::Result<()> {
        let code = message::INVALID_REQUEST;
        let response = message::error_response(Some(&request.id), code, reason, None);
        self.send_to_client(response).await
    }

    fn on_client_cancel(&mut self, notification: JsonRpcMessage) {
        let related: Option<RelatedRequest> = message::params(notification.text());
        let Some(id) = related.and_then(|related| related.request_id) else {
            return;
        };
        let id = RequestId::from_json(&id);
        if self.in_flight.cancel(&id)
            && let Some(session) = self.bridge.session()
        {
            session.cancel(&id, notification);
        }
    }

    /// Sends a notification or a reply to the bridge. Without a bridge it is dropped.
    fn forward(&mut self, message: JsonRpcMessage) {
        if let Some(session) = self.bridge.session() {
            session.send(message);
        }
    }

    async fn send_queued(&mut self) -> io::Result<()> {
        let restart = &self.restart;
        let may_send = |request: &JsonRpcRequest| restart.may_send(request);
        for request in self.in_flight.send_queued(may_send) {
            let BridgeState::Online { session, .. } = &mut self.bridge else {
                break;
            };
            if let ("initialize", Some(result)) = (&*request.method, &session.initialize_result) {
                let response = message::success_response(&request.id, result);
                self.in_flight.complete(&request.id);
                self.send_to_client(response).await?;
                continue;
            }
            session.send_request(request);
        }
        Ok(())
    }

    async fn on_request_failed(&mut self, id: RequestId, error: BridgeError) -> io::Result<()> {
        if error.is_auth_error() && self.in_flight.has_others_sent(&id) {
            // Requests that were sent before the token expired are still answered.
            return self.fail_request(&id, &error).await;
        }
        if error.is_safe_to_retry() {
            if !self.in_flight.requeue(&id) {
                self.fail_request(&id, &error).await?;
            }
            return self.on_bridge_lost(error).await;
        }
        if error == BridgeError::ConnectionLost && self.in_flight.is_listen(&id) {
            if self.in_flight.has_others_sent(&id) {
                // A proxy in between may have closed only this stream. The listen is sent again
                // with the next request, or when the others have been answered.
                self.in_flight.requeue(&id);
                return Ok(());
            }
            return self.on_bridge_lost(error).await;
        }
        self.fail_request(&id, &error).await
    }

    async fn fail_request(&mut self, id: &RequestId, error: &BridgeError) -> io::Result<()> {
        let Some(request) = self.in_flight.complete(id) else {
            return Ok(());
        };
        let text = error.user_message(self.config.url.as_str());
        self.send_to_client(offline::failed_response(&request, &text))
            .await
    }

    async fn on_bridge_message(&mut self, message: JsonRpcMessage) -> io::Result<()> {
        let mut not_before = None;
        let is_for_client = match &message {
            JsonRpcMessage::Request(request) => {
                self.in_flight.insert_from_bridge(request.id.clone());
                true
            }
            JsonRpcMessage::Notification { method, .. }
                if self.restart.awaits_pages() && method.ends_with("/list_changed") =>
            {
                // The client is notified at the end of the restart.
                false
            }
            JsonRpcMessage::Notification { method, text } => {
                self.on_bridge_notification(method, text)
            }
            JsonRpcMessage::Response {
                id: Some(id), text, ..
            } if BridgeRestart::is_own_answer(id) => {
                if self.restart.tools_listed(text, Instant::now()) {
                    return self.end_restart().await;
                }
                return self.send_queued().await;
            }
            JsonRpcMessage::Response {
                id: Some(id),
                is_error,
                text,
            } => match self.on_bridge_response(id, *is_error, text) {
                Some(request) => {
                    not_before = self
                        .progress_gap
                        .response_not_before(&request, Instant::now());
                    true
                }
                None => false,
            },
            JsonRpcMessage::Response { id: None, text, .. } => {
                tracing::warn!("the bridge reports an error without a request: {text}");
                false
            }
        };
        if is_for_client {
            self.output.send_not_before(not_before, message).await?;
        }
        Ok(())
    }

    /// Completes a request. Returns `None` if it is not in flight any more.
    fn on_bridge_response(
        &mut self,
        id: &RequestId,
        is_error: bool,
        text: &SharedText,
    ) -> Option<JsonRpcRequest> {
        let request = self.in_flight.complete(id)?;
        if !is_error {
            self.session_state.record(&request);
            self.restart.record(&request, text);
        }
        Some(request)
    }

    /// Records a notification of the bridge. Returns whether the client must receive it.
    fn on_bridge_notification(&mut self, method: &str, text: &str) -> bool {
        let related = || message::params::<RelatedRequest>(text);
        match method {
            "notifications/subscriptions/acknowledged" => {
                let id = related().and_then(|related| related.meta?.id);
                id.is_some_and(|id| self.in_flight.acknowledge(&RequestId::from_json(&id)))
            }
            "notifications/progress" => {
                self.progress_gap.record(text, Instant::now());
                true
            }
            "notifications/cancelled" => {
                let id = related().and_then(|related| related.request_id);
                id.is_some_and(|id| {
                    self.in_flight
                        .remove_from_bridge(&RequestId::from_json(&id))
                })
            }
            _ => true,
        }
    }

    /// Starts an attempt to connect, if the client has sent its first request.
    fn connect(&mut self) {
        if let Some(handshake) = &self.handshake {
            let replay = self.session_state.replay_requests();
            let known = KnownBridge {
                tokens: self.tokens.clone(),
                tool_headers: self.tool_headers.clone(),
                silence: self.silence.clone(),
                is_reconnected: self.has_been_online,
            };
            self.bridge = BridgeState::connect(&self.config, handshake, known, replay);
        }
    }

    async fn on_connected(&mut self, session: Box<BridgeSession>) -> io::Result<()> {
        tracing::info!("connected to {}", self.config.url);
        self.has_been_online = true;
        self.bridge = BridgeState::Online {
            session,
            since: Instant::now(),
        };
        if let Some(request) = self.restart.bridge_returned(Instant::now()) {
            self.probe_tools(request);
        }
        self.send_queued().await?;
        if self.restart.is_under_way() {
            return Ok(());
        }
        self.set_list_source(ListSource::Bridge).await
    }

    /// Sends our own request for the list of tools.
    fn probe_tools(&mut self, request: JsonRpcRequest) {
        if let Some(session) = self.bridge.session() {
            session.send_request(request);
        }
    }

    /// Ends the restart of a bridge: its lists are used again, or it has not returned.
    async fn end_restart(&mut self) -> io::Result<()> {
        match self.restart.end() {
            Some(RestartPhase::AwaitsPages { .. }) => {
                self.send_queued().await?;
                self.set_list_source(ListSource::Bridge).await
            }
            Some(RestartPhase::AwaitsBridge { error, .. }) => self.go_offline(&error).await,
            None => Ok(()),
        }
    }

    /// Schedules the next attempt, and answers the queued requests without a bridge unless it may be
    /// restarting.
    async fn on_connect_failed(&mut self, error: BridgeError) -> io::Result<()> {
        let is_restart = self.restart.connect_failed(&error);
        let may_recover = error != BridgeError::NoToken;
        self.bridge = BridgeState::Offline {
            retry_at: may_recover.then(|| self.backoff.next_attempt(is_restart)),
        };
        if is_restart {
            return Ok(());
        }
        self.restart.end();
        self.go_offline(&error).await
    }

    /// Answers the queued requests without a bridge.
    async fn go_offline(&mut self, error: &BridgeError) -> io::Result<()> {
        let text = error.user_message(self.config.url.as_str());
        if self.list_source != ListSource::Offline {
            tracing::warn!("{text}");
        }
        for request in self.in_flight.on_connect_failed() {
            let response = offline::respond(&request, &text);
            if !matches!(response, JsonRpcMessage::Response { is_error: true, .. }) {
                self.session_state.record(&request);
            }
            self.send_to_client(response).await?;
        }
        for listen in self.in_flight.acknowledge_all() {
            if let Some(acknowledgement) = acknowledgement(&listen) {
                self.send_to_client(acknowledgement).await?;
            }
        }
        self.set_list_source(ListSource::Offline).await
    }

    /// Fails the requests that the bridge has not answered, and connects again: immediately if the
    /// session was stable, otherwise after the backoff.
    async fn on_bridge_lost(&mut self, error: BridgeError) -> io::Result<()> {
        tracing::info!("lost the bridge at {}: {error:?}", self.config.url);
        if self.list_source == ListSource::Bridge {
            self.restart.bridge_lost(Instant::now());
        }
        let was_stable = self.bridge.is_stable();
        // The error is safe for the request that caused it, but others may have been executed.
        let error = if error.is_safe_to_retry() {
            BridgeError::ConnectionLost
        } else {
            error
        };
        let text = error.user_message(self.config.url.as_str());
        let mut requests = self.in_flight.on_bridge_lost();
        let restart = &self.restart;
        requests.extend(self.in_flight.remove_queued(|it| restart.answers(it)));
        for request in requests {
            let answer = self.restart.answer(&request);
            let answer = answer.unwrap_or_else(|| offline::failed_response(&request, &text));
            self.send_to_client(answer).await?;
        }
        for id in self.in_flight.drain_from_bridge() {
            let cancel = message::cancel_notification(&id, "the bridge is gone");
            self.send_to_client(cancel).await?;
        }
        if was_stable {
            self.backoff.reset();
            self.connect();
            return Ok(());
        }
        self.bridge = BridgeState::Offline {
            retry_at: Some(self.backoff.next_attempt(self.restart.is_under_way())),
        };
        Ok(())
    }

    /// Sets the source of the lists and notifies the client if the lists that it has may be
    /// outdated. Each new bridge may have other lists.
    async fn set_list_source(&mut self, source: ListSource) -> io::Result<()> {
        let previous = std::mem::replace(&mut self.list_source, source);
        if previous == ListSource::Undecided
            || (previous == ListSource::Offline && source == ListSource::Offline)
        {
            return Ok(());
        }
        let is_online = source == ListSource::Bridge;
        let notifications = if matches!(self.handshake, Some(ClientHandshake::Session(_))) {
            session_notifications(&self.session_state, is_online)
        } else {
            let listens = self.in_flight.subscriptions();
            listens
                .flat_map(|listen| subscription_notifications(listen, is_online))
                .collect()
        };
        for notification in notifications {
            self.send_to_client(notification).await?;
        }
        Ok(())
    }
}

/// Waits for the next event of the bridge, once few enough bytes wait for the client. This function
/// is cancel safe.
async fn next_when_writable(
    backpressure: &mut Backpressure,
    bridge: &mut BridgeState,
) -> BridgeEvent {
    backpressure.writable().await;
    bridge.next_event().await
}
