//! One [`BridgeSession`] is one MCP connection to one bridge: how it is greeted, what goes over it, how it
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

use crate::bridge_http::BridgeHttp;
use crate::config::Config;
use crate::connect_error::BridgeError;
use crate::exchange::{self, BridgeMessage, RequestContext};
use crate::handshake::ClientHandshake;
use crate::headers::ToolHeaders;
use crate::message::{self, Message, Request, RequestId};

/// The whole handshake. A client that waits for `initialize` gets our own answer after that.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// At the end of input, for cancelling what is in flight and deleting the MCP session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Requests that may be under way at once; more wait. Each has a connection of its own.
const MAX_CONCURRENT_REQUESTS: usize = 1024;

/// Messages of the bridge that wait for the client to read. Full: the bridge is not read either.
const INBOX_CAPACITY: usize = 64;

/// Notifications and replies of the client that wait for the bridge. Full: it takes nothing, and
/// the link is given up.
const OUTBOX_CAPACITY: usize = 1024;

/// A cancel must not overtake its request. A bridge that answers without a stream says nothing
/// until the answer, so the wait has an end.
const CANCEL_DELAY: Duration = Duration::from_millis(250);

/// A connection to a bridge that has answered the opening.
pub(crate) struct BridgeSession {
    context: Arc<RequestContext>,
    /// Of the bridge, from before anybody asked.
    early_messages: VecDeque<BridgeMessage>,
    inbox: mpsc::Receiver<BridgeMessage>,
    inbox_sender: mpsc::Sender<BridgeMessage>,
    outbox: mpsc::Sender<Message>,
    exchanges: HashMap<RequestId, Exchange>,
    permits: Arc<Semaphore>,
    tasks: JoinSet<()>,
    /// What the bridge answered to `initialize`; `None` in the stateless era.
    pub(crate) initialize_result: Option<Box<RawValue>>,
}

struct Exchange {
    task: AbortHandle,
    delivered: watch::Receiver<bool>,
}

