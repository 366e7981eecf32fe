//! The first frame of a page authenticates it.

use std::sync::Arc;
use std::time::Duration;

use bridge_auth::{AuthError, InsufficientScope, Principal, RealmId, Scope};
use bridge_cluster::{Peer, Verdict};
use bridge_compat::page_codec;
use bridge_edge::{ClientAddress, OriginCheck};
use bridge_protocol::{
    Authenticate, AuthenticationFailed, CloseCode, DecodeError, ErrorCode, PROTOCOL_VERSION,
    PageToBridge, SessionId, limits,
};
use bridge_realm::page_messages::CloseFrame;
use bridge_realm::realm::{Disconnect, PageHello};
use http::{HeaderMap, HeaderValue};
use tokio::time::timeout;

use super::codec::invalid_json;
use super::early_frames::EarlyFrames;
use super::page_protocol::PageProtocol;
use super::page_session::PageSession;
use super::socket::{PageSocket, binary_unsupported, retry_frame};
use crate::budget::{PageParty, PendingPagePermit, RefusalKind, RefusalRecord};
use crate::cluster::{OwnerAway, PassedOn};
use crate::hub::OutboxReceiver;
use crate::web::{AppState, Problem, guard};
use crate::websocket::{Frame, SocketError};

/// The request that opened the socket. It is stored for pages that may authenticate again.
pub(super) struct HandshakeContext {
    pub(super) state: AppState,
    pub(super) origin: OriginCheck,
    pub(super) session: SessionId,
    /// The party whose share of the limits the page counts for.
    pub(super) party: PageParty,
    /// The bridge is one of several, and this is how the page came to it.
    pub(super) arrival: Option<Arrival>,
}

/// How a page came to one of several bridges.
pub(super) enum Arrival {
    /// By itself, with this request, which its owner gets if it is another bridge.
    Direct(Box<SocketRequest>),
    /// By another bridge.
    PassedOn(PassedOn),
}

/// The request of a page socket.
pub(super) struct SocketRequest {
    pub(super) path_and_query: String,
    pub(super) headers: HeaderMap,
    pub(super) id: HeaderValue,
}

/// Why a handshake has failed.
pub(super) enum HandshakeError {
    /// The peer disconnected first.
    PeerLeft,
    /// Another bridge serves the realm of the page.
    Elsewhere(RealmId, Peer, PageProtocol),
    /// The bridge rejects the page.
    Rejected(Rejection),
}

/// How a page is rejected.
pub(super) struct Rejection {
    pub(super) close_frame: CloseFrame,
    /// The message before the close frame.
    pub(super) message: Option<AuthenticationFailed>,
    /// The record in the log, if the page has not merely sent an invalid message.
    pub(super) refusal: Option<RefusalRecord>,
}

impl HandshakeError {
    /// A rejection with an error, which is final or temporary by its code.
    fn new(code: ErrorCode, error: String) -> Self {
        let refusal = refusal(code, &error);
        let kind = refusal.as_ref().map(|refusal| refusal.kind);
        if let Some(after) = kind.and_then(RefusalKind::retry_after) {
            return HandshakeError::Rejected(Rejection {
                close_frame: retry_frame(after, Some(code), &error),
                message: None,
                refusal,
            });
        }
        HandshakeError::Rejected(Rejection {
            close_frame: CloseFrame::new(CloseCode::PolicyViolation, code.as_str()),
            refusal,
            message: Some(AuthenticationFailed { error, code }),
        })
    }

    /// A rejection with a close frame only.
    pub(super) fn close(close_frame: CloseFrame) -> Self {
        HandshakeError::Rejected(Rejection {
            close_frame,
            message: None,
            refusal: None,
        })
    }

    /// A rejection of something else than an `authenticate` message in time.
    fn violation(close_frame: CloseFrame) -> Self {
        let refusal = RefusalRecord {
            kind: RefusalKind::PageHandshake,
            reason: close_frame.reason.to_string(),
        };
        HandshakeError::Rejected(Rejection {
            close_frame,
            message: None,
            refusal: Some(refusal),
        })
    }

    /// A rejection because too many other pages have not authenticated yet.
    pub(super) fn too_many_pending(reason: String) -> Self {
        let kind = RefusalKind::MaxPendingPages;
        let after = kind.retry_after().unwrap_or(limits::RETRY_LATER_DELAY);
        HandshakeError::try_later(kind, after, reason)
    }

