//! Letting a page in, by its first frame.

use std::sync::Arc;

use bridge_protocol::{
    Authenticate, AuthenticationFailed, CloseCode, DecodeError, ErrorCode, PROTOCOL_VERSION,
    PageToBridge, SessionId,
};
use tokio::time::timeout;

use super::{HandshakeContext, PageSession, PageSocket, binary_unsupported, compat, frame_too_big};
use crate::compat::page_codec;
use crate::hub::OutboxReceiver;
use crate::web::AppState;
use crate::web::guard;
use crate::websocket::{Frame, SocketError};
use bridge_auth::{AuthError, Authenticator, InsufficientScope, Principal, Scope};
use bridge_realm::page_messages::CloseFrame;
use bridge_realm::realm::{PageHello, PageProtocol};
use bridge_service::OriginCheck;

/// Why a page is not let in.
pub(super) enum HandshakeError {
    /// The peer went away first.
    PeerLeft,
    Rejected(CloseFrame, Option<AuthenticationFailed>),
}

impl HandshakeError {
    fn new(code: ErrorCode, error: String) -> Self {
        let reason = CloseFrame::new(CloseCode::PolicyViolation, code.as_str());
        HandshakeError::Rejected(reason, Some(AuthenticationFailed { error, code }))
    }

    /// In the words of the page's dialect. `name`: what it wants to be called.
    fn for_protocol(
        dialect: PageProtocol,
        code: ErrorCode,
        error: String,
        name: Option<&str>,
    ) -> Self {
        if dialect == PageProtocol::V2 {
            return HandshakeError::new(code, error);
        }
        let (failure, closing) = page_codec::rejection(code, error, name);
        HandshakeError::Rejected(closing, Some(failure))
    }
}

/// Lets a page in by its first frame.
pub(super) async fn accept(
    visit: &HandshakeContext,
    socket: &mut PageSocket,
) -> Result<(PageSession, OutboxReceiver), HandshakeError> {
    if let OriginCheck::Foreign(origin) = &visit.origin {
        return Err(HandshakeError::new(
            ErrorCode::OriginNotAllowed,
            guard::origin_rejected(origin).message,
        ));
    }
    let hello = recv_authenticate(&visit.edge, socket).await?;
    authenticate(visit, hello).await
}

/// Lets a page in that says who it is.
pub(super) async fn authenticate(
    visit: &HandshakeContext,
    hello: Authenticate,
) -> Result<(PageSession, OutboxReceiver), HandshakeError> {
    let HandshakeContext {
        edge,
        origin,
        session,
    } = visit;
    let dialect = page_protocol(&hello)?;
    let name = hello.session_name.clone();
    let refuse =
        |code, message| HandshakeError::for_protocol(dialect, code, message, name.as_deref());
    // The id in the address is a v1 page's own.
    let differs = |id: &SessionId| dialect == PageProtocol::V2 && id != session;
    if hello.session_id.as_ref().is_some_and(differs) {
        let message = "`sessionId` differs from the session in the URL".to_owned();
        return Err(refuse(ErrorCode::InvalidSession, message));
    }
    let principal = tokio::select! {
        principal = verify_page_token(&edge.authenticator, hello.auth_token.as_deref()) => principal
            .map_err(|refusal| refuse(refusal.code, refusal.message))?,
        () = edge.stopping.cancelled() => return Err(bridge_stopping(dialect)),
    };
    let realm = principal.realm;
    let claim = match dialect {
        PageProtocol::V2 => None,
        PageProtocol::V1 => {
            let claim = edge.hub.claims.try_acquire(realm, session);
            let message = "another token uses this session id: reload the page".to_owned();
            Some(claim.ok_or_else(|| refuse(ErrorCode::InvalidSession, message))?)
        }
    };
    let hello = PageHello {
        session: session.clone(),
        protocol: dialect,
        document: hello.document_id,
        name: hello.session_name,
        origin: match origin {
            OriginCheck::Allowed(origin) => Some(origin.clone()),
            OriginCheck::Absent | OriginCheck::Foreign(_) => None,
        },
        page_title: hello.page_title,
        app: hello.app.map(|app| app.name),
        expires: principal.expires_at().map(tokio::time::Instant::into_std),
        may_query: principal.scopes.contains(Scope::Query),
        subject: principal.subject(),
        written_ms: hello.timestamp,
        heartbeat_after: None,
    };
    let hub = Arc::clone(&edge.hub);
    let (connection, outbox) = hub
        .page_connected(realm, hello)
        .map_err(|refusal| match refusal.code {
            // Whoever hears this although its clock was only set back comes again.
            ErrorCode::SessionSuperseded => HandshakeError::Rejected(
                CloseFrame::new(CloseCode::TryAgainLater, refusal.message),
                None,
            ),
            code => refuse(code, refusal.message),
        })?;
    tracing::debug!(?realm, ?session, "page connected");
    Ok((
        PageSession {
            hub,
            realm,
            session: session.clone(),
            protocol: dialect,
            connection,
            authenticator: Arc::clone(&edge.authenticator),
            _lease: claim,
        },
        outbox,
    ))
}

