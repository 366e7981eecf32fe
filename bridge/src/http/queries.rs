//! The routes `/query/{uuid}/…`, on which an agent reports on its query.
//!
//! The responses are those of mcp-web 0.1: `{"success": true}`, or `{"error": …}`. A report is
//! authenticated by the query's own token. For queries of mcp-web 0.1 pages, the id of the query is
//! enough where ids are credentials ([`Config::query_ids_are_credentials`]).
//!
//! [`Config::query_ids_are_credentials`]: crate::Config

mod open;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use bridge_auth::is_query_token;
use bridge_auth::{RealmId, bearer_token};
use bridge_protocol::{ErrorCode, QueryId, present};
use bridge_realm::realm::{CompletedQuery, QueryError, ReportRejected};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::agent_queries::{AgentReport, foreign_calls};
use crate::budget::Party;
use crate::web::body::read_to_end_limited;
use crate::web::{AppState, PathSegment, Problem, client_address};

pub(super) use open::open;

/// Serves `POST /query/{uuid}/progress`.
pub(super) fn progress() -> MethodRouter<AppState> {
    report(MethodFilter::POST, |body| {
        Some(AgentReport::Progress(parse_message(body)?))
    })
}

/// Serves `PUT /query/{uuid}/complete`.
pub(super) fn complete() -> MethodRouter<AppState> {
    report(MethodFilter::PUT, |body| {
        let complete: CompleteBody = parse_object(body)?;
        Some(AgentReport::Complete(complete.into_result()?))
    })
}

/// Serves `PUT /query/{uuid}/fail`.
pub(super) fn fail() -> MethodRouter<AppState> {
    report(MethodFilter::PUT, |body| {
        let fail: FailBody = parse_object(body)?;
        let code = fail.code.as_deref();
        let error = QueryError::from_agent(fail.error, fail.reason, code);
        Some(AgentReport::Fail(error))
    })
}

/// Serves `PUT /query/{uuid}/cancel`.
pub(super) fn cancel() -> MethodRouter<AppState> {
    report(MethodFilter::PUT, |body| {
        let reason = match body {
            [] => None,
            body => parse_object::<CancelBody>(body)?.reason,
        };
        Some(AgentReport::Cancel(reason))
    })
}

/// Serves a report of an agent, whose body `parse` parses.
fn report(method: MethodFilter, parse: fn(&[u8]) -> Option<AgentReport>) -> MethodRouter<AppState> {
    on(
        method,
        move |State(state): State<AppState>,
              PathSegment(uuid): PathSegment,
              parts: Parts,
              body: Body| async move { state.handle_report(&uuid, &parts, body, parse).await },
    )
}

#[derive(Deserialize)]
struct MessageBody {
    message: String,
}

/// All fields but `message` are not part of mcp-web 0.1.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompleteBody {
    #[serde(default)]
    message: Option<String>,
    /// Any JSON value, in place of `message`.
    #[serde(default, deserialize_with = "present")]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    usage: Option<Box<RawValue>>,
    #[serde(default)]
    tool_calls: Option<Box<RawValue>>,
}

impl CompleteBody {
    fn into_result(self) -> Option<CompletedQuery> {
        let message = self.message.map(|message| to_raw_value(&message).ok());
        let value = self.result.or(message.flatten())?;
        Some(CompletedQuery {
            value: Some(value),
            usage: self.usage,
            tool_calls: self
                .tool_calls
                .as_deref()
                .map(foreign_calls)
                .unwrap_or_default(),
        })
    }
}

#[derive(Deserialize)]
struct FailBody {
    error: String,
    /// This field and `code` are not part of mcp-web 0.1.
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    code: Option<String>,
}

#[derive(Deserialize)]
struct CancelBody {
    #[serde(default)]
    reason: Option<String>,
}

/// Parses an object with its fields in any order, and ignores others. serde would also accept an
/// array.
fn parse_object<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    first.filter(|first| **first == b'{')?;
    serde_json::from_slice(body).ok()
}

