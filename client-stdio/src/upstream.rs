//! The HTTP side: one [`Link`] is one MCP connection to one bridge.
//!
//! rmcp's `StreamableHttpClientTransport` speaks the protocol of both eras: MCP session and GET
//! stream for clients that open with `initialize`, the per-request headers (`MCP-Protocol-Version`,
//! `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`) for 2026-07-28, where dropping a response stream is
//! the cancel. What it keeps to itself is seen in [`BridgeHttp`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest,
    DiscoverRequest, DiscoverRequestParams, GetMeta, InitializeRequest, InitializeResult,
    InitializedNotification, JsonRpcMessage, RequestId, RequestMetaObject, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::sync::mpsc;

use crate::MAX_MESSAGE_BYTES;
use crate::bridge_http::{BridgeHttp, absence};
use crate::config::{Config, Token};
use crate::offline::Absence;

/// The whole handshake. A client that waits for `initialize` gets our own answer after that.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);

/// At the end of input, for cancelling what is in flight and deleting the MCP session.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Responses of the bridge that may be under way at once before requests queue up. rmcp's default
/// of 16 would let 16 slow calls block the rest where the bridge answers without SSE.
const REQUESTS_AT_ONCE: usize = 1024;

/// Between attempts of rmcp to open an event stream of a living MCP session again.
const REOPEN_AFTER: Duration = Duration::from_millis(250);

/// Our own id for the handshake. Its answer is not the client's.
const HANDSHAKE_ID: &str = "mcp-web-stdio/handshake";

/// How the client began, which decides how each new bridge is greeted.
#[derive(Debug, Clone)]
pub(crate) enum Opening {
    /// With `initialize`: a bridge gets the client's own.
    Session(Box<InitializeRequest>),
    /// With a request of 2026-07-28: a bridge gets `server/discover` with its `_meta`.
    Stateless(RequestMetaObject),
}

impl Opening {
    fn request(&self) -> ClientRequest {
        match self {
            Self::Session(initialize) => ClientRequest::InitializeRequest((**initialize).clone()),
            Self::Stateless(meta) => {
                let mut discover = DiscoverRequest::new(DiscoverRequestParams {});
                discover.extensions.insert(meta.clone());
                ClientRequest::DiscoverRequest(discover)
            }
        }
    }
}

/// A connection to a bridge that has answered the opening.
pub(crate) struct Link {
    transport: StreamableHttpClientTransport<BridgeHttp>,
    losses: mpsc::Receiver<Absence>,
    /// What the bridge answered to `initialize`; `None` in the stateless era.
    pub(crate) initialized: Option<InitializeResult>,
}

/// What comes from a bridge.
#[derive(Debug)]
pub(crate) enum FromBridge {
    Message(Box<ServerJsonRpcMessage>),
    /// The link is of no use any more.
    Lost(Absence),
}

impl Link {
    /// Opens a connection and greets the bridge.
    pub(crate) async fn open(config: Config, opening: Opening) -> Result<Self, Absence> {
        let Some(token) = &config.token else {
            return Err(Absence::NoToken);
        };
        let (mut transport, losses) = transport(&config, token)?;
        let greeting = greet(&mut transport, &opening);
        match tokio::time::timeout(HANDSHAKE_WITHIN, greeting).await {
            Ok(Ok(initialized)) => Ok(Self {
                transport,
                losses,
                initialized,
            }),
            // Nothing of the client's was sent yet: there is just no bridge.
            Ok(Err(Absence::Interrupted)) => Err(Absence::NotReached),
            Ok(Err(absence)) => Err(absence),
            Err(_) => Err(Absence::NotReached),
        }
    }

