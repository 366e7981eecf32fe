//! `/query/{uuid}/…`: what an agent reports.
//!
//! The answers are those of mcp-web 0.1: `{"success": true}`, or `{"error": …}`. Who reports is
//! known by the query's own token; where ids are secrets ([`Config::uuids_are_secrets`]), by the id.
//!
//! [`Config::uuids_are_secrets`]: crate::Config

mod opening;

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post, put};
use bridge_protocol::{ErrorCode, QueryId};
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::{Edge, Problem, plain};
use crate::auth::{RealmId, token_of};
use crate::queries::{Report, looks_like_one};
use crate::realm::{QueryFailed, QueryRefusal, is_secret};

pub(super) use opening::open;

type Body = Result<Bytes, BytesRejection>;

pub(super) fn progress() -> MethodRouter<Edge> {
    post(
        |State(edge): State<Edge>, Path(uuid): Path<String>, parts: Parts, body: Body| async move {
            edge.take(&uuid, &parts, body, |body| {
                Some(Report::Progress(message(body)?))
            })
            .await
        },
    )
}

pub(super) fn complete() -> MethodRouter<Edge> {
    put(
        |State(edge): State<Edge>, Path(uuid): Path<String>, parts: Parts, body: Body| async move {
            edge.take(&uuid, &parts, body, |body| {
                Some(Report::Complete(Some(message(body)?)))
            })
            .await
        },
    )
}

pub(super) fn fail() -> MethodRouter<Edge> {
    put(
        |State(edge): State<Edge>, Path(uuid): Path<String>, parts: Parts, body: Body| async move {
            edge.take(&uuid, &parts, body, |body| {
                let fail: Fail = object(body)?;
                let code = fail.code.as_deref();
                Some(Report::Fail(QueryFailed::of_agent(
                    fail.error,
                    fail.reason,
                    code,
                )))
            })
            .await
        },
    )
}

pub(super) fn cancel() -> MethodRouter<Edge> {
    put(
        |State(edge): State<Edge>, Path(uuid): Path<String>, parts: Parts, body: Body| async move {
            edge.take(&uuid, &parts, body, |body| match body.is_empty() {
                true => Some(Report::Cancel(None)),
                false => Some(Report::Cancel(object::<Cancel>(body)?.reason)),
            })
            .await
        },
    )
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Deserialize)]
struct Fail {
    error: String,
    /// These two are not of mcp-web 0.1.
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    code: Option<String>,
}

#[derive(Deserialize)]
struct Cancel {
    #[serde(default)]
    reason: Option<String>,
}

/// Fields in any order, others beside them; no array, which serde would take for them.
fn object<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    first.filter(|first| **first == b'{')?;
    serde_json::from_slice(body).ok()
}

fn message(body: &[u8]) -> Option<Box<RawValue>> {
    to_raw_value(&object::<Message>(body)?.message).ok()
}

/// Why a report is not taken.
enum NotTaken {
    /// The bridge's own refusals.
    Problem(Problem),
    Body,
    Query(QueryRefusal),
}

impl IntoResponse for NotTaken {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            NotTaken::Problem(problem) => return problem.into_response(),
            NotTaken::Body => (StatusCode::BAD_REQUEST, "Invalid request body".to_owned()),
            NotTaken::Query(QueryRefusal::ResponseToolDemanded(why)) => {
                (StatusCode::BAD_REQUEST, why)
            }
            NotTaken::Query(_) => {
                let error = ErrorCode::QueryNotFound.as_str();
                (StatusCode::NOT_FOUND, error.to_owned())
            }
        };
        (status, Json(json!({ "error": error }))).into_response()
    }
}

impl Edge {
    async fn take(
        &self,
        uuid: &str,
        parts: &Parts,
        body: Body,
        read: impl FnOnce(&[u8]) -> Option<Report>,
    ) -> Response {
        match self.taken(uuid, parts, body, read).await {
            Ok(()) => Json(json!({ "success": true })).into_response(),
            Err(refused) => refused.into_response(),
        }
    }

    async fn taken(
        &self,
        uuid: &str,
        parts: &Parts,
        body: Body,
        read: impl FnOnce(&[u8]) -> Option<Report>,
    ) -> Result<(), NotTaken> {
        let body =
            body.map_err(|rejection| NotTaken::Problem(plain::rejected(self, &rejection)))?;
        let report = read(&body).ok_or(NotTaken::Body)?;
        let id = QueryId::from(uuid);
        let realm = self.realm_of_reporter(&id, parts).await?;
        let reported = self.hub.report(realm, &id, report);
        reported.map_err(NotTaken::Query)
    }

    /// The realm of the query, if the request may report on it. A foreign token learns nothing.
    async fn realm_of_reporter(&self, id: &QueryId, parts: &Parts) -> Result<RealmId, NotTaken> {
        let queries = &self.hub.queries;
        let not_found = || NotTaken::Query(QueryRefusal::NotFound);
        let config = &self.hub.config;
        let token = token_of(&parts.headers, parts.uri.query(), config.allow_token_in_url);
        if let Some(token) = token.as_deref().filter(|token| looks_like_one(token)) {
            let named = queries.named_by(token).filter(|(named, _)| named == id);
            return Ok(named.ok_or_else(not_found)?.1);
        }
        if !config.uuids_are_secrets() {
            let refused = match token {
                Some(_) => return Err(not_found()),
                None => "no token: send `Authorization: Bearer …` with the token of the query",
            };
            let problem = Problem::new(ErrorCode::MissingAuthentication, refused);
            return Err(NotTaken::Problem(problem));
        }
        let realm = queries.realm_of(id).filter(|_| is_secret(id));
        let realm = realm.ok_or_else(not_found)?;
        // Clients of v1 send the token of the page, or none.
        let own = match token.as_deref() {
            None => true,
            Some(token) => {
                let verified = self.tokens.verify(Some(token)).await;
                verified.is_ok_and(|principal| principal.realm == realm)
            }
        };
        own.then_some(realm).ok_or_else(not_found)
    }
}
