//! The loop between stdio and the bridge: takes one event at a time, has one exit.

use std::io;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::absence::Absence;
use crate::bridge::{Backoff, Bridge, BridgeEvent};
use crate::config::Config;
use crate::exchange::FromBridge;
use crate::headers::Tools;
use crate::in_flight::InFlight;
use crate::input::Input;
use crate::message::{self, Id, Malformed, Message, Request};
use crate::offline;
use crate::opening::{Opening, begins_session};
use crate::output::{Output, Room};
use crate::oversized::Oversized;
use crate::progress_gap::ProgressGap;
use crate::standing::Standing;
use crate::upstream::Link;

/// Serves the client on `input` and `output` until the input ends, the output cannot be written or
/// `stop` is ready. What is in flight is cancelled then, within seconds.
pub async fn run<R, W>(config: Config, input: R, output: W, stop: impl Future<Output = ()>)
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (output, room) = Output::new(output);
    let mut pump = Pump {
        client: Input::new(input, config.max_message_bytes),
        output,
        room,
        config,
        opening: None,
        in_flight: InFlight::default(),
        standing: Standing::default(),
        tools: Tools::default(),
        progress_gap: ProgressGap::default(),
        bridge: Bridge::Unasked,
        backoff: Backoff::default(),
        told: None,
    };
    tokio::select! {
        () = stop => tracing::info!("told to stop"),
        served = pump.run_inner() => if let Err(error) = served {
            tracing::info!("the client does not read any more: {error}");
        },
    }
    pump.end().await;
}

struct Pump<R> {
    config: Config,
    client: Input<R>,
    output: Output,
    room: Room,
    /// How the client began. Until then no bridge is asked for anything.
    opening: Option<Opening>,
    in_flight: InFlight,
    standing: Standing,
    tools: Tools,
    progress_gap: ProgressGap,
    bridge: Bridge,
    backoff: Backoff,
    /// Whether the client last saw the bridge's list (true) or our own; `None` before its first.
    told: Option<bool>,
}

enum Event {
    Client(Option<Result<Message, Malformed>>),
    Bridge(BridgeEvent),
}

/// The request that a `notifications/cancelled` or an acknowledgement is about.
#[derive(Deserialize)]
struct About {
    #[serde(rename = "requestId")]
    cancelled: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Subscription>,
}

#[derive(Deserialize)]
struct Subscription {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    id: Option<Value>,
}

