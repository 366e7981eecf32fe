//! Letting a page in, by its first frame.

use std::sync::Arc;

use axum::extract::ws::Message;
use bridge_protocol::{
    Authenticate, AuthenticationFailed, CloseCode, DecodeError, ErrorCode, PROTOCOL_VERSION,
    PageToBridge, SessionId,
};
use futures_util::StreamExt;
use tokio::time::timeout;

use super::{Page, Stream, bad_json, binary, is_too_big, too_big};
use crate::auth::{InsufficientScope, Principal, Scope, TokenRefusal, Tokens};
use crate::http::{Edge, guard};
use crate::hub::Outbox;
use crate::origin::Origin;
use crate::page_wire::Closing;
use crate::realm::PageHello;

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
}

/// Lets a page in by its first frame.
pub(super) async fn admit(
    edge: &Edge,
    origin: Origin,
    session: SessionId,
    stream: &mut Stream,
) -> Result<(Page, Outbox), Refused> {
    let origin = match origin {
        Origin::Absent => None,
        Origin::Allowed(origin) => Some(origin),
        Origin::Foreign(origin) => {
            return Err(Refused::because(
                ErrorCode::OriginNotAllowed,
                guard::foreign(&origin).message,
            ));
        }
    };
    let hello = first_frame(edge, stream).await?;
    if hello.protocol != Some(PROTOCOL_VERSION) {
        let message = format!(
            "this bridge speaks version {PROTOCOL_VERSION} of the page protocol: load the SDK from \
             it, or from npm in the same version"
        );
        return Err(Refused::because(ErrorCode::ProtocolViolation, message));
    }
    if hello.session_id.as_ref().is_some_and(|id| *id != session) {
        let message = "`sessionId` differs from the session in the URL".to_owned();
        return Err(Refused::because(ErrorCode::InvalidSession, message));
    }
    let principal = tokio::select! {
        principal = verified(&edge.tokens, hello.auth_token.as_deref()) => principal
            .map_err(|refusal| Refused::because(refusal.code, refusal.message))?,
        () = edge.stopping.cancelled() => return Err(stopping()),
    };
    let realm = principal.realm;
    let hello = PageHello {
        session: session.clone(),
        document: hello.document_id,
        name: hello.session_name,
        origin,
        page_title: hello.page_title,
        app: hello.app.map(|app| app.name),
        expires: principal.ends_at().map(tokio::time::Instant::into_std),
        written_ms: hello.timestamp,
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
            code => Refused::because(code, refusal.message),
        })?;
    tracing::debug!(?realm, ?session, "page connected");
    Ok((
        Page {
            hub,
            realm,
            session,
            connection,
            tokens: Arc::clone(&edge.tokens),
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

fn stopping() -> Refused {
    let closing = Closing::new(CloseCode::ServiceRestart, "the bridge is shutting down");
    Refused::With(closing, None)
}

async fn first_frame(edge: &Edge, stream: &mut Stream) -> Result<Authenticate, Refused> {
    let within = edge.hub.config.authenticate_within;
    let protocol = |reason| Refused::With(Closing::new(CloseCode::PolicyViolation, reason), None);
    let first = async {
        loop {
            match stream.next().await {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => return other,
            }
        }
    };
    let text = tokio::select! {
        first = timeout(within, first) => match first {
            Err(_) => return Err(protocol("no `authenticate` in time")),
            Ok(Some(Ok(Message::Text(text)))) => text,
            Ok(Some(Ok(Message::Binary(_)))) => return Err(Refused::With(binary(), None)),
            Ok(Some(Err(error))) if is_too_big(&error) => return Err(Refused::With(too_big(), None)),
            Ok(_) => return Err(Refused::Silently),
        },
        () = edge.stopping.cancelled() => return Err(stopping()),
    };
    match PageToBridge::decode(&text) {
        Ok(PageToBridge::Authenticate(hello)) => Ok(hello),
        Err(error @ DecodeError::NotAMessage(_)) => Err(Refused::With(bad_json(&error), None)),
        _ => Err(protocol("the first message must be `authenticate`")),
    }
}