fn parse_message(body: &[u8]) -> Option<Box<RawValue>> {
    to_raw_value(&parse_object::<MessageBody>(body)?.message).ok()
}

/// Why a report is rejected.
enum ReportError {
    /// An error of the bridge.
    Problem(Problem),
    InvalidBody,
    Rejected(ReportRejected),
}

impl IntoResponse for ReportError {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            ReportError::Problem(problem) => return problem.into_response(),
            ReportError::InvalidBody => {
                (StatusCode::BAD_REQUEST, "Invalid request body".to_owned())
            }
            ReportError::Rejected(ReportRejected::ResponseToolRequired(why)) => {
                (StatusCode::BAD_REQUEST, why)
            }
            ReportError::Rejected(_) => {
                let error = ErrorCode::QueryNotFound.as_str();
                (StatusCode::NOT_FOUND, error.to_owned())
            }
        };
        (status, Json(json!({ "error": error }))).into_response()
    }
}

impl AppState {
    async fn handle_report(
        &self,
        uuid: &str,
        parts: &Parts,
        body: Body,
        read: impl FnOnce(&[u8]) -> Option<AgentReport>,
    ) -> Response {
        match self.accept_report(uuid, parts, body, read).await {
            Ok(()) => Json(json!({ "success": true })).into_response(),
            Err(refused) => refused.into_response(),
        }
    }

    async fn accept_report(
        &self,
        uuid: &str,
        parts: &Parts,
        body: Body,
        read: impl FnOnce(&[u8]) -> Option<AgentReport>,
    ) -> Result<(), ReportError> {
        let id = QueryId::from(uuid);
        let realm = self.authorize_reporter(&id, parts).await?;
        let reporter = Party::new(client_address(&parts.extensions), realm);
        let body = read_to_end_limited(self, body, reporter).await;
        let (body, scan_turn) = body.map_err(ReportError::Problem)?;
        let report = read(&body).ok_or(ReportError::InvalidBody)?;
        drop(scan_turn);
        let reported = self.hub.apply_agent_report(realm, &id, report);
        reported.map_err(ReportError::Rejected)
    }

    /// Returns the realm of the query, if the request may report on it. To a foreign token, the
    /// query does not exist.
    async fn authorize_reporter(
        &self,
        id: &QueryId,
        parts: &Parts,
    ) -> Result<RealmId, ReportError> {
        let queries = &self.agent_queries;
        let not_found = || ReportError::Rejected(ReportRejected::NotFound);
        let config = &self.hub.config;
        let token = bearer_token(
            &parts.headers,
            parts.uri.query(),
            config.tokens.allow_token_in_url,
        );
        if let Some(token) = token.as_deref().filter(|token| is_query_token(token)) {
            let named = queries
                .find_by_token(token)
                .filter(|(named, _)| named == id);
            return Ok(named.ok_or_else(not_found)?.1);
        }
        let Some(realm) = queries.realm_of_credential(id) else {
            let needs_token = !config.query_ids_are_credentials() || queries.realm_of(id).is_some();
            if token.is_some() || !needs_token {
                return Err(not_found());
            }
            let missing = "no token: send `Authorization: Bearer …` with the token of the query";
            let problem = Problem::new(ErrorCode::MissingAuthentication, missing);
            return Err(ReportError::Problem(problem));
        };
        // Clients of mcp-web 0.1 send the token of the page, or none.
        let own = match token.as_deref() {
            None => true,
            Some(token) => {
                let address = client_address(&parts.extensions);
                match self.authenticator.verify(Some(token), address).await {
                    Ok(principal) => principal.realm == realm,
                    Err(error) if error.retry_after().is_some() => {
                        return Err(ReportError::Problem(error.into()));
                    }
                    Err(error) => {
                        let budgets = &self.hub.budgets;
                        budgets.record_refused_token(address, "/query", &error);
                        false
                    }
                }
            }
        };
        own.then_some(realm).ok_or_else(not_found)
    }
}