    /// A rejection of a page that connects again after this time.
    fn try_later(kind: RefusalKind, after: Duration, reason: String) -> Self {
        HandshakeError::Rejected(Rejection {
            close_frame: retry_frame(after, None, &reason),
            message: None,
            refusal: Some(RefusalRecord { kind, reason }),
        })
    }

    /// A rejection in the page's protocol. `name` is the session name that the page asked for.
    fn for_protocol(
        protocol: PageProtocol,
        code: ErrorCode,
        error: String,
        name: Option<&str>,
    ) -> Self {
        // Pages of mcp-web 0.1 know only this limit.
        let is_known_limit = code == ErrorCode::SessionLimitExceeded;
        let kind = RefusalKind::from_code(code);
        let is_temporary = kind.is_some_and(|kind| kind.retry_after().is_some());
        if protocol == PageProtocol::V2 || is_temporary && !is_known_limit {
            return HandshakeError::new(code, error);
        }
        let refusal = refusal(code, &error);
        let (failure, close_frame) = page_codec::rejection(code, error, name);
        HandshakeError::Rejected(Rejection {
            close_frame,
            message: Some(failure),
            refusal,
        })
    }
}

fn refusal(code: ErrorCode, error: &str) -> Option<RefusalRecord> {
    let kind = match code {
        ErrorCode::ProtocolViolation => RefusalKind::PageHandshake,
        code => RefusalKind::from_code(code)?,
    };
    let reason = error.to_owned();
    Some(RefusalRecord { kind, reason })
}

/// Authenticates a page by its first frame.
pub(super) async fn accept(
    context: &HandshakeContext,
    socket: &mut PageSocket,
    permit: &PendingPagePermit,
) -> Result<(PageSession, OutboxReceiver), HandshakeError> {
    if let OriginCheck::Foreign(origin) = &context.origin {
        return Err(HandshakeError::new(
            ErrorCode::OriginNotAllowed,
            guard::origin_rejected(origin).message,
        ));
    }
    let hello = recv_authenticate(&context.state, socket).await?;
    permit.set_authenticating();
    authenticate(context, hello, Some(permit)).await
}

/// Claims the realm of a page for this bridge, if it is one of several.
async fn claim(
    state: &AppState,
    realm: RealmId,
    arrival: &Arrival,
    address: ClientAddress,
    protocol: PageProtocol,
) -> Result<(), HandshakeError> {
    let Some(cluster) = &state.cluster else {
        return Ok(());
    };
    // A page that was passed on for another realm would be claimed without the node of the page.
    if let Arrival::PassedOn(passed_on) = arrival
        && !cluster.is_passed_on_for(*passed_on, realm)
    {
        return Err(moved(protocol));
    }
    // A page that makes its tokens itself could have any number of them written to the directory.
    let is_counted = matches!(arrival, Arrival::Direct(_))
        && !state.authenticator.has_configured_tokens()
        && !cluster.knows_owner(realm);
    let lookups = &state.hub.budgets.lookups;
    if is_counted && let Some(after) = lookups.retry_after(address) {
        let kind = RefusalKind::MaxClusterLookups;
        let reason = Problem::too_many_lookups(after).message;
        return Err(HandshakeError::try_later(kind, after, reason));
    }
    match (cluster.claim(realm).await, arrival) {
        (Verdict::Owned, _) => {
            // One that came here from another bridge was counted there.
            if is_counted && state.hub.ownership.taken_over(realm).is_none() {
                lookups.record(address);
            }
            Ok(())
        }
        (Verdict::Elsewhere(owner), Arrival::Direct(_)) => {
            Err(HandshakeError::Elsewhere(realm, owner, protocol))
        }
        // The two bridges do not agree yet, or the page has authenticated again.
        (Verdict::Elsewhere(_), Arrival::PassedOn(_)) => Err(moved(protocol)),
        // The load balancer soon sends it to another bridge: it must not wait as if all were full.
        (Verdict::OwnerDead | Verdict::Unowned | Verdict::Away, _) if cluster.is_isolated() => {
            Err(restart(
                protocol,
                "this bridge is cut off from the others: connect again",
            ))
        }
        (Verdict::OwnerDead | Verdict::Unowned | Verdict::Away, _) => {
            Err(HandshakeError::for_protocol(
                protocol,
                ErrorCode::ClusterUnavailable,
                OwnerAway::MESSAGE.to_owned(),
                None,
            ))
        }
    }
}

