//! Letting a page in, by its first frame.

use std::sync::Arc;

use bridge_protocol::{
    Authenticate, AuthenticationFailed, CloseCode, DecodeError, ErrorCode, PROTOCOL_VERSION,
    PageToBridge, SessionId,
};
use tokio::time::timeout;

use super::{Page, Socket, Visit, binary, too_big, v1};
use crate::auth::{InsufficientScope, Principal, Scope, TokenRefusal, Tokens};
use crate::http::{Edge, guard};
use crate::hub::Outbox;
use crate::origin::Origin;
use crate::page_wire::Closing;
use crate::realm::{Dialect, PageHello};
use crate::v1::page;
use crate::websocket::{Broken, Frame};

/// Why a page is not let in.
pub(super) enum Refused {
    /// The peer went away first.
    Silently,
    With(Closing, Option<AuthenticationFailed>),
}

impl Refused {
    fn because(code: ErrorCode, error: String) -> Self {
        let reason = Closing::new(CloseCode::PolicyViolation, code.as_str());
        Refused::With(reason, Some(AuthenticationFailed { error, code }))
    }

    /// In the words of the page's dialect. `name`: what it wants to be called.
    fn in_dialect(dialect: Dialect, code: ErrorCode, error: String, name: Option<&str>) -> Self {
        if dialect == Dialect::V2 {
            return Refused::because(code, error);
        }
        let (failure, closing) = page::refusal(code, error, name);
        Refused::With(closing, Some(failure))
    }
}

/// Lets a page in by its first frame.
pub(super) async fn admit(visit: &Visit, socket: &mut Socket) -> Result<(Page, Outbox), Refused> {
    if let Origin::Foreign(origin) = &visit.origin {
        return Err(Refused::because(
            ErrorCode::OriginNotAllowed,
            guard::foreign(origin).message,
        ));
    }
    let hello = first_frame(&visit.edge, socket).await?;
    let_in(visit, hello).await
}

/// Lets a page in that says who it is.
pub(super) async fn let_in(visit: &Visit, hello: Authenticate) -> Result<(Page, Outbox), Refused> {
    let Visit {
        edge,
        origin,
        session,
    } = visit;
    let dialect = dialect_of(&hello)?;
    let name = hello.session_name.clone();
    let refuse = |code, message| Refused::in_dialect(dialect, code, message, name.as_deref());
    // The id in the address is a v1 page's own.
    let differs = |id: &SessionId| dialect == Dialect::V2 && id != session;
    if hello.session_id.as_ref().is_some_and(differs) {
        let message = "`sessionId` differs from the session in the URL".to_owned();
        return Err(refuse(ErrorCode::InvalidSession, message));
    }
    let principal = tokio::select! {
        principal = verified(&edge.tokens, hello.auth_token.as_deref()) => principal
            .map_err(|refusal| refuse(refusal.code, refusal.message))?,
        () = edge.stopping.cancelled() => return Err(stopping(dialect)),
    };
    let realm = principal.realm;
    let claim = match dialect {
        Dialect::V2 => None,
        Dialect::V1 => {
            let claim = edge.hub.claims.claim(realm, session);
            let message = "another token uses this session id: reload the page".to_owned();
            Some(claim.ok_or_else(|| refuse(ErrorCode::InvalidSession, message))?)
        }
    };
    let hello = PageHello {
        session: session.clone(),
        dialect,
        document: hello.document_id,
        name: hello.session_name,
        origin: match origin {
            Origin::Allowed(origin) => Some(origin.clone()),
            Origin::Absent | Origin::Foreign(_) => None,
        },
        page_title: hello.page_title,
        app: hello.app.map(|app| app.name),
        expires: principal.ends_at().map(tokio::time::Instant::into_std),
        may_ask: principal.scopes.contains(Scope::Query),
        person: principal.person(),
        written_ms: hello.timestamp,
        heartbeat_after: None,
    };
    let hub = Arc::clone(&edge.hub);
    let (connection, outbox) = hub
        .page_connected(realm, hello)
        .map_err(|refusal| match refusal.code {
            // Whoever hears this although its clock was only set back comes again.
            ErrorCode::SessionSuperseded => Refused::With(
                Closing::new(CloseCode::TryAgainLater, refusal.message),
                None,
            ),
            code => refuse(code, refusal.message),
        })?;
    tracing::debug!(?realm, ?session, "page connected");
    Ok((
        Page {
            hub,
            realm,
            session: session.clone(),
            dialect,
            connection,
            tokens: Arc::clone(&edge.tokens),
            _claim: claim,
        },
        outbox,
    ))
}

/// Whom a token names that is good for a page.
pub(super) async fn verified(
    tokens: &Tokens,
    token: Option<&str>,
) -> Result<Principal, TokenRefusal> {
    let principal = tokens.verify(token).await?;
    principal
        .needs(Scope::Page)
        .map_err(|insufficient| TokenRefusal {
            code: InsufficientScope::CODE,
            message: insufficient.message(),
        })?;
    Ok(principal)
}

/// A page that says nothing of a version speaks v1.
fn dialect_of(hello: &Authenticate) -> Result<Dialect, Refused> {
    match hello.protocol {
        Some(PROTOCOL_VERSION) => Ok(Dialect::V2),
        None => Ok(Dialect::V1),
        Some(_) => {
            let message = format!(
                "this bridge speaks version {PROTOCOL_VERSION} of the page protocol: load the SDK \
                 from it, or from npm in the same version"
            );
            Err(Refused::because(ErrorCode::ProtocolViolation, message))
        }
    }
}

fn stopping(dialect: Dialect) -> Refused {
    let closing = Closing::new(CloseCode::ServiceRestart, "the bridge is shutting down");
    let closing = match dialect {
        Dialect::V2 => closing,
        Dialect::V1 => page::closing(closing, None),
    };
    Refused::With(closing, None)
}

/// The first frame that counts. What users do in a page of v1 may be told before: then it is one.
async fn first_frame(edge: &Edge, socket: &mut Socket) -> Result<Authenticate, Refused> {
    let within = edge.hub.config.authenticate_within;
    let protocol = |reason| Refused::With(Closing::new(CloseCode::PolicyViolation, reason), None);
    let mut is_v1 = false;
    let first = async {
        loop {
            match socket.next().await {
                Ok(Frame::SignOfLife) => {}
                Ok(Frame::Text(text)) if v1::may_come_first(&text) => is_v1 = true,
                other => return other,
            }
        }
    };
    let text = tokio::select! {
        first = timeout(within, first) => match first {
            Err(_) => return Err(protocol("no `authenticate` in time")),
            Ok(Ok(Frame::Text(text))) => text,
            Ok(Ok(Frame::Binary)) => return Err(Refused::With(binary(), None)),
            Ok(Err(Broken::TooLong)) => return Err(Refused::With(too_big(), None)),
            Ok(_) => return Err(Refused::Silently),
        },
        () = edge.stopping.cancelled() => return Err(stopping(Dialect::V2)),
    };
    match PageToBridge::decode(&text) {
        Ok(PageToBridge::Authenticate(hello)) if !(is_v1 && hello.protocol.is_some()) => Ok(hello),
        // Who says nothing of a dialect hears what both understand.
        Err(DecodeError::NotAMessage(_)) => Err(Refused::With(v1::bad_frame(), None)),
        _ => Err(protocol("the first message must be `authenticate`")),
    }
}
