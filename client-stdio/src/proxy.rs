//! The loop between stdio and the bridge: takes one event at a time, has one exit.

use std::io;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::bridge_session::BridgeSession;
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::connection::{Backoff, BridgeEvent, BridgeState};
use crate::exchange::BridgeMessage;
use crate::handshake::{ClientHandshake, is_session_initialize};
use crate::headers::ToolHeaders;
use crate::in_flight::InFlightRequests;
use crate::input::Input;
use crate::message::{self, Message, ParseError, Request, RequestId};
use crate::offline;
use crate::output::{Backpressure, Output};
use crate::oversized::OversizedMessage;
use crate::progress_gap::ProgressGap;
use crate::session_state::SessionState;

/// Serves the client on `input` and `output` until the input ends, the output cannot be written or
/// `stop` is ready. What is in flight is cancelled then, within seconds.
pub async fn run<R, W>(config: Config, input: R, output: W, stop: impl Future<Output = ()>)
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (output, room) = Output::new(output);
    let mut pump = Proxy {
        client: Input::new(input, config.max_message_bytes),
        output,
        backpressure: room,
        config,
        handshake: None,
        in_flight: InFlightRequests::default(),
        session_state: SessionState::default(),
        tool_headers: ToolHeaders::default(),
        progress_gap: ProgressGap::default(),
        bridge: BridgeState::Idle,
        backoff: Backoff::default(),
        announced_online: None,
    };
    tokio::select! {
        () = stop => tracing::info!("told to stop"),
        served = pump.run_inner() => if let Err(error) = served {
            tracing::info!("the client does not read any more: {error}");
        },
    }
    pump.shutdown().await;
}

struct Proxy<R> {
    config: Config,
    client: Input<R>,
    output: Output,
    backpressure: Backpressure,
    /// How the client began. Until then no bridge is asked for anything.
    handshake: Option<ClientHandshake>,
    in_flight: InFlightRequests,
    session_state: SessionState,
    tool_headers: ToolHeaders,
    progress_gap: ProgressGap,
    bridge: BridgeState,
    backoff: Backoff,
    /// Whether the client last saw the bridge's list (true) or our own; `None` before its first.
    announced_online: Option<bool>,
}

enum Event {
    Client(Option<Result<Message, ParseError>>),
    Bridge(BridgeEvent),
}

/// The request that a `notifications/cancelled` or an acknowledgement is about.
#[derive(Deserialize)]
struct RelatedRequest {
    #[serde(rename = "requestId")]
    request_id: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Subscription>,
}

