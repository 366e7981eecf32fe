//! The sender of a request: a bridge, which has the service credential, or a frontend, which only a
//! bridge can authorize.

use bridge_protocol::{ErrorCode, QUERY_CALLER_HEADER, QueryCaller};
use bridge_settings::Secret;
use bridge_settings::parse_credential;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::Rejection;
use crate::queries::{BodyOwner, QueryOwner};
use bridge_edge::TokenHash;

/// The header with the token that the agent uses to call tools and to send reports.
const QUERY_TOKEN_HEADER: &str = "mcp-web-query-token";

/// The sender of a query, and the token in its request.
#[derive(Debug)]
pub(super) enum RequestCaller {
    /// A bridge, which has presented the service credential.
    Bridge {
        /// The token of the query.
        token: Secret,
        /// The caller, which bridges of mcp-web 0.1 do not send.
        caller: Option<Box<QueryCaller>>,
    },
    /// A frontend, which has presented the token of its session. Only the bridge can verify that
    /// token.
    Frontend { bearer: Secret },
}

impl RequestCaller {
    /// Authorizes a request to answer a query. `credential` is the hash of the service credential.
    pub(super) fn authorize_query(
        headers: &HeaderMap,
        credential: TokenHash,
    ) -> Result<Self, Rejection> {
        let bearer = bearer_token(headers)?;
        let is_bridge = TokenHash::from_token(bearer.expose()) == credential;
        let token = headers.get(QUERY_TOKEN_HEADER);
        let token = token.map(|token| parse_credential(token.to_str().unwrap_or_default()));
        match (is_bridge, token) {
            (true, Some(Ok(token))) => Ok(Self::Bridge {
                token,
                caller: query_caller(headers)?.map(Box::new),
            }),
            (true, _) => Err(Rejection::new(
                ErrorCode::ProtocolViolation,
                "a bridge sends the query's own token as `Mcp-Web-Query-Token`: without it no tool \
                 can be called",
            )),
            // Only bridges send that header. The credential of a bridge is never forwarded.
            (false, Some(_)) => Err(wrong_credential()),
            (false, None) => Ok(Self::Frontend { bearer }),
        }
    }

    /// Authorizes a request about a running query: to cancel it, or to answer it. `credential` is the hash
    /// of the service credential.
    pub(super) fn authorize_owner(
        headers: &HeaderMap,
        credential: TokenHash,
    ) -> Result<QueryOwner, Rejection> {
        let token = TokenHash::from_token(bearer_token(headers)?.expose());
        Ok(if token == credential {
            QueryOwner::Bridge
        } else {
            QueryOwner::Frontend(token)
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
            Self::Bridge { .. } => QueryOwner::Bridge,
            Self::Frontend { bearer } => {
                QueryOwner::Frontend(TokenHash::from_token(bearer.expose()))
            }
        }
    }
}

/// Reads the caller. Only a request with the service credential may name one.
pub(super) fn query_caller(headers: &HeaderMap) -> Result<Option<QueryCaller>, Rejection> {
    let Some(value) = headers.get(QUERY_CALLER_HEADER) else {
        return Ok(None);
    };
    let caller = value.to_str().ok().and_then(QueryCaller::from_header);
    caller.map(Some).ok_or_else(|| {
        Rejection::new(
            ErrorCode::ProtocolViolation,
            "`Mcp-Web-Caller` is not what a bridge sends: JSON in base64url; update bridge and agent",
        )
    })
}

/// Authorizes a request that only a bridge may send. `credential` is the hash of the service
/// credential.
pub(super) fn authorize_bridge(
    headers: &HeaderMap,
    credential: TokenHash,
) -> Result<(), Rejection> {
    if TokenHash::from_token(bearer_token(headers)?.expose()) == credential {
        return Ok(());
    }
    Err(wrong_credential())
}

fn wrong_credential() -> Rejection {
    Rejection::new(
        ErrorCode::InvalidAuthentication,
        "the credential is not this agent's: give bridge and agent the same MCP_WEB_AGENT_TOKEN, or \
         run both as one user without any",
    )
}

fn bearer_token(headers: &HeaderMap) -> Result<Secret, Rejection> {
    let value = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let (scheme, token) = value.and_then(|it| it.split_once(' ')).unwrap_or_default();
    match parse_credential(token.trim()) {
        Ok(token) if scheme.eq_ignore_ascii_case("bearer") => Ok(token),
        _ => Err(Rejection::new(
            ErrorCode::MissingAuthentication,
            "send `Authorization: Bearer …`: the service credential if you are a bridge, else the \
             token of the page's session",
        )),
    }
}
