//! The loop between stdio and the bridge: takes one event at a time, has one exit.

use std::io;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorData, GetMeta, JsonRpcError, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::MAX_MESSAGE_BYTES;
use crate::bridge::{Backoff, Bridge, BridgeEvent};
use crate::config::Config;
use crate::in_flight::InFlight;
use crate::offline::{self, Absence};
use crate::upstream::{FromBridge, Link, Opening, stateless_meta};

/// In the error data by which rmcp's HTTP transport says that a response stream broke off.
const STREAM_BROKE: &str = "io.modelcontextprotocol/transportClosed";

/// Serves the client on `input` and `output` until the input ends, the output cannot be written or
/// `stop` is ready. What is in flight is cancelled then, within seconds.
pub async fn run<R, W>(config: Config, input: R, output: W, stop: impl Future<Output = ()>)
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let client =
        AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_MESSAGE_BYTES);
    let mut pump = Pump {
        config,
        client,
        opening: None,
        in_flight: InFlight::default(),
        bridge: Bridge::Unasked,
        generation: 0,
        backoff: Backoff::default(),
        told: None,
        sending: FuturesUnordered::new(),
    };
    tokio::select! {
        () = stop => tracing::info!("told to stop"),
        served = pump.run_inner() => if let Err(error) = served {
            tracing::info!("the client does not read any more: {error}");
        },
    }
    pump.end().await;
}

struct Pump<R: AsyncRead, W: AsyncWrite> {
    config: Config,
    client: AsyncRwTransport<RoleServer, R, W>,
    /// How the client began. Until then no bridge is asked for anything.
    opening: Option<Opening>,
    in_flight: InFlight,
    bridge: Bridge,
    /// Changes with each link found or lost, so that the outcome of sending over an old one is
    /// known as such.
    generation: u64,
    backoff: Backoff,
    /// Whether the client last saw the bridge's list (true) or our own; `None` before its first.
    told: Option<bool>,
    sending: FuturesUnordered<BoxFuture<'static, Sent>>,
}

/// The outcome of handing a message to the bridge.
struct Sent {
    generation: u64,
    /// Of a request; other messages may get lost.
    id: Option<RequestId>,
    outcome: Result<(), Absence>,
}

enum Event {
    Client(Option<Box<ClientJsonRpcMessage>>),
    Sent(Sent),
    Bridge(BridgeEvent),
}

