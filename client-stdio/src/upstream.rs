//! One [`Link`] is one MCP connection to one bridge: how it is greeted, what goes over it, how it
//! ends. Up to 2025-11-25 that is an MCP session with an event stream of its own; in 2026-07-28
//! each request stands alone, and dropping its response is the cancel.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::absence::Absence;
use crate::bridge_http::BridgeHttp;
use crate::config::Config;
use crate::exchange::{self, FromBridge, Way};
use crate::headers::Tools;
use crate::message::{self, Id, Message, Request};
use crate::opening::Opening;

/// The whole handshake. A client that waits for `initialize` gets our own answer after that.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);

/// At the end of input, for cancelling what is in flight and deleting the MCP session.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Requests that may be under way at once; more wait. Each has a connection of its own.
const REQUESTS_AT_ONCE: usize = 1024;

/// Messages of the bridge that wait for the client to read. Full: the bridge is not read either.
const WAITING_FROM_BRIDGE: usize = 64;

/// Notifications and replies of the client that wait for the bridge. Full: it takes nothing, and
/// the link is given up.
const WAITING_FOR_BRIDGE: usize = 1024;

/// A cancel must not overtake its request. A bridge that answers without a stream says nothing
/// until the answer, so the wait has an end.
const CANCEL_AFTER: Duration = Duration::from_millis(250);

/// A connection to a bridge that has answered the opening.
pub(crate) struct Link {
    way: Arc<Way>,
    /// Of the bridge, from before anybody asked.
    early: VecDeque<FromBridge>,
    inbox: mpsc::Receiver<FromBridge>,
    said: mpsc::Sender<FromBridge>,
    outbox: mpsc::Sender<Message>,
    exchanges: HashMap<Id, Exchange>,
    at_once: Arc<Semaphore>,
    tasks: JoinSet<()>,
    /// What the bridge answered to `initialize`; `None` in the stateless era.
    pub(crate) initialized: Option<Box<RawValue>>,
}

struct Exchange {
    task: AbortHandle,
    taken: watch::Receiver<bool>,
}

impl Link {
    /// Opens a connection, greets the bridge, and asks it for what lasts.
    pub(crate) async fn open(
        config: Config,
        opening: Opening,
        tools: Tools,
        standing: Vec<Request>,
    ) -> Result<Self, Absence> {
        let greeting = Self::greet(&config, opening, tools, standing);
        match tokio::time::timeout(HANDSHAKE_WITHIN, greeting).await {
            // Nothing of the client's was sent yet: there is just no bridge.
            Ok(Err(Absence::Interrupted)) | Err(_) => Err(Absence::NotReached),
            Ok(greeted) => greeted,
        }
    }