/// Whom a token names that is good for a page.
pub(super) async fn verify_page_token(
    tokens: &Authenticator,
    token: Option<&str>,
) -> Result<Principal, AuthError> {
    let principal = tokens.verify(token).await?;
    principal
        .require_scope(Scope::Page)
        .map_err(|insufficient| AuthError {
            code: InsufficientScope::CODE,
            message: insufficient.message(),
        })?;
    Ok(principal)
}

/// A page that says nothing of a version speaks v1.
fn page_protocol(hello: &Authenticate) -> Result<PageProtocol, HandshakeError> {
    match hello.protocol {
        Some(PROTOCOL_VERSION) => Ok(PageProtocol::V2),
        None => Ok(PageProtocol::V1),
        Some(_) => {
            let message = format!(
                "this bridge speaks version {PROTOCOL_VERSION} of the page protocol: load the SDK \
                 from it, or from npm in the same version"
            );
            Err(HandshakeError::new(ErrorCode::ProtocolViolation, message))
        }
    }
}

fn bridge_stopping(dialect: PageProtocol) -> HandshakeError {
    let closing = CloseFrame::new(CloseCode::ServiceRestart, "the bridge is shutting down");
    let closing = match dialect {
        PageProtocol::V2 => closing,
        PageProtocol::V1 => page_codec::close_frame(closing, None),
    };
    HandshakeError::Rejected(closing, None)
}

/// The first frame that counts. What users do in a page of v1 may be told before: then it is one.
async fn recv_authenticate(
    edge: &AppState,
    socket: &mut PageSocket,
) -> Result<Authenticate, HandshakeError> {
    let within = edge.hub.config.authenticate_within;
    let protocol = |reason| {
        HandshakeError::Rejected(CloseFrame::new(CloseCode::PolicyViolation, reason), None)
    };
    let mut is_v1 = false;
    let first = async {
        loop {
            match socket.next().await {
                Ok(Frame::PingPong) => {}
                Ok(Frame::Text(text)) if compat::is_allowed_before_auth(&text) => is_v1 = true,
                other => return other,
            }
        }
    };
    let text = tokio::select! {
        first = timeout(within, first) => match first {
            Err(_) => return Err(protocol("no `authenticate` in time")),
            Ok(Ok(Frame::Text(text))) => text,
            Ok(Ok(Frame::Binary)) => return Err(HandshakeError::Rejected(binary_unsupported(), None)),
            Ok(Err(SocketError::MessageTooLarge)) => return Err(HandshakeError::Rejected(frame_too_big(), None)),
            Ok(_) => return Err(HandshakeError::PeerLeft),
        },
        () = edge.stopping.cancelled() => return Err(bridge_stopping(PageProtocol::V2)),
    };
    match PageToBridge::decode(&text) {
        Ok(PageToBridge::Authenticate(hello)) if !(is_v1 && hello.protocol.is_some()) => Ok(hello),
        // Who says nothing of a dialect hears what both understand.
        Err(DecodeError::NotAMessage(_)) => {
            Err(HandshakeError::Rejected(compat::invalid_frame(), None))
        }
        _ => Err(protocol("the first message must be `authenticate`")),
    }
}