impl<R, W> Pump<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    async fn run_inner(&mut self) -> io::Result<()> {
        loop {
            let event = tokio::select! {
                message = self.client.receive() => Event::Client(message.map(Box::new)),
                Some(sent) = self.sending.next() => Event::Sent(sent),
                event = self.bridge.next() => Event::Bridge(event),
            };
            match event {
                Event::Client(None) => return Ok(()),
                Event::Client(Some(message)) => self.client_said(*message).await?,
                Event::Sent(sent) => self.request_sent(sent).await?,
                Event::Bridge(event) => self.bridge_event(event).await?,
            }
        }
    }

    async fn bridge_event(&mut self, event: BridgeEvent) -> io::Result<()> {
        match event {
            BridgeEvent::Found(link) => self.bridge_found(link).await,
            BridgeEvent::NotFound(absence) => self.bridge_not_found(absence).await,
            BridgeEvent::RetryDue => {
                self.connect();
                Ok(())
            }
            BridgeEvent::Said(FromBridge::Message(message)) => self.bridge_said(*message).await,
            BridgeEvent::Said(FromBridge::Lost(absence)) => self.bridge_lost(absence).await,
        }
    }

    /// The one exit: nothing that the client asked for goes on without it.
    async fn end(mut self) {
        let in_flight = self.in_flight.end_of_input();
        if let Bridge::Online { link, .. } = self.bridge {
            link.close(in_flight).await;
        }
    }

    /// Awaited in the loop: a client that does not read is not read from either.
    async fn tell(&mut self, message: ServerJsonRpcMessage) -> io::Result<()> {
        Transport::<RoleServer>::send(&mut self.client, message).await
    }

    async fn client_said(&mut self, message: ClientJsonRpcMessage) -> io::Result<()> {
        match message {
            JsonRpcMessage::Request(request) => {
                self.client_asked(request.id, request.request).await
            }
            JsonRpcMessage::Notification(notification) => {
                self.client_notified(notification.notification);
                Ok(())
            }
            JsonRpcMessage::Response(response) => {
                let id = response.id.clone();
                self.client_replied(&id, JsonRpcMessage::Response(response));
                Ok(())
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = error.id.clone() {
                    self.client_replied(&id, JsonRpcMessage::Error(error));
                }
                Ok(())
            }
        }
    }

    async fn client_asked(&mut self, id: RequestId, request: ClientRequest) -> io::Result<()> {
        if let ClientRequest::InitializeRequest(initialize) = &request {
            self.opening = Some(Opening::Session(Box::new(initialize.clone())));
            if !matches!(self.bridge, Bridge::Unasked) {
                self.bridge_lost(Absence::Interrupted).await?;
            }
            self.bridge = Bridge::Unasked;
        } else if self.opening.is_none() {
            self.opening = stateless_meta(&request).cloned().map(Opening::Stateless);
        }
        let online = self.bridge.link().is_some();
        if matches!(request, ClientRequest::PingRequest(_)) && !online {
            return self.tell(offline::answer(&request, id, "")).await;
        }
        if self.opening.is_none() {
            let error = ErrorData::invalid_request("send initialize first", None);
            return self
                .tell(ServerJsonRpcMessage::error(error, Some(id)))
                .await;
        }
        self.in_flight.opened(id, request);
        match &self.bridge {
            Bridge::Online { .. } => self.send_waiting().await,
            Bridge::Connecting(_) => Ok(()),
            Bridge::Unasked | Bridge::Offline { .. } => {
                self.connect();
                Ok(())
            }
        }
    }

    fn client_notified(&mut self, notification: ClientNotification) {
        match &notification {
            // Each link has had its own, right after its `initialize`.
            ClientNotification::InitializedNotification(_) => return,
            ClientNotification::CancelledNotification(cancelled) => {
                let sent = |id| self.in_flight.cancelled(id);
                if !cancelled.params.request_id.as_ref().is_some_and(sent) {
                    return;
                }
            }
            _ => {}
        }
        self.pass_on(ClientJsonRpcMessage::notification(notification));
    }

    fn client_replied(&mut self, id: &RequestId, reply: ClientJsonRpcMessage) {
        if self.in_flight.replied(id) {
            self.pass_on(reply);
        }
    }

    /// Sends what needs no answer. Without a bridge there is nobody whom it could concern.
    fn pass_on(&mut self, message: ClientJsonRpcMessage) {
        if let Some(link) = self.bridge.link() {
            let sending = link.send(message);
            self.sending.push(sent(self.generation, None, sending));
        }
    }

    async fn send_waiting(&mut self) -> io::Result<()> {
        let waiting = self.in_flight.bridge_found();
        for (id, request) in waiting {
            let Bridge::Online { link, .. } = &mut self.bridge else {
                break;
            };
            if let (ClientRequest::InitializeRequest(_), Some(result)) =
                (&request, &link.initialized)
            {
                let result = ServerResult::InitializeResult(result.clone());
                self.in_flight.answered(&id);
                self.tell(ServerJsonRpcMessage::response(result, id))
                    .await?;
                continue;
            }
            let sending = link.send(ClientJsonRpcMessage::request(request, id.clone()));
            self.sending.push(sent(self.generation, Some(id), sending));
        }
        Ok(())
    }

    async fn request_sent(&mut self, sent: Sent) -> io::Result<()> {
        let Sent {
            generation,
            id,
            outcome: Err(absence),
        } = sent
        else {
            return Ok(());
        };
        let Some(id) = id.filter(|_| generation == self.generation) else {
            return Ok(());
        };
        if !absence.not_executed() {
            return self.fail(&id, &absence).await;
        }
        if !self.in_flight.came_back(&id) {
            self.fail(&id, &absence).await?;
        }
        self.bridge_lost(absence).await
    }

    async fn fail(&mut self, id: &RequestId, absence: &Absence) -> io::Result<()> {
        let Some(request) = self.in_flight.answered(id) else {
            return Ok(());
        };
        let text = absence.explain(self.config.url.as_str());
        self.tell(offline::failure(&request, id.clone(), &text))
            .await
    }

    async fn bridge_said(&mut self, message: ServerJsonRpcMessage) -> io::Result<()> {
        match &message {
            JsonRpcMessage::Response(response) => {
                if self.in_flight.answered(&response.id).is_none() {
                    return Ok(());
                }
            }
            JsonRpcMessage::Error(error) => return self.bridge_refused(error.clone()).await,
            JsonRpcMessage::Request(request) => self.in_flight.asked(request.id.clone()),
            JsonRpcMessage::Notification(notification) => {
                if !self.concerns_client(&notification.notification) {
                    return Ok(());
                }
            }
        }
        self.tell(message).await
    }

    async fn bridge_refused(&mut self, error: JsonRpcError) -> io::Result<()> {
        let Some(id) = error.id.clone() else {
            tracing::warn!(
                "the bridge reports an error without a request: {}",
                error.error.message
            );
            return Ok(());
        };
        let broke = error
            .error
            .data
            .as_ref()
            .is_some_and(|data| data.get(STREAM_BROKE).is_some());
        if !broke {
            return match self.in_flight.answered(&id) {
                Some(_) => self.tell(JsonRpcMessage::Error(error)).await,
                None => Ok(()),
            };
        }
        if self.in_flight.listens(&id) {
            return self.bridge_lost(Absence::Interrupted).await;
        }
        self.fail(&id, &Absence::Interrupted).await
    }

    fn concerns_client(&mut self, notification: &ServerNotification) -> bool {
        match notification {
            ServerNotification::SubscriptionsAcknowledgedNotification(_) => {
                let id = notification.get_meta().subscription_id();
                id.is_some_and(|id| self.in_flight.acknowledged(&id))
            }
            ServerNotification::CancelledNotification(cancelled) => {
                let id = cancelled.params.request_id.as_ref();
                id.is_some_and(|id| self.in_flight.replied(id))
            }
            _ => true,
        }
    }

    fn connect(&mut self) {
        if let Some(opening) = &self.opening {
            self.bridge = Bridge::connect(&self.config, opening);
        }
    }

    async fn bridge_found(&mut self, link: Box<Link>) -> io::Result<()> {
        tracing::info!("connected to {}", self.config.url);
        self.generation += 1;
        self.bridge = Bridge::Online {
            link,
            since: Instant::now(),
        };
        self.send_waiting().await?;
        self.list_changed(true).await
    }

    async fn bridge_not_found(&mut self, absence: Absence) -> io::Result<()> {
        let text = absence.explain(self.config.url.as_str());
        if self.told != Some(false) {
            tracing::warn!("{text}");
        }
        let can_change = absence != Absence::NoToken;
        self.bridge = Bridge::Offline {
            retry_at: can_change.then(|| self.backoff.next_attempt()),
        };
        for (id, request) in self.in_flight.no_bridge() {
            self.tell(offline::answer(&request, id, &text)).await?;
        }
        for (id, listen) in self.in_flight.acknowledge_all() {
            if let Some(acknowledgement) = offline::acknowledgement(&listen, &id) {
                self.tell(acknowledgement).await?;
            }
        }
        self.list_changed(false).await
    }

    /// Ends what the bridge had not answered and looks for it again.
    async fn bridge_lost(&mut self, absence: Absence) -> io::Result<()> {
        tracing::info!("lost the bridge at {}: {absence:?}", self.config.url);
        self.generation += 1;
        let was_stable = self.bridge.is_stable();
        let answerable = if absence.not_executed() {
            Absence::Interrupted
        } else {
            absence
        };
        let text = answerable.explain(self.config.url.as_str());
        for (id, request) in self.in_flight.bridge_lost() {
            self.tell(offline::failure(&request, id, &text)).await?;
        }
        for id in self.in_flight.forget_asked() {
            self.tell(withdraw(id)).await?;
        }
        if was_stable {
            self.backoff.reset();
            self.connect();
            return Ok(());
        }
        self.bridge = Bridge::Offline {
            retry_at: Some(self.backoff.next_attempt()),
        };
        Ok(())
    }

    /// Tells the client to read the list again, unless it has not seen another one.
    async fn list_changed(&mut self, online: bool) -> io::Result<()> {
        let before = self.told.replace(online);
        if before.is_none() || (before == Some(false) && !online) {
            return Ok(());
        }
        if matches!(self.opening, Some(Opening::Session(_))) {
            return self.tell(offline::list_changed()).await;
        }
        let listens = self.in_flight.subscriptions();
        let messages: Vec<_> = listens
            .filter_map(|(id, listen)| offline::list_changed_on(listen, id))
            .collect();
        for message in messages {
            self.tell(message).await?;
        }
        Ok(())
    }
}

fn sent(
    generation: u64,
    id: Option<RequestId>,
    sending: BoxFuture<'static, Result<(), Absence>>,
) -> BoxFuture<'static, Sent> {
    Box::pin(async move {
        Sent {
            generation,
            id,
            outcome: sending.await,
        }
    })
}

/// The bridge does not wait for this reply any more.
fn withdraw(id: RequestId) -> ServerJsonRpcMessage {
    let reason = Some("the bridge is gone".to_owned());
    let params = CancelledNotificationParam::new(Some(id), reason);
    ServerJsonRpcMessage::notification(CancelledNotification::new(params).into())
}