    async fn greet(
        config: &Config,
        opening: Opening,
        tools: Tools,
        standing: Vec<Request>,
    ) -> Result<Self, Absence> {
        let stateless = match &opening {
            Opening::Session(_) => None,
            Opening::Stateless { version, .. } => Some(version.clone()),
        };
        let way = Way {
            http: BridgeHttp::new(config, stateless.is_none())?,
            tools,
            stateless,
        };
        let (said, inbox) = mpsc::channel(WAITING_FROM_BRIDGE);
        let (outbox, to_send) = mpsc::channel(WAITING_FOR_BRIDGE);
        let mut link = Self {
            way: Arc::new(way),
            early: VecDeque::new(),
            inbox,
            said,
            outbox,
            exchanges: HashMap::new(),
            at_once: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)),
            tasks: JoinSet::new(),
            initialized: None,
        };
        let greeting = opening.greeting();
        match opening {
            Opening::Session(_) => link.begin_session(&greeting).await?,
            Opening::Stateless { .. } => link.discover(&greeting).await?,
        }
        for request in standing {
            link.ask_again(&request).await?;
        }
        link.tasks.spawn(deliver(link.way.clone(), to_send));
        Ok(link)
    }

    async fn begin_session(&mut self, initialize: &Request) -> Result<(), Absence> {
        let unusable = |what: &str| Absence::Unusable(what.to_owned());
        let Some(Message::Answer { is_error, text, .. }) = self.ask_early(initialize).await? else {
            return Err(unusable("it did not answer initialize"));
        };
        if is_error {
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            let words = answer["error"]["message"].as_str();
            return Err(unusable(words.unwrap_or("it refused initialize")));
        }
        #[derive(Deserialize)]
        struct Result {
            #[serde(rename = "protocolVersion")]
            version: String,
        }
        let none = || unusable("its answer to initialize is none");
        let result = message::result_of(&text).ok_or_else(none)?;
        let Result { version } = serde_json::from_str(result.get()).map_err(|_| none())?;
        self.way.http.settle_version(&version);
        self.initialized = Some(result);
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let initialized = Message::parse(initialized).map_err(|_| none())?;
        self.way.tell(&initialized).await?;
        self.tasks
            .spawn(exchange::listen(self.way.clone(), self.said.clone()));
        Ok(())
    }

    /// Whatever a stateless bridge thinks of the discovery, it answers: requests may follow.
    async fn discover(&mut self, discover: &Request) -> Result<(), Absence> {
        match self.ask_early(discover).await {
            Ok(_) => Ok(()),
            Err(Absence::Refused { status, .. })
                if (400..500).contains(&status) && status != 403 =>
            {
                Ok(())
            }
            Err(absence) => Err(absence),
        }
    }

    async fn ask_again(&mut self, request: &Request) -> Result<(), Absence> {
        let answer = self.ask_early(request).await?;
        if let Some(Message::Answer {
            is_error: true,
            text,
            ..
        }) = answer
        {
            tracing::warn!("the bridge does not repeat {}: {text}", request.method);
        }
        Ok(())
    }

    /// Asks for ourselves. What else the bridge says meanwhile is the client's.
    async fn ask_early(&mut self, request: &Request) -> Result<Option<Message>, Absence> {
        let (said, mut heard) = mpsc::channel(WAITING_FROM_BRIDGE);
        let way = self.way.clone();
        let asking = exchange::ask(&way, request, &said, || ());
        tokio::pin!(asking);
        let mut answer = None;
        let mut hear = |message| match message {
            FromBridge::Message(Message::Answer { .. }) if answer.is_none() => {
                if let FromBridge::Message(message) = message {
                    answer = Some(message);
                }
            }
            other => self.early.push_back(other),
        };
        let asked = loop {
            tokio::select! {
                biased;
                Some(message) = heard.recv() => hear(message),
                asked = &mut asking => break asked,
            }
        };
        while let Ok(message) = heard.try_recv() {
            hear(message);
        }
        asked.map(|()| answer)
    }

    /// Sends a request. What comes of it is among what is received.
    pub(crate) fn ask(&mut self, request: Request) {
        let (way, said) = (self.way.clone(), self.said.clone());
        let (taking, taken) = watch::channel(false);
        let at_once = self.at_once.clone();
        let id = request.id.clone();
        let task = self.tasks.spawn(async move {
            let _turn = at_once.acquire_owned().await;
            exchange::exchange(way, request, taking, said).await;
        });
        self.exchanges.insert(id, Exchange { task, taken });
    }

    /// Sends a notification or a reply; those stay in order.
    pub(crate) fn tell(&mut self, message: Message) {
        if self.outbox.try_send(message).is_err() {
            self.early.push_back(FromBridge::Lost(Absence::Interrupted));
        }
    }

    /// The client does not want the answer of a request that was sent. `notification` says so.
    pub(crate) fn cancel(&mut self, id: &Id, notification: Message) {
        let Some(Exchange { task, mut taken }) = self.exchanges.remove(id) else {
            return;
        };
        if self.initialized.is_none() {
            task.abort();
            return;
        }
        let way = self.way.clone();
        self.tasks.spawn(async move {
            let _ = tokio::time::timeout(CANCEL_AFTER, taken.wait_for(|taken| *taken)).await;
            if let Err(absence) = way.tell(&notification).await {
                tracing::debug!("a cancel did not arrive: {absence:?}");
            }
        });
    }

    /// The next message. May be dropped and called again without losing one.
    pub(crate) async fn receive(&mut self) -> FromBridge {
        let said = loop {
            if let Some(early) = self.early.pop_front() {
                break early;
            }
            tokio::select! {
                Some(said) = self.inbox.recv() => break said,
                Some(_) = self.tasks.join_next() => {}
                else => break FromBridge::Lost(Absence::Interrupted),
            }
        };
        match &said {
            FromBridge::Message(Message::Answer { id: Some(id), .. })
            | FromBridge::Failed { id, .. } => self.exchanges.remove(id),
            _ => None,
        };
        said
    }

    /// Cancels `in_flight` and says goodbye. In the stateless era closing is both.
    pub(crate) async fn close(self, in_flight: Vec<Id>) {
        if self.initialized.is_none() {
            return;
        }
        let farewell = async {
            let cancels = in_flight.iter().map(|id| self.tell_cancelled(id));
            join_all(cancels).await;
            if self.way.http.has_session() {
                self.way.http.delete().await
            } else {
                Ok(())
            }
        };
        if !matches!(
            tokio::time::timeout(CLOSE_WITHIN, farewell).await,
            Ok(Ok(()))
        ) {
            tracing::info!("the bridge did not take the goodbye");
        }
    }

    async fn tell_cancelled(&self, id: &Id) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client is gone"}}}}"#
        );
        if let Ok(cancel) = Message::parse(text) {
            // A bridge that is gone has nothing to cancel.
            let _ = self.way.tell(&cancel).await;
        }
    }
}

async fn deliver(way: Arc<Way>, mut messages: mpsc::Receiver<Message>) {
    while let Some(message) = messages.recv().await {
        if let Err(absence) = way.tell(&message).await {
            tracing::debug!("a notification or reply did not arrive: {absence:?}");
        }
    }
}