impl<R> Pump<R>
where
    R: AsyncRead + Send + Unpin,
{
    async fn run_inner(&mut self) -> io::Result<()> {
        loop {
            let event = tokio::select! {
                line = self.client.receive() => Event::Client(line),
                event = next_with_room(&mut self.room, &mut self.bridge) => Event::Bridge(event),
                () = self.output.broken() => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            match event {
                Event::Client(None) => return Ok(()),
                Event::Client(Some(Ok(message))) => self.client_said(message).await?,
                Event::Client(Some(Err(malformed))) => {
                    tracing::warn!("a line of the client cannot be used: {malformed}");
                    self.client_said_nonsense(&malformed).await?;
                }
                Event::Bridge(event) => self.bridge_event(event).await?,
            }
            if self.bridge.link().is_some() && self.in_flight.only_waits() {
                self.send_waiting().await?;
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
            BridgeEvent::Said(FromBridge::Message(message)) => self.bridge_said(message).await,
            BridgeEvent::Said(FromBridge::Failed { id, absence }) => {
                self.request_failed(id, absence).await
            }
            BridgeEvent::Said(FromBridge::Lost(absence)) => self.bridge_lost(absence).await,
        }
    }

    /// The one exit: nothing that the client asked for goes on without it.
    async fn end(mut self) {
        let in_flight = self.in_flight.end_of_input();
        if let Bridge::Online { link, .. } = self.bridge {
            link.close(in_flight).await;
        }
        self.output.close().await;
    }

    /// Adds to what the client is to read. Waits only when very much is unread: a client that does
    /// not read is not read from either.
    async fn tell(&mut self, message: Message) -> io::Result<()> {
        self.output.send(message).await
    }

    /// What a line that is no message comes to: an error for whoever waits for it.
    async fn client_said_nonsense(&mut self, malformed: &Malformed) -> io::Result<()> {
        let Malformed::TooLong(Oversized { id, method, .. }) = malformed else {
            return self.tell(malformed.answer()).await;
        };
        match (id, method) {
            // Nobody waits to hear of a notification.
            (None, Some(_)) => Ok(()),
            // A reply: the bridge waits for it.
            (Some(id), None) => {
                if self.in_flight.replied(id) {
                    self.pass_on(malformed.answer());
                }
                Ok(())
            }
            (_, Some(_)) | (None, None) => self.tell(malformed.answer()).await,
        }
    }

    async fn client_said(&mut self, message: Message) -> io::Result<()> {
        match &message {
            Message::Request(request) => self.client_asked(request.clone()).await?,
            Message::Notification { method, .. } => match &**method {
                // Each link has had its own, right after its `initialize`.
                "notifications/initialized" => {}
                "notifications/cancelled" => self.client_cancelled(message),
                _ => self.pass_on(message),
            },
            Message::Answer { id: Some(id), .. } => {
                if self.in_flight.replied(id) {
                    self.pass_on(message);
                }
            }
            Message::Answer { id: None, text, .. } => {
                tracing::warn!("the client reports an error without a request: {text}");
            }
        }
        Ok(())
    }

    async fn client_asked(&mut self, request: Request) -> io::Result<()> {
        if begins_session(&request) {
            self.opening = Opening::of(&request);
            self.standing = Standing::default();
            if !matches!(self.bridge, Bridge::Unasked) {
                self.bridge_lost(Absence::Interrupted).await?;
            }
            self.bridge = Bridge::Unasked;
        } else if self.opening.is_none() {
            self.opening = Opening::of(&request);
        }
        if &*request.method == "ping" && self.bridge.link().is_none() {
            return self.tell(offline::answer(&request, "")).await;
        }
        if self.opening.is_none() {
            return self.refuse(&request, "send initialize first").await;
        }
        if !self.in_flight.opened(request.clone()) {
            return self
                .refuse(&request, "a request with this id is open")
                .await;
        }
        match &self.bridge {
            Bridge::Online { .. } => self.send_waiting().await,
            Bridge::Connecting(_) => Ok(()),
            Bridge::Unasked | Bridge::Offline { .. } => {
                self.connect();
                Ok(())
            }
        }
    }

    async fn refuse(&mut self, request: &Request, why: &str) -> io::Result<()> {
        let code = message::INVALID_REQUEST;
        self.tell(message::error(Some(&request.id), code, why, None))
            .await
    }

    fn client_cancelled(&mut self, notification: Message) {
        let about: Option<About> = message::params(notification.text());
        let Some(id) = about.and_then(|about| about.cancelled) else {
            return;
        };
        let id = Id::new(&id);
        if self.in_flight.cancelled(&id)
            && let Some(link) = self.bridge.link()
        {
            link.cancel(&id, notification);
        }
    }

    /// Sends what needs no answer. Without a bridge there is nobody whom it could concern.
    fn pass_on(&mut self, message: Message) {
        if let Some(link) = self.bridge.link() {
            link.tell(message);
        }
    }

    async fn send_waiting(&mut self) -> io::Result<()> {
        for request in self.in_flight.bridge_found() {
            let Bridge::Online { link, .. } = &mut self.bridge else {
                break;
            };
            if let ("initialize", Some(result)) = (&*request.method, &link.initialized) {
                let answer = message::response(&request.id, result);
                self.in_flight.answered(&request.id);
                self.tell(answer).await?;
                continue;
            }
            link.ask(request);
        }
        Ok(())
    }

    async fn request_failed(&mut self, id: Id, absence: Absence) -> io::Result<()> {
        if absence.concerns_token() && self.in_flight.others_are_sent(&id) {
            // Those that were sent before the token ended run to their endings.
            return self.fail(&id, &absence).await;
        }
        if absence.not_executed() {
            if !self.in_flight.came_back(&id) {
                self.fail(&id, &absence).await?;
            }
            return self.bridge_lost(absence).await;
        }
        if absence == Absence::Interrupted && self.in_flight.listens(&id) {
            if self.in_flight.others_are_sent(&id) {
                // What lies between may have closed this stream alone. The bridge is asked once
                // more when the others have ended, with it or before.
                self.in_flight.came_back(&id);
                return Ok(());
            }
            return self.bridge_lost(absence).await;
        }
        self.fail(&id, &absence).await
    }

    async fn fail(&mut self, id: &Id, absence: &Absence) -> io::Result<()> {
        let Some(request) = self.in_flight.answered(id) else {
            return Ok(());
        };
        let text = absence.explain(self.config.url.as_str());
        self.tell(offline::failure(&request, &text)).await
    }

    async fn bridge_said(&mut self, message: Message) -> io::Result<()> {
        let mut write_at = None;
        let concerns_client = match &message {
            Message::Request(request) => {
                self.in_flight.asked(request.id.clone());
                true
            }
            Message::Notification { method, text } => self.concerns_client(method, text),
            Message::Answer {
                id: Some(id),
                is_error,
                ..
            } => match self.bridge_answered(id, *is_error) {
                Some(request) => {
                    write_at = self.progress_gap.answer_at(&request, Instant::now());
                    true
                }
                None => false,
            },
            Message::Answer { id: None, text, .. } => {
                tracing::warn!("the bridge reports an error without a request: {text}");
                false
            }
        };
        if concerns_client {
            self.output.send_at(write_at, message).await?;
        }
        Ok(())
    }

    /// The request that has its answer; `None` when nobody waits for it any more.
    fn bridge_answered(&mut self, id: &Id, is_error: bool) -> Option<Request> {
        let request = self.in_flight.answered(id)?;
        if !is_error {
            self.standing.succeeded(&request);
        }
        Some(request)
    }

    fn concerns_client(&mut self, method: &str, text: &str) -> bool {
        let about = || message::params::<About>(text);
        match method {
            "notifications/subscriptions/acknowledged" => {
                let id = about().and_then(|about| about.meta?.id);
                id.is_some_and(|id| self.in_flight.acknowledged(&Id::new(&id)))
            }
            "notifications/progress" => {
                self.progress_gap.reported(text, Instant::now());
                true
            }
            "notifications/cancelled" => {
                let id = about().and_then(|about| about.cancelled);
                id.is_some_and(|id| self.in_flight.replied(&Id::new(&id)))
            }
            _ => true,
        }
    }

    fn connect(&mut self) {
        if let Some(opening) = &self.opening {
            let standing = self.standing.requests();
            self.bridge = Bridge::connect(&self.config, opening, &self.tools, standing);
        }
    }

    async fn bridge_found(&mut self, link: Box<Link>) -> io::Result<()> {
        tracing::info!("connected to {}", self.config.url);
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
        for request in self.in_flight.no_bridge() {
            let answer = offline::answer(&request, &text);
            if !matches!(answer, Message::Answer { is_error: true, .. }) {
                self.standing.succeeded(&request);
            }
            self.tell(answer).await?;
        }
        for listen in self.in_flight.acknowledge_all() {
            if let Some(acknowledgement) = offline::acknowledgement(&listen) {
                self.tell(acknowledgement).await?;
            }
        }
        self.list_changed(false).await
    }

    /// Ends what the bridge had not answered and looks for it again.
    async fn bridge_lost(&mut self, absence: Absence) -> io::Result<()> {
        tracing::info!("lost the bridge at {}: {absence:?}", self.config.url);
        let was_stable = self.bridge.is_stable();
        let answerable = if absence.not_executed() {
            Absence::Interrupted
        } else {
            absence
        };
        let text = answerable.explain(self.config.url.as_str());
        for request in self.in_flight.bridge_lost() {
            self.tell(offline::failure(&request, &text)).await?;
        }
        for id in self.in_flight.forget_asked() {
            if let Ok(withdrawal) = withdraw(&id) {
                self.tell(withdrawal).await?;
            }
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

    /// Tells the client to read the lists again, unless it has not seen others.
    async fn list_changed(&mut self, online: bool) -> io::Result<()> {
        let before = self.told.replace(online);
        if before.is_none() || (before == Some(false) && !online) {
            return Ok(());
        }
        let changes = if matches!(self.opening, Some(Opening::Session(_))) {
            offline::changes(&self.standing, online)
        } else {
            let listens = self.in_flight.subscriptions();
            listens
                .flat_map(|listen| offline::changes_on(listen, online))
                .collect()
        };
        for change in changes {
            self.tell(change).await?;
        }
        Ok(())
    }
}

/// The bridge's next event, once the client has read enough. May be dropped and called again.
async fn next_with_room(room: &mut Room, bridge: &mut Bridge) -> BridgeEvent {
    room.wait().await;
    bridge.next().await
}

/// The bridge does not wait for this reply any more.
fn withdraw(id: &Id) -> Result<Message, Malformed> {
    Message::parse(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the bridge is gone"}}}}"#
    ))
}