/// The rejection of a page that reaches the right bridge when it connects again.
pub(super) fn moved(protocol: PageProtocol) -> HandshakeError {
    restart(protocol, "another bridge serves this token: connect again")
}

/// Authenticates a page by its `authenticate` message, and connects it to its realm. Once it is
/// authenticated, it needs no permit to wait.
pub(super) async fn authenticate(
    context: &HandshakeContext,
    mut hello: Authenticate,
    permit: Option<&PendingPagePermit>,
) -> Result<(PageSession, OutboxReceiver), HandshakeError> {
    let HandshakeContext {
        state,
        origin,
        session,
        party,
        arrival,
    } = context;
    let protocol = page_protocol(&hello)?;
    let name = hello.session_name.clone();
    let reject =
        |code, message| HandshakeError::for_protocol(protocol, code, message, name.as_deref());
    // For a page of mcp-web 0.1, only the id in the URL is used.
    let is_other_session = |id: &SessionId| protocol == PageProtocol::V2 && id != session;
    if hello.session_id.as_ref().is_some_and(is_other_session) {
        let message = "`sessionId` differs from the session in the URL".to_owned();
        return Err(reject(ErrorCode::InvalidSession, message));
    }
    let refuse_token = |error: AuthError| {
        let auth_failures = &state.hub.budgets.auth_failures;
        auth_failures.record(party.address, &error);
        reject(error.code, error.message)
    };
    let token = hello.auth_token.take();
    let rules = state.authenticator.generation();
    let principal = tokio::select! {
        principal = verify_page_token(state, token.as_deref(), party) => principal
            .map_err(refuse_token)?,
        () = state.stopping.cancelled() => return Err(bridge_stopping(protocol)),
    };
    let realm = principal.realm;
    if let Some(arrival) = arrival {
        permit.inspect(|permit| permit.release());
        tokio::select! {
            claimed = claim(state, realm, arrival, party.address, protocol) => claimed?,
            () = state.stopping.cancelled() => return Err(bridge_stopping(protocol)),
        }
    }
    // With other bridges, a realm that is still here is served until it leaves.
    if state.hub.is_draining()
        && state.cluster.is_none()
        && state.hub.with_realm(realm, |it| it.has_session(session)) != Some(true)
    {
        return Err(bridge_stopping(protocol));
    }
    let lease = match protocol {
        PageProtocol::V2 => None,
        PageProtocol::Compat => {
            let lease = state.hub.session_id_leases.try_acquire(realm, session);
            let message = "another token uses this session id: reload the page".to_owned();
            Some(lease.ok_or_else(|| reject(ErrorCode::InvalidSession, message))?)
        }
    };
    let abilities = protocol.abilities(&hello);
    let timestamp = hello.timestamp;
    let (app, app_description) = hello.app.map(|app| (app.name, app.description)).unzip();
    let hello = PageHello {
        session: session.clone(),
        abilities,
        document: hello.document_id,
        name: hello.session_name,
        origin: match origin {
            OriginCheck::Allowed(origin) => Some(origin.clone()),
            OriginCheck::Absent | OriginCheck::Foreign(_) => None,
        },
        address: Some(party.address.ip()),
        page_title: hello.page_title,
        app,
        app_description: app_description.flatten(),
        expires: principal.expires_at().map(tokio::time::Instant::into_std),
        may_query: principal.scopes.contains(Scope::Query),
        subject: principal.subject(),
        written_ms: timestamp.filter(|_| protocol == PageProtocol::V2),
        heartbeat_after: None,
        sdk_version: hello.sdk_version,
    };
    let hub = Arc::clone(&state.hub);
    let (connection, outbox) =
        hub.page_connected(realm, party, hello)
            .map_err(|refusal| match refusal.code {
                // Not final, because the page's clock may only have been set back: it retries.
                ErrorCode::SessionSuperseded => {
                    let after = limits::RETRY_LATER_DELAY;
                    HandshakeError::close(retry_frame(after, None, &refusal.message))
                }
                // The realm was given away since it was claimed.
                ErrorCode::ClusterUnavailable => moved(protocol),
                code => reject(code, refusal.message),
            })?;
    let page = PageSession {
        hub,
        realm,
        session: session.clone(),
        protocol,
        connection,
        authenticator: Arc::clone(&state.authenticator),
        _lease: lease,
    };
    // Otherwise a page whose token was revoked meanwhile would not be closed.
    if state.authenticator.generation() != rules
        && let Err(error) = verify_page_token(state, token.as_deref(), party).await
    {
        page.on_disconnect(Disconnect::DocumentGone);
        return Err(refuse_token(error));
    }
    if protocol == PageProtocol::Compat {
        page.on_activity(timestamp);
    }
    Ok((page, outbox))
}

