//! Who asks: a bridge, which knows the service credential, or a frontend, for which a bridge must
//! speak.

use bridge_protocol::ErrorCode;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use super::{AppState, Problem};
use crate::config::Secret;
use crate::credential::Hashed;
use crate::queries::QueryOwner;

/// Carries the token that the agent calls tools and reports with.
const QUERY_TOKEN_HEADER: &str = "mcp-web-query-token";

/// Who asks, and with what the query is answered.
#[derive(Debug)]
pub(super) enum RequestCaller {
    /// It has shown the service credential.
    Bridge {
        /// The query's own.
        token: Secret,
    },
    /// It shows the token of its session, which only the bridge can judge.
    Frontend { bearer: Secret },
}

impl RequestCaller {
    /// Who asks a query.
    pub(super) fn authorize_query(edge: &AppState, headers: &HeaderMap) -> Result<Self, Problem> {
        let bearer = bearer_token(headers)?;
        let is_bridge = Hashed::of(bearer.expose()) == edge.credential;
        let token = headers.get(QUERY_TOKEN_HEADER);
        let token = token.map(|token| token.to_str().unwrap_or_default().parse::<Secret>());
        match (is_bridge, token) {
            (true, Some(Ok(token))) => Ok(Self::Bridge { token }),
            (true, _) => Err(Problem::new(
                ErrorCode::ProtocolViolation,
                "a bridge sends the query's own token as `Mcp-Web-Query-Token`: without it no tool \
                 can be called",
            )),
            // Only bridges send that header: their credential is not for others to see.
            (false, Some(_)) => Err(wrong_credential()),
            (false, None) => Ok(Self::Frontend { bearer }),
        }
    }

    /// Who wants to cancel.
    pub(super) fn authorize_cancel(
        edge: &AppState,
        headers: &HeaderMap,
    ) -> Result<QueryOwner, Problem> {
        let hashed = Hashed::of(bearer_token(headers)?.expose());
        Ok(match hashed == edge.credential {
            true => QueryOwner::Bridge,
            false => QueryOwner::Frontend(hashed),
        })
    }

    pub(super) fn owner(&self) -> QueryOwner {
        match self {
            Self::Bridge { .. } => QueryOwner::Bridge,
            Self::Frontend { bearer } => QueryOwner::Frontend(Hashed::of(bearer.expose())),
        }
    }
}

fn wrong_credential() -> Problem {
    Problem::new(
        ErrorCode::InvalidAuthentication,
        "the credential is not this agent's: give bridge and agent the same MCP_WEB_AGENT_TOKEN, or \
         run both as one user without any",
    )
}

fn bearer_token(headers: &HeaderMap) -> Result<Secret, Problem> {
    let value = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let (scheme, token) = value.and_then(|it| it.split_once(' ')).unwrap_or_default();
    let token = token.trim().parse();
    match token {
        Ok(token) if scheme.eq_ignore_ascii_case("bearer") => Ok(token),
        _ => Err(Problem::new(
            ErrorCode::MissingAuthentication,
            "send `Authorization: Bearer …`: the service credential if you are a bridge, else the \
             token of the page's session",
        )),
    }
}