impl BridgeSession {
    /// Opens a connection, greets the bridge, and asks it for what lasts.
    pub(crate) async fn connect(
        config: Config,
        opening: ClientHandshake,
        tools: ToolHeaders,
        standing: Vec<Request>,
    ) -> Result<Self, BridgeError> {
        let greeting = Self::initialize(&config, opening, tools, standing);
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, greeting).await {
            // Nothing of the client's was sent yet: there is just no bridge.
            Ok(Err(BridgeError::ConnectionLost)) | Err(_) => Err(BridgeError::Unreachable),
            Ok(greeted) => greeted,
        }
    }

    async fn initialize(
        config: &Config,
        opening: ClientHandshake,
        tools: ToolHeaders,
        standing: Vec<Request>,
    ) -> Result<Self, BridgeError> {
        let stateless = match &opening {
            ClientHandshake::Session(_) => None,
            ClientHandshake::Stateless { version, .. } => Some(version.clone()),
        };
        let way = RequestContext {
            http: BridgeHttp::new(config, stateless.is_none())?,
            tool_headers: tools,
            default_version: stateless,
        };
        let (said, inbox) = mpsc::channel(INBOX_CAPACITY);
        let (outbox, to_send) = mpsc::channel(OUTBOX_CAPACITY);
        let mut link = Self {
            context: Arc::new(way),
            early_messages: VecDeque::new(),
            inbox,
            inbox_sender: said,
            outbox,
            exchanges: HashMap::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)),
            tasks: JoinSet::new(),
            initialize_result: None,
        };
        let greeting = opening.to_request();
        match opening {
            ClientHandshake::Session(_) => link.begin_session(&greeting).await?,
            ClientHandshake::Stateless { .. } => link.discover(&greeting).await?,
        }
        for request in standing {
            link.replay(&request).await?;
        }
        link.tasks.spawn(send_outbox(link.context.clone(), to_send));
        Ok(link)
    }

    async fn begin_session(&mut self, initialize: &Request) -> Result<(), BridgeError> {
        let unusable = |what: &str| BridgeError::InvalidResponse(what.to_owned());
        let Some(Message::Response { is_error, text, .. }) =
            self.send_before_ready(initialize).await?
        else {
            return Err(unusable("it did not answer initialize"));
        };
        if is_error {
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            let words = answer["error"]["message"].as_str();
            return Err(unusable(words.unwrap_or("it refused initialize")));
        }
        #[derive(Deserialize)]
        struct InitializeResult {
            #[serde(rename = "protocolVersion")]
            version: String,
        }
        let none = || unusable("its answer to initialize is none");
        let result = message::parse_result(&text).ok_or_else(none)?;
        let InitializeResult { version } =
            serde_json::from_str(result.get()).map_err(|_| none())?;
        self.context.http.set_version(&version);
        self.initialize_result = Some(result);
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let initialized = Message::parse(initialized).map_err(|_| none())?;
        self.context.send(&initialized).await?;
        self.tasks.spawn(exchange::run_session_stream(
            self.context.clone(),
            self.inbox_sender.clone(),
        ));
        Ok(())
    }

    /// Whatever a stateless bridge thinks of the discovery, it answers: requests may follow.
    async fn discover(&mut self, discover: &Request) -> Result<(), BridgeError> {
        match self.send_before_ready(discover).await {
            Ok(_) => Ok(()),
            Err(BridgeError::Refused { status, .. })
                if (400..500).contains(&status) && status != 403 =>
            {
                Ok(())
            }
            Err(absence) => Err(absence),
        }
    }

    async fn replay(&mut self, request: &Request) -> Result<(), BridgeError> {
        let answer = self.send_before_ready(request).await?;
        if let Some(Message::Response {
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
    async fn send_before_ready(
        &mut self,
        request: &Request,
    ) -> Result<Option<Message>, BridgeError> {
        let (said, mut heard) = mpsc::channel(INBOX_CAPACITY);
        let way = self.context.clone();
        let asking = exchange::send_request(&way, request, &said, || ());
        tokio::pin!(asking);
        let mut answer = None;
        let mut hear = |message| match message {
            BridgeMessage::Message(Message::Response { .. }) if answer.is_none() => {
                if let BridgeMessage::Message(message) = message {
                    answer = Some(message);
                }
            }
            other => self.early_messages.push_back(other),
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
    pub(crate) fn send_request(&mut self, request: Request) {
        let (way, said) = (self.context.clone(), self.inbox_sender.clone());
        let (taking, taken) = watch::channel(false);
        let at_once = self.permits.clone();
        let id = request.id.clone();
        let task = self.tasks.spawn(async move {
            let _turn = at_once.acquire_owned().await;
            exchange::run(way, request, taking, said).await;
        });
        self.exchanges.insert(
            id,
            Exchange {
                task,
                delivered: taken,
            },
        );
    }

    /// Sends a notification or a reply; those stay in order.
    pub(crate) fn send(&mut self, message: Message) {
        if self.outbox.try_send(message).is_err() {
            self.early_messages
                .push_back(BridgeMessage::Lost(BridgeError::ConnectionLost));
        }
    }

    /// The client does not want the answer of a request that was sent. `notification` says so.
    pub(crate) fn cancel(&mut self, id: &RequestId, notification: Message) {
        let Some(Exchange {
            task,
            delivered: mut taken,
        }) = self.exchanges.remove(id)
        else {
            return;
        };
        if self.initialize_result.is_none() {
            task.abort();
            return;
        }
        let way = self.context.clone();
        self.tasks.spawn(async move {
            let _ = tokio::time::timeout(CANCEL_DELAY, taken.wait_for(|taken| *taken)).await;
            if let Err(absence) = way.send(&notification).await {
                tracing::debug!("a cancel did not arrive: {absence:?}");
            }
        });
    }

    /// The next message. May be dropped and called again without losing one.
    pub(crate) async fn recv(&mut self) -> BridgeMessage {
        let said = loop {
            if let Some(early) = self.early_messages.pop_front() {
                break early;
            }
            tokio::select! {
                Some(said) = self.inbox.recv() => break said,
                Some(_) = self.tasks.join_next() => {}
                else => break BridgeMessage::Lost(BridgeError::ConnectionLost),
            }
        };
        match &said {
            BridgeMessage::Message(Message::Response { id: Some(id), .. })
            | BridgeMessage::Failed { id, .. } => self.exchanges.remove(id),
            _ => None,
        };
        said
    }

    /// Cancels `in_flight` and says goodbye. In the stateless era closing is both.
    pub(crate) async fn close(self, in_flight: Vec<RequestId>) {
        if self.initialize_result.is_none() {
            return;
        }
        let farewell = async {
            let cancels = in_flight.iter().map(|id| self.send_cancel(id));
            join_all(cancels).await;
            if self.context.http.has_session() {
                self.context.http.delete().await
            } else {
                Ok(())
            }
        };
        if !matches!(
            tokio::time::timeout(CLOSE_TIMEOUT, farewell).await,
            Ok(Ok(()))
        ) {
            tracing::info!("the bridge did not take the goodbye");
        }
    }

    async fn send_cancel(&self, id: &RequestId) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client is gone"}}}}"#
        );
        if let Ok(cancel) = Message::parse(text) {
            // A bridge that is gone has nothing to cancel.
            let _ = self.context.send(&cancel).await;
        }
    }
}

async fn send_outbox(way: Arc<RequestContext>, mut messages: mpsc::Receiver<Message>) {
    while let Some(message) = messages.recv().await {
        if let Err(absence) = way.send(&message).await {
            tracing::debug!("a notification or reply did not arrive: {absence:?}");
        }
    }
}