/// Verifies a token that must have the scope of a page.
async fn verify_page_token(
    state: &AppState,
    token: Option<&str>,
    party: &PageParty,
) -> Result<Principal, AuthError> {
    let principal = state.authenticator.verify(token, party.address).await?;
    require_page_scope(&principal)?;
    Ok(principal)
}

pub(super) fn require_page_scope(principal: &Principal) -> Result<(), AuthError> {
    principal
        .require_scope(Scope::Page)
        .map_err(|insufficient| AuthError {
            code: InsufficientScope::CODE,
            message: insufficient.message(),
        })
}

/// Returns the protocol of a page. A page that names no version is one of mcp-web 0.1.
fn page_protocol(hello: &Authenticate) -> Result<PageProtocol, HandshakeError> {
    match hello.protocol {
        Some(PROTOCOL_VERSION) => Ok(PageProtocol::V2),
        None => Ok(PageProtocol::Compat),
        Some(_) => {
            let message = format!(
                "this bridge speaks version {PROTOCOL_VERSION} of the page protocol: load the SDK \
                 from it, or from npm in the same version"
            );
            Err(HandshakeError::new(ErrorCode::ProtocolViolation, message))
        }
    }
}

/// Rejects a page whose first message is longer than it may be. Connecting again would not help.
fn authenticate_too_long() -> HandshakeError {
    let message = format!(
        "`authenticate` may have {} bytes: shorten the description or the icon of the app, or the \
         title of the page",
        limits::MAX_AUTHENTICATE_BYTES
    );
    HandshakeError::new(ErrorCode::ProtocolViolation, message)
}

fn bridge_stopping(protocol: PageProtocol) -> HandshakeError {
    restart(protocol, "the bridge is shutting down")
}

/// The rejection of a page that connects again at once.
fn restart(protocol: PageProtocol, reason: &'static str) -> HandshakeError {
    let close_frame = CloseFrame::new(CloseCode::ServiceRestart, reason);
    let close_frame = match protocol {
        PageProtocol::V2 => close_frame,
        PageProtocol::Compat => page_codec::close_frame(close_frame, None),
    };
    HandshakeError::close(close_frame)
}

/// Waits for the `authenticate` message, which few other frames may precede.
async fn recv_authenticate(
    state: &AppState,
    socket: &mut PageSocket,
) -> Result<Authenticate, HandshakeError> {
    let auth_timeout = state.hub.config.page_timings.authenticate_within;
    let violation =
        |reason| HandshakeError::violation(CloseFrame::new(CloseCode::PolicyViolation, reason));
    let mut early = EarlyFrames::default();
    let first = async {
        loop {
            match socket.next().await {
                Ok(Frame::PingPong | Frame::Pong(_)) if early.allows_ping() => {}
                Ok(Frame::Text(text)) if early.allows_activity(&text) => {}
                other => return other,
            }
        }
    };
    let text = tokio::select! {
        first = timeout(auth_timeout, first) => match first {
            Err(_) => return Err(violation("no `authenticate` in time")),
            Ok(Ok(Frame::Text(text))) => text,
            Ok(Ok(Frame::Binary)) => return Err(HandshakeError::violation(binary_unsupported())),
            Ok(Ok(Frame::PingPong | Frame::Pong(_))) => return Err(violation("too many pings before `authenticate`")),
            Ok(Err(SocketError::MessageTooLarge)) => return Err(authenticate_too_long()),
            Ok(_) => return Err(HandshakeError::PeerLeft),
        },
        () = state.stopping.cancelled() => return Err(bridge_stopping(PageProtocol::V2)),
    };
    match PageToBridge::decode(&text) {
        Ok(PageToBridge::Authenticate(hello))
            if !(early.is_compat() && hello.protocol.is_some()) =>
        {
            Ok(*hello)
        }
        // The page has not named its protocol: pages of both understand this reason.
        Err(DecodeError::NotAMessage(_)) => Err(HandshakeError::violation(invalid_json())),
        _ => Err(violation("the first message must be `authenticate`")),
    }
}