    /// Sends a message. The future ends when the bridge has accepted it; dropping it cancels.
    pub(crate) fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> BoxFuture<'static, Result<(), Absence>> {
        let sending = Transport::<RoleClient>::send(&mut self.transport, message);
        Box::pin(async move { sending.await.map_err(|failure| absence(&failure)) })
    }

    /// The next message. May be dropped and called again without losing one.
    pub(crate) async fn receive(&mut self) -> FromBridge {
        tokio::select! {
            biased;
            message = Transport::<RoleClient>::receive(&mut self.transport) => match message {
                Some(message) => FromBridge::Message(Box::new(message)),
                None => FromBridge::Lost(Absence::Interrupted),
            },
            Some(absence) = self.losses.recv() => FromBridge::Lost(absence),
        }
    }

    /// Cancels `in_flight` and says goodbye. In the stateless era closing is both.
    pub(crate) async fn close(mut self, in_flight: Vec<RequestId>) {
        let farewell = async {
            if self.initialized.is_some() {
                self.cancel_all(in_flight).await;
            }
            Transport::<RoleClient>::close(&mut self.transport).await
        };
        if !matches!(
            tokio::time::timeout(CLOSE_WITHIN, farewell).await,
            Ok(Ok(()))
        ) {
            tracing::info!("the bridge did not take the goodbye");
        }
    }

    /// Reads on meanwhile: a transport whose messages nobody takes does not send either.
    async fn cancel_all(&mut self, in_flight: Vec<RequestId>) {
        let cancels: Vec<_> = in_flight
            .into_iter()
            .map(|id| self.send(cancel(id)))
            .collect();
        let drain = async {
            while Transport::<RoleClient>::receive(&mut self.transport)
                .await
                .is_some()
            {}
        };
        tokio::select! {
            _ = join_all(cancels) => {}
            () = drain => {}
        }
    }
}

fn cancel(id: RequestId) -> ClientJsonRpcMessage {
    let reason = Some("the client is gone".to_owned());
    let params = CancelledNotificationParam::new(Some(id), reason);
    ClientJsonRpcMessage::notification(CancelledNotification::new(params).into())
}

fn transport(
    config: &Config,
    token: &Token,
) -> Result<
    (
        StreamableHttpClientTransport<BridgeHttp>,
        mpsc::Receiver<Absence>,
    ),
    Absence,
> {
    let (lost, losses) = mpsc::channel(1);
    let http = BridgeHttp::new(&config.url, lost)?;
    let mut reopen = ExponentialBackoff::default();
    reopen.base_duration = REOPEN_AFTER;
    let mut settings = StreamableHttpClientTransportConfig::with_uri(config.url.as_str())
        .auth_header(token.expose())
        .custom_headers(session_header(config))
        .max_concurrent_requests(REQUESTS_AT_ONCE)
        .max_sse_event_size(MAX_MESSAGE_BYTES)
        // A forgotten MCP session is a lost link like any other: the pump begins a new one.
        .reinit_on_expired_session(false);
    settings.retry_config = Arc::new(reopen);
    Ok((
        StreamableHttpClientTransport::with_client(http, settings),
        losses,
    ))
}

fn session_header(config: &Config) -> HashMap<HeaderName, HeaderValue> {
    let name = HeaderName::from_static("mcp-web-session");
    config
        .session
        .iter()
        .map(|session| (name.clone(), session.clone()))
        .collect()
}

async fn greet(
    transport: &mut StreamableHttpClientTransport<BridgeHttp>,
    opening: &Opening,
) -> Result<Option<InitializeResult>, Absence> {
    let id = RequestId::String(HANDSHAKE_ID.into());
    send(
        transport,
        ClientJsonRpcMessage::request(opening.request(), id),
    )
    .await?;
    let answer = Transport::<RoleClient>::receive(transport).await;
    match (opening, answer) {
        (_, None) => Err(Absence::Unusable(
            "it went away during the greeting".to_owned(),
        )),
        (Opening::Session(_), Some(JsonRpcMessage::Response(response))) => {
            let ServerResult::InitializeResult(result) = response.result else {
                return Err(Absence::Unusable(
                    "its answer to initialize is none".to_owned(),
                ));
            };
            let notification = InitializedNotification::default();
            send(
                transport,
                ClientJsonRpcMessage::notification(notification.into()),
            )
            .await?;
            Ok(Some(result))
        }
        (Opening::Session(_), Some(JsonRpcMessage::Error(refusal))) => {
            Err(Absence::Unusable(refusal.error.message.into_owned()))
        }
        // Whatever a stateless bridge thinks of the discovery, it answers: requests may follow.
        (Opening::Stateless(_), Some(_)) => Ok(None),
        (Opening::Session(_), Some(_)) => {
            Err(Absence::Unusable("it did not answer initialize".to_owned()))
        }
    }
}

async fn send(
    transport: &mut StreamableHttpClientTransport<BridgeHttp>,
    message: ClientJsonRpcMessage,
) -> Result<(), Absence> {
    let sending = Transport::<RoleClient>::send(transport, message);
    sending.await.map_err(|failure| absence(&failure))
}

/// Whether a request is of the stateless era: those name their protocol version themselves.
pub(crate) fn stateless_meta(request: &ClientRequest) -> Option<&RequestMetaObject> {
    let meta = request.get_meta();
    meta.protocol_version()
        .filter(|version| !version.has_initialize())
        .map(|_| meta)
}