#[derive(Deserialize)]
struct Subscription {
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
                event = next_when_writable(&mut self.backpressure, &mut self.bridge) => Event::Bridge(event),
                () = self.output.closed() => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            match event {
                Event::Client(None) => return Ok(()),
                Event::Client(Some(Ok(message))) => self.on_client_message(message).await?,
                Event::Client(Some(Err(malformed))) => {
                    tracing::warn!("a line of the client cannot be used: {malformed}");
                    self.on_malformed(&malformed).await?;
                }
                Event::Bridge(event) => self.on_bridge_event(event).await?,
            }
            if self.bridge.session().is_some() && self.in_flight.has_only_queued() {
                self.send_queued().await?;
            }
        }
    }

    async fn on_bridge_event(&mut self, event: BridgeEvent) -> io::Result<()> {
        match event {
            BridgeEvent::Connected(link) => self.on_connected(link).await,
            BridgeEvent::ConnectFailed(absence) => self.on_connect_failed(absence).await,
            BridgeEvent::RetryDue => {
                self.connect();
                Ok(())
            }
            BridgeEvent::Received(BridgeMessage::Message(message)) => {
                self.on_bridge_message(message).await
            }
            BridgeEvent::Received(BridgeMessage::Failed { id, error: absence }) => {
                self.on_request_failed(id, absence).await
            }
            BridgeEvent::Received(BridgeMessage::Lost(absence)) => {
                self.on_bridge_lost(absence).await
            }
        }
    }

    /// The one exit: nothing that the client asked for goes on without it.
    async fn shutdown(mut self) {
        let in_flight = self.in_flight.drain_sent();
        if let BridgeState::Online { session: link, .. } = self.bridge {
            link.close(in_flight).await;
        }
        self.output.close().await;
    }

    /// Adds to what the client is to read. Waits only when very much is unread: a client that does
    /// not read is not read from either.
    async fn send_to_client(&mut self, message: Message) -> io::Result<()> {
        self.output.send(message).await
    }

    /// What a line that is no message comes to: an error for whoever waits for it.
    async fn on_malformed(&mut self, malformed: &ParseError) -> io::Result<()> {
        let ParseError::TooLong(OversizedMessage { id, method, .. }) = malformed else {
            return self.send_to_client(malformed.to_response()).await;
        };
        match (id, method) {
            // Nobody waits to hear of a notification.
            (None, Some(_)) => Ok(()),
            // A reply: the bridge waits for it.
            (Some(id), None) => {
                if self.in_flight.remove_from_bridge(id) {
                    self.forward(malformed.to_response());
                }
                Ok(())
            }
            (_, Some(_)) | (None, None) => self.send_to_client(malformed.to_response()).await,
        }
    }

    async fn on_client_message(&mut self, message: Message) -> io::Result<()> {
        match &message {
            Message::Request(request) => self.on_client_request(request.clone()).await?,
            Message::Notification { method, .. } => match &**method {
                // Each link has had its own, right after its `initialize`.
                "notifications/initialized" => {}
                "notifications/cancelled" => self.on_client_cancel(message),
                _ => self.forward(message),
            },
            Message::Response { id: Some(id), .. } => {
                if self.in_flight.remove_from_bridge(id) {
                    self.forward(message);
                }
            }
            Message::Response { id: None, text, .. } => {
                tracing::warn!("the client reports an error without a request: {text}");
            }
        }
        Ok(())
    }

    async fn on_client_request(&mut self, request: Request) -> io::Result<()> {
        if is_session_initialize(&request) {
            self.handshake = ClientHandshake::from_request(&request);
            self.session_state = SessionState::default();
            if !matches!(self.bridge, BridgeState::Idle) {
                self.on_bridge_lost(BridgeError::ConnectionLost).await?;
            }
            self.bridge = BridgeState::Idle;
        } else if self.handshake.is_none() {
            self.handshake = ClientHandshake::from_request(&request);
        }
        if &*request.method == "ping" && self.bridge.session().is_none() {
            return self.send_to_client(offline::respond(&request, "")).await;
        }
        if self.handshake.is_none() {
            return self.reject(&request, "send initialize first").await;
        }
        if !self.in_flight.insert(request.clone()) {
            return self
                .reject(&request, "a request with this id is open")
                .await;
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

    async fn reject(&mut self, request: &Request, why: &str) -> io::Result<()> {
        let code = message::INVALID_REQUEST;
        self.send_to_client(message::error_response(Some(&request.id), code, why, None))
            .await
    }

    fn on_client_cancel(&mut self, notification: Message) {
        let about: Option<RelatedRequest> = message::params(notification.text());
        let Some(id) = about.and_then(|about| about.request_id) else {
            return;
        };
        let id = RequestId::from_json(&id);
        if self.in_flight.cancel(&id)
            && let Some(link) = self.bridge.session()
        {
            link.cancel(&id, notification);
        }
    }

    /// Sends what needs no answer. Without a bridge there is nobody whom it could concern.
    fn forward(&mut self, message: Message) {
        if let Some(link) = self.bridge.session() {
            link.send(message);
        }
    }

    async fn send_queued(&mut self) -> io::Result<()> {
        for request in self.in_flight.on_connected() {
            let BridgeState::Online { session: link, .. } = &mut self.bridge else {
                break;
            };
            if let ("initialize", Some(result)) = (&*request.method, &link.initialize_result) {
                let answer = message::success_response(&request.id, result);
                self.in_flight.complete(&request.id);
                self.send_to_client(answer).await?;
                continue;
            }
            link.send_request(request);
        }
        Ok(())
    }

    async fn on_request_failed(&mut self, id: RequestId, absence: BridgeError) -> io::Result<()> {
        if absence.is_auth_error() && self.in_flight.has_others_sent(&id) {
            // Those that were sent before the token ended run to their endings.
            return self.fail_request(&id, &absence).await;
        }
        if absence.is_safe_to_retry() {
            if !self.in_flight.requeue(&id) {
                self.fail_request(&id, &absence).await?;
            }
            return self.on_bridge_lost(absence).await;
        }
        if absence == BridgeError::ConnectionLost && self.in_flight.is_listen(&id) {
            if self.in_flight.has_others_sent(&id) {
                // What lies between may have closed this stream alone. The bridge is asked once
                // more when the others have ended, with it or before.
                self.in_flight.requeue(&id);
                return Ok(());
            }
            return self.on_bridge_lost(absence).await;
        }
        self.fail_request(&id, &absence).await
    }

    async fn fail_request(&mut self, id: &RequestId, absence: &BridgeError) -> io::Result<()> {
        let Some(request) = self.in_flight.complete(id) else {
            return Ok(());
        };
        let text = absence.user_message(self.config.url.as_str());
        self.send_to_client(offline::failed_response(&request, &text))
            .await
    }

    async fn on_bridge_message(&mut self, message: Message) -> io::Result<()> {
        let mut write_at = None;
        let concerns_client = match &message {
            Message::Request(request) => {
                self.in_flight.insert_from_bridge(request.id.clone());
                true
            }
            Message::Notification { method, text } => self.is_for_client(method, text),
            Message::Response {
                id: Some(id),
                is_error,
                ..
            } => match self.on_bridge_response(id, *is_error) {
                Some(request) => {
                    write_at = self
                        .progress_gap
                        .response_not_before(&request, Instant::now());
                    true
                }
                None => false,
            },
            Message::Response { id: None, text, .. } => {
                tracing::warn!("the bridge reports an error without a request: {text}");
                false
            }
        };
        if concerns_client {
            self.output.send_not_before(write_at, message).await?;
        }
        Ok(())
    }

    /// The request that has its answer; `None` when nobody waits for it any more.
    fn on_bridge_response(&mut self, id: &RequestId, is_error: bool) -> Option<Request> {
        let request = self.in_flight.complete(id)?;
        if !is_error {
            self.session_state.record(&request);
        }
        Some(request)
    }

    fn is_for_client(&mut self, method: &str, text: &str) -> bool {
        let about = || message::params::<RelatedRequest>(text);
        match method {
            "notifications/subscriptions/acknowledged" => {
                let id = about().and_then(|about| about.meta?.id);
                id.is_some_and(|id| self.in_flight.acknowledge(&RequestId::from_json(&id)))
            }
            "notifications/progress" => {
                self.progress_gap.record(text, Instant::now());
                true
            }
            "notifications/cancelled" => {
                let id = about().and_then(|about| about.request_id);
                id.is_some_and(|id| {
                    self.in_flight
                        .remove_from_bridge(&RequestId::from_json(&id))
                })
            }
            _ => true,
        }
    }

    fn connect(&mut self) {
        if let Some(opening) = &self.handshake {
            let standing = self.session_state.replay_requests();
            self.bridge = BridgeState::connect(&self.config, opening, &self.tool_headers, standing);
        }
    }

    async fn on_connected(&mut self, link: Box<BridgeSession>) -> io::Result<()> {
        tracing::info!("connected to {}", self.config.url);
        self.bridge = BridgeState::Online {
            session: link,
            since: Instant::now(),
        };
        self.send_queued().await?;
        self.notify_list_changed(true).await
    }

    async fn on_connect_failed(&mut self, absence: BridgeError) -> io::Result<()> {
        let text = absence.user_message(self.config.url.as_str());
        if self.announced_online != Some(false) {
            tracing::warn!("{text}");
        }
        let can_change = absence != BridgeError::NoToken;
        self.bridge = BridgeState::Offline {
            retry_at: can_change.then(|| self.backoff.next_attempt()),
        };
        for request in self.in_flight.on_connect_failed() {
            let answer = offline::respond(&request, &text);
            if !matches!(answer, Message::Response { is_error: true, .. }) {
                self.session_state.record(&request);
            }
            self.send_to_client(answer).await?;
        }
        for listen in self.in_flight.acknowledge_all() {
            if let Some(acknowledgement) = offline::acknowledgement(&listen) {
                self.send_to_client(acknowledgement).await?;
            }
        }
        self.notify_list_changed(false).await
    }

    /// Ends what the bridge had not answered and looks for it again.
    async fn on_bridge_lost(&mut self, absence: BridgeError) -> io::Result<()> {
        tracing::info!("lost the bridge at {}: {absence:?}", self.config.url);
        let was_stable = self.bridge.is_stable();
        let answerable = if absence.is_safe_to_retry() {
            BridgeError::ConnectionLost
        } else {
            absence
        };
        let text = answerable.user_message(self.config.url.as_str());
        for request in self.in_flight.on_bridge_lost() {
            self.send_to_client(offline::failed_response(&request, &text))
                .await?;
        }
        for id in self.in_flight.drain_from_bridge() {
            if let Ok(withdrawal) = cancel_notification(&id) {
                self.send_to_client(withdrawal).await?;
            }
        }
        if was_stable {
            self.backoff.reset();
            self.connect();
            return Ok(());
        }
        self.bridge = BridgeState::Offline {
            retry_at: Some(self.backoff.next_attempt()),
        };
        Ok(())
    }

    /// Tells the client to read the lists again, unless it has not seen others.
    async fn notify_list_changed(&mut self, online: bool) -> io::Result<()> {
        let before = self.announced_online.replace(online);
        if before.is_none() || (before == Some(false) && !online) {
            return Ok(());
        }
        let changes = if matches!(self.handshake, Some(ClientHandshake::Session(_))) {
            offline::change_notifications(&self.session_state, online)
        } else {
            let listens = self.in_flight.subscriptions();
            listens
                .flat_map(|listen| offline::subscription_change_notifications(listen, online))
                .collect()
        };
        for change in changes {
            self.send_to_client(change).await?;
        }
        Ok(())
    }
}

/// The bridge's next event, once the client has read enough. May be dropped and called again.
async fn next_when_writable(room: &mut Backpressure, bridge: &mut BridgeState) -> BridgeEvent {
    room.writable().await;
    bridge.next_event().await
}

/// The bridge does not wait for this reply any more.
fn cancel_notification(id: &RequestId) -> Result<Message, ParseError> {
    Message::parse(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the bridge is gone"}}}}"#
    ))
}
