//! The sender of a request: a bridge, which has one of its service credentials, or a frontend, which only
//! its bridge can authorize.

use bridge_protocol::{ErrorCode, QUERY_CALLER_HEADER, QueryCaller};
use bridge_settings::Secret;
use bridge_settings::parse_credential;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::Rejection;
use crate::bridge::{BridgeId, Bridges};
use crate::queries::{BodyOwner, QueryOwner};
use bridge_edge::TokenHash;

/// The header with the token that the agent uses to call tools and to send reports.
const QUERY_TOKEN_HEADER: &str = "mcp-web-query-token";

/// The sender of a query, and the token in its request.
#[derive(Debug)]
pub(super) enum RequestCaller {
    /// A bridge, which has presented its service credential.
    Bridge {
        bridge: BridgeId,
        /// The token of the query.
        token: Secret,
        /// The caller, which bridges of mcp-web 0.1 do not send.
        caller: Option<Box<QueryCaller>>,
    },
    /// A frontend, which has presented the token of its session. Only its bridge can verify that
    /// token.
    Frontend { bridge: BridgeId, bearer: Secret },
}

impl RequestCaller {
    /// Authorizes a request to answer a query.
    pub(super) fn authorize_query(
        headers: &HeaderMap,
        bridges: &Bridges,
    ) -> Result<Self, Rejection> {
        let (bearer, hash) = bearer_of_sender(headers, bridges)?;
        let token = headers.get(QUERY_TOKEN_HEADER);
        let token = token.map(|token| parse_credential(token.to_str().unwrap_or_default()));
        match (bridges.with_credential(hash), token) {
            (Some(bridge), Some(Ok(token))) => Ok(Self::Bridge {
                bridge,
                token,
                caller: query_caller(headers, bridges, bridge)?.map(Box::new),
            }),
            (Some(_), _) => Err(Rejection::new(
                ErrorCode::ProtocolViolation,
                "a bridge sends the query's own token as `Mcp-Web-Query-Token`: without it no tool \
                 can be called",
            )),
            // Only bridges send that header. The credential of a bridge is never forwarded.
            (None, Some(_)) => Err(wrong_credential()),
            (None, None) => Ok(Self::Frontend {
                bridge: bridge_of_frontend(headers, bridges)?,
                bearer,
            }),
        }
    }

    /// Authorizes a request about a running query: to cancel it, or to answer it.
    pub(super) fn authorize_owner(
        headers: &HeaderMap,
        bridges: &Bridges,
    ) -> Result<QueryOwner, Rejection> {
        let (_, hash) = bearer_of_sender(headers, bridges)?;
        Ok(match bridges.with_credential(hash) {
            Some(bridge) => QueryOwner::bridge(bridge),
            None => QueryOwner::frontend(bridge_of_frontend(headers, bridges)?, hash),
        })
    }

    /// Returns whose memory the body of the request takes.
    pub(super) fn body_owner(&self) -> BodyOwner {
        match self {
            Self::Bridge {
                caller: Some(caller),
                ..
            } => BodyOwner::User(caller.user.clone()),
            _ => self.owner().into(),
        }
    }

    pub(super) fn owner(&self) -> QueryOwner {
        match self {
            Self::Bridge { bridge, .. } => QueryOwner::bridge(*bridge),
            Self::Frontend { bridge, bearer } => {
                QueryOwner::frontend(*bridge, TokenHash::from_token(bearer.expose()))
            }
        }
    }
}

/// Reads the caller, as this bridge names it. Only a request with a service credential may name one.
pub(super) fn query_caller(
    headers: &HeaderMap,
    bridges: &Bridges,
    bridge: BridgeId,
) -> Result<Option<QueryCaller>, Rejection> {
    let Some(value) = headers.get(QUERY_CALLER_HEADER) else {
        return Ok(None);
    };
    let caller = value.to_str().ok().and_then(QueryCaller::from_header);
    let caller = caller.map(|caller| bridges.qualify(bridge, caller));
    caller.map(Some).ok_or_else(|| {
        Rejection::new(
            ErrorCode::ProtocolViolation,
            "`Mcp-Web-Caller` is not what a bridge sends: JSON in base64url; update bridge and agent",
        )
    })
}

/// Authorizes a request that only a bridge may send, and returns which one it is.
pub(super) fn authorize_bridge(
    headers: &HeaderMap,
    bridges: &Bridges,
) -> Result<BridgeId, Rejection> {
    let (_, hash) = bearer_of_sender(headers, bridges)?;
    bridges.with_credential(hash).ok_or_else(wrong_credential)
}

/// Authorizes a request for metrics, which no other token may read.
pub(super) fn authorize_metrics(headers: &HeaderMap, bridges: &Bridges) -> Result<(), Rejection> {
    let bearer = bearer_token(headers).ok_or_else(|| {
        let message = "metrics need `metrics_token` as bearer token";
        Rejection::new(ErrorCode::MissingAuthentication, message)
    })?;
    if bridges.is_metrics_token(TokenHash::from_token(bearer.expose())) {
        return Ok(());
    }
    let message = "this is not `metrics_token`, with which alone metrics may be read";
    Err(Rejection::new(ErrorCode::InvalidAuthentication, message))
}

/// Returns the bridge whose page a frontend belongs to.
fn bridge_of_frontend(headers: &HeaderMap, bridges: &Bridges) -> Result<BridgeId, Rejection> {
    bridges.of_frontend(headers).ok_or_else(|| {
        let message = "this agent has several bridges, and not exactly one has the origin of this \
                       request: ask through the bridge, or write the origin into `allowed_origins` of \
                       one of the [[bridges]]";
        Rejection::new(ErrorCode::OriginNotAllowed, message)
    })
}

fn wrong_credential() -> Rejection {
    Rejection::new(
        ErrorCode::InvalidAuthentication,
        "the credential is not this agent's: give bridge and agent the same MCP_WEB_AGENT_TOKEN, or \
         run both as one user without any",
    )
}

/// Reads the token of a bridge or of a frontend, with its hash. It is not `metrics_token`, which a bridge
/// must never receive.
fn bearer_of_sender(
    headers: &HeaderMap,
    bridges: &Bridges,
) -> Result<(Secret, TokenHash), Rejection> {
    let bearer = bearer_token(headers).ok_or_else(|| {
        Rejection::new(
            ErrorCode::MissingAuthentication,
            "send `Authorization: Bearer …`: the service credential if you are a bridge, else the \
             token of the page's session",
        )
    })?;
    let hash = TokenHash::from_token(bearer.expose());
    if bridges.is_metrics_token(hash) {
        let message = "`metrics_token` is valid for metrics only";
        return Err(Rejection::new(ErrorCode::InvalidAuthentication, message));
    }
    Ok((bearer, hash))
}

fn bearer_token(headers: &HeaderMap) -> Option<Secret> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = parse_credential(token.trim()).ok()?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}
