//! A session with one bridge, from its handshake to its close.
//!
//! Up to version 2025-11-25 it is an MCP session with its own event stream. In version 2026-07-28
//! requests are independent of each other, and a request is cancelled by dropping its response.

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
use crate::message::{self, JsonRpcMessage, JsonRpcRequest};
use crate::request_id::RequestId;
use crate::silence::SilenceLimit;
use crate::token_source::TokenSource;

/// The timeout of the whole handshake. When it expires, a client that waits for the answer to
/// `initialize` receives an answer of the proxy.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the bridge may take, at the end of input, for cancelling the requests in flight and
/// deleting the MCP session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of requests that are sent at the same time; further requests wait. Each has
/// its own connection.
const MAX_CONCURRENT_REQUESTS: usize = 1024;

/// The maximum number of messages of the bridge that wait for the client. When it is reached, no
/// more messages are read from the bridge.
const INBOX_CAPACITY: usize = 64;

/// The maximum number of notifications and replies of the client that wait for the bridge. When it
/// is exceeded, the bridge has stopped accepting messages, and the session is abandoned.
const OUTBOX_CAPACITY: usize = 1024;

/// How long a cancellation waits until its request has been delivered, because it must not overtake
/// it. A bridge that answers without a stream shows nothing before its answer, so the wait is
/// bounded.
const CANCEL_DELAY: Duration = Duration::from_millis(250);

/// A session with a bridge that has answered the handshake.
pub(crate) struct BridgeSession {
    context: Arc<RequestContext>,
    /// Messages that the bridge sent during the handshake, and errors of the outbox. They are
    /// received before those in the inbox.
    early_messages: VecDeque<BridgeMessage>,
    inbox: mpsc::Receiver<BridgeMessage>,
    inbox_sender: mpsc::Sender<BridgeMessage>,
    outbox: mpsc::Sender<JsonRpcMessage>,
    exchanges: HashMap<RequestId, Exchange>,
    permits: Arc<Semaphore>,
    tasks: JoinSet<()>,
    /// The result of `initialize`; `None` in the stateless protocol.
    pub(crate) initialize_result: Option<Box<RawValue>>,
}

/// The knowledge from earlier sessions with the bridge at this URL.
pub(crate) struct KnownBridge {
    pub(crate) tokens: TokenSource,
    pub(crate) tool_headers: ToolHeaders,
    pub(crate) silence: SilenceLimit,
    /// Whether the last session was lost, and not long ago.
    pub(crate) is_reconnected: bool,
}

/// A request that is in flight.
struct Exchange {
    task: AbortHandle,
    /// Whether the bridge has certainly read the request.
    delivered: watch::Receiver<bool>,
}

impl BridgeSession {
    /// Connects to the bridge, performs the handshake and sends the requests in `replay`.
    pub(crate) async fn connect(
        config: Config,
        handshake: ClientHandshake,
        known: KnownBridge,
        replay: Vec<JsonRpcRequest>,
    ) -> Result<Self, BridgeError> {
        // A command that takes long must not look like a bridge that does not answer.
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, known.tokens.token()).await {
            Ok(token) => drop(token?),
            Err(_) => return Err(BridgeError::TokenCommand("it is still running".to_owned())),
        }
        if let Some(bridge) = &config.local_bridge {
            bridge.ensure().await?;
        }
        let initializing = Self::initialize(&config, handshake, known, replay);
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, initializing).await {
            // No request of the client was sent yet, so none can have been executed.
            Ok(Err(BridgeError::ConnectionLost)) | Err(_) => Err(BridgeError::Unreachable),
            Ok(session) => session,
        }
    }

    async fn initialize(
        config: &Config,
        handshake: ClientHandshake,
        known: KnownBridge,
        replay: Vec<JsonRpcRequest>,
    ) -> Result<Self, BridgeError> {
        let default_version = match &handshake {
            ClientHandshake::Session(_) => None,
            ClientHandshake::Stateless { version, .. } => Some(version.clone()),
        };
        let context = RequestContext {
            http: BridgeHttp::new(
                config,
                known.tokens,
                known.silence,
                default_version.is_none(),
            )?,
            tool_headers: known.tool_headers,
            default_version,
            is_reconnected: known.is_reconnected,
        };
        let (inbox_sender, inbox) = mpsc::channel(INBOX_CAPACITY);
        let (outbox, outbox_receiver) = mpsc::channel(OUTBOX_CAPACITY);
        let mut session = Self {
            context: Arc::new(context),
            early_messages: VecDeque::new(),
            inbox,
            inbox_sender,
            outbox,
            exchanges: HashMap::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)),
            tasks: JoinSet::new(),
            initialize_result: None,
        };
        let request = handshake.to_request();
        match handshake {
            ClientHandshake::Session(_) => session.begin_session(&request).await?,
            ClientHandshake::Stateless { .. } => session.discover(&request).await?,
        }
        for request in replay {
            session.replay(&request).await?;
        }
        let context = session.context.clone();
        session.tasks.spawn(send_outbox(context, outbox_receiver));
        Ok(session)
    }

    async fn begin_session(&mut self, initialize: &JsonRpcRequest) -> Result<(), BridgeError> {
        let invalid = |reason: &str| BridgeError::InvalidResponse(reason.to_owned());
        let Some(JsonRpcMessage::Response { is_error, text, .. }) =
            self.send_before_ready(initialize).await?
        else {
            return Err(invalid("it did not answer initialize"));
        };
        if is_error {
            let response: Value = serde_json::from_str(&text).unwrap_or_default();
            let message = response["error"]["message"].as_str();
            return Err(invalid(message.unwrap_or("it refused initialize")));
        }
        #[derive(Deserialize)]
        struct InitializeResult {
            #[serde(rename = "protocolVersion")]
            version: String,
        }
        let no_result = || invalid("its answer to initialize is not valid");
        let result = message::parse_result(&text).ok_or_else(no_result)?;
        let InitializeResult { version } =
            serde_json::from_str(result.get()).map_err(|_| no_result())?;
        self.context.http.set_version(&version);
        self.initialize_result = Some(result);
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let initialized = JsonRpcMessage::parse(initialized).map_err(|_| no_result())?;
        self.context.send(&initialized).await?;
        self.tasks.spawn(exchange::run_session_stream(
            self.context.clone(),
            self.inbox_sender.clone(),
        ));
        Ok(())
    }

    /// Sends `server/discover`. Any answer shows that the bridge is running, so requests may
    /// follow, even if the answer is an HTTP error of the client other than 403.
    async fn discover(&mut self, discover: &JsonRpcRequest) -> Result<(), BridgeError> {
        match self.send_before_ready(discover).await {
            Ok(_) => Ok(()),
            Err(BridgeError::Refused { status, .. })
                if (400..500).contains(&status) && status != 403 =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn replay(&mut self, request: &JsonRpcRequest) -> Result<(), BridgeError> {
        let response = self.send_before_ready(request).await?;
        if let Some(JsonRpcMessage::Response {
            is_error: true,
            text,
            ..
        }) = response
        {
            tracing::warn!("the new bridge refused {}: {text}", request.method);
        }
        Ok(())
    }

    /// Sends a request of our own during the handshake and returns its answer. All other messages
    /// that arrive meanwhile are stored for the client.
    async fn send_before_ready(
        &mut self,
        request: &JsonRpcRequest,
    ) -> Result<Option<JsonRpcMessage>, BridgeError> {
        let (sender, mut receiver) = mpsc::channel(INBOX_CAPACITY);
        let context = self.context.clone();
        let sending = exchange::send_request(&context, request, &sender, || ());
        tokio::pin!(sending);
        let mut response = None;
        let mut on_message = |message| match message {
            BridgeMessage::Message(message @ JsonRpcMessage::Response { .. })
                if response.is_none() =>
            {
                response = Some(message);
            }
            other => self.early_messages.push_back(other),
        };
        let result = loop {
            tokio::select! {
                biased;
                Some(message) = receiver.recv() => on_message(message),
                result = &mut sending => break result,
            }
        };
        while let Ok(message) = receiver.try_recv() {
            on_message(message);
        }
        result.map(|()| response)
    }

    /// Sends a request. Its answer and all other messages that belong to it are received with
    /// [`recv`](Self::recv).
    pub(crate) fn send_request(&mut self, request: JsonRpcRequest) {
        let (context, sender) = (self.context.clone(), self.inbox_sender.clone());
        let (delivered_sender, delivered) = watch::channel(false);
        let permits = self.permits.clone();
        let id = request.id.clone();
        let task = self.tasks.spawn(async move {
            let _permit = permits.acquire_owned().await;
            exchange::run(context, request, delivered_sender, sender).await;
        });
        self.exchanges.insert(id, Exchange { task, delivered });
    }

    /// Sends a notification or a reply. The bridge receives them in the order of the calls.
    pub(crate) fn send(&mut self, message: JsonRpcMessage) {
        if self.outbox.try_send(message).is_err() {
            self.early_messages
                .push_back(BridgeMessage::Lost(BridgeError::ConnectionLost));
        }
    }

    /// Cancels a request that was sent. `notification` is the `notifications/cancelled` of the
    /// client.
    pub(crate) fn cancel(&mut self, id: &RequestId, notification: JsonRpcMessage) {
        let Some(Exchange {
            task,
            mut delivered,
        }) = self.exchanges.remove(id)
        else {
            return;
        };
        if self.initialize_result.is_none() {
            task.abort();
            return;
        }
        let context = self.context.clone();
        self.tasks.spawn(async move {
            let delivery = delivered.wait_for(|is_delivered| *is_delivered);
            let _ = tokio::time::timeout(CANCEL_DELAY, delivery).await;
            if let Err(error) = context.send(&notification).await {
                tracing::debug!("a cancellation did not arrive: {error:?}");
            }
        });
    }

    /// Waits for the next message. This method is cancel safe.
    pub(crate) async fn recv(&mut self) -> BridgeMessage {
        let message = loop {
            if let Some(message) = self.early_messages.pop_front() {
                break message;
            }
            tokio::select! {
                Some(message) = self.inbox.recv() => break message,
                Some(_) = self.tasks.join_next() => {}
                else => break BridgeMessage::Lost(BridgeError::ConnectionLost),
            }
        };
        if let BridgeMessage::Message(JsonRpcMessage::Response { id: Some(id), .. })
        | BridgeMessage::Failed { id, .. } = &message
        {
            self.exchanges.remove(id);
        }
        message
    }

    /// Cancels the requests in `in_flight` and ends the MCP session. In the stateless protocol
    /// dropping the connections does both.
    pub(crate) async fn close(self, in_flight: Vec<RequestId>) {
        if self.initialize_result.is_none() {
            return;
        }
        let closing = async {
            join_all(in_flight.iter().map(|id| self.send_cancel(id))).await;
            if self.context.http.has_session() {
                self.context.http.delete().await
            } else {
                Ok(())
            }
        };
        if !matches!(
            tokio::time::timeout(CLOSE_TIMEOUT, closing).await,
            Ok(Ok(()))
        ) {
            tracing::info!("the bridge did not confirm the end of the MCP session");
        }
    }

    async fn send_cancel(&self, id: &RequestId) {
        let cancel = message::cancel_notification(id, "the client is gone");
        // If the bridge is gone, nothing is left to cancel.
        let _ = self.context.send(&cancel).await;
    }
}

async fn send_outbox(context: Arc<RequestContext>, mut messages: mpsc::Receiver<JsonRpcMessage>) {
    while let Some(message) = messages.recv().await {
        if let Err(error) = context.send(&message).await {
            tracing::debug!("a notification or reply did not arrive: {error:?}");
        }
    }
}
