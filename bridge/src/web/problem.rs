//! Errors over plain HTTP, with the one table from error codes to statuses.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use bridge_auth::{AuthError, InsufficientScope, Scope};
use bridge_realm::realm::CallFailure;

use super::current_request_id;
use crate::budget::{RefusalKind, RefusalRecord};
use crate::cluster::{NOT_OWNER, NotForwarded, NotOwner, OwnerAway};

/// The start of each challenge (RFC 6750 section 3).
pub(super) const CHALLENGE_PREFIX: &str = "Bearer realm=\"mcp-web\"";

/// How long the restart of a bridge takes, at least.
const RESTART_TIME: Duration = Duration::from_secs(1);

/// The body `{"error": code, "message": text, "requestId": id}` with the status of the code.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    /// The scopes that would suffice, separated by spaces.
    pub(crate) scope: Option<String>,
    /// How long the client should wait before it sends the request again.
    retry_after: Option<Duration>,
    /// The kind of the refusal, if the problem is one.
    refusal: Option<RefusalKind>,
}

impl Problem {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            status: status_for(code),
            code,
            message: message.into(),
            scope: None,
            retry_after: None,
            refusal: RefusalKind::from_code(code),
        }
    }

    /// Refuses a token whose client's address has sent too many tokens that were refused.
    pub(super) fn too_many_refused_tokens(retry_after: Duration) -> Self {
        let seconds = whole_seconds(retry_after);
        let message = format!(
            "the token is not valid, and too many requests from this address had such tokens: \
             correct the token, and retry in {seconds} s"
        );
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(retry_after),
            refusal: Some(RefusalKind::MaxRefusedTokens),
            ..Self::new(ErrorCode::InvalidAuthentication, message)
        }
    }

    /// Refuses to look up a token, because too many of the client's address were found nowhere.
    pub(crate) fn too_many_lookups(retry_after: Duration) -> Self {
        let seconds = whole_seconds(retry_after);
        let message = format!(
            "too many requests from this address had tokens that no bridge serves: retry in {seconds} s, \
             or raise `max_cluster_lookups`"
        );
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            retry_after: Some(retry_after),
            refusal: Some(RefusalKind::MaxClusterLookups),
            ..Self::new(ErrorCode::ClusterUnavailable, message)
        }
    }

    /// Returns the error as JSON, with the id of the request.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({ "error": self.code.as_str(), "message": self.message });
        if let Some(request) = current_request_id() {
            json["requestId"] = request.into();
        }
        json
    }

    /// Sets the kind of the refusal, where the code does not determine it.
    pub(crate) fn refusing(self, kind: RefusalKind) -> Self {
        Self {
            refusal: Some(kind),
            ..self
        }
    }

    /// Returns how long the client should wait, if it may send the same request again.
    fn retry_after(&self) -> Option<Duration> {
        self.retry_after.or_else(|| match self.code {
            ErrorCode::BridgeStopping => Some(RESTART_TIME),
            _ => self.refusal?.retry_after(),
        })
    }

    /// Makes the problem one that is not counted and logged as a refusal.
    pub(crate) fn uncounted(self) -> Self {
        Self {
            refusal: None,
            ..self
        }
    }

    /// Returns the value of `WWW-Authenticate` for a response that rejects a token or the lack of
    /// one.
    fn challenge(&self) -> Option<HeaderValue> {
        let error = match (self.status, &self.scope) {
            // RFC 6750 section 3: no error attribute when no token was sent.
            (StatusCode::UNAUTHORIZED, _) if self.code == ErrorCode::MissingAuthentication => {
                return Some(HeaderValue::from_static(CHALLENGE_PREFIX));
            }
            (StatusCode::UNAUTHORIZED, _) => "error=\"invalid_token\"".to_owned(),
            (_, Some(scope)) => format!("error=\"insufficient_scope\", scope=\"{scope}\""),
            _ => return None,
        };
        let description = sanitize_description(&self.message);
        let challenge = format!("{CHALLENGE_PREFIX}, {error}, error_description=\"{description}\"");
        HeaderValue::from_str(&challenge).ok()
    }
}

/// Rounds a duration up to seconds, of which `Retry-After` needs at least one.
fn whole_seconds(duration: Duration) -> u64 {
    let started = u64::from(duration.subsec_nanos() > 0);
    (duration.as_secs() + started).max(1)
}

/// Replaces the characters that RFC 6750 section 3 does not allow in a description.
fn sanitize_description(message: &str) -> String {
    let allowed = |character| match character {
        ' '..='~' if !matches!(character, '"' | '\\') => character,
        _ => '\'',
    };
    message.chars().map(allowed).collect()
}

fn status_for(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::MissingAuthentication
        | ErrorCode::InvalidAuthentication
        | ErrorCode::TokenExpired => StatusCode::UNAUTHORIZED,
        ErrorCode::OriginNotAllowed
        | ErrorCode::HostNotAllowed
        | ErrorCode::InsufficientScope
        | ErrorCode::AccessDenied => StatusCode::FORBIDDEN,
        ErrorCode::ToolNotFound
        | ErrorCode::NoSessionsFound
        | ErrorCode::SessionNotFound
        | ErrorCode::UnknownMethod => StatusCode::NOT_FOUND,
        ErrorCode::QueryCompleted => StatusCode::CONFLICT,
        ErrorCode::QueryLimitExceeded | ErrorCode::CallLimitExceeded => {
            StatusCode::TOO_MANY_REQUESTS
        }
        ErrorCode::BridgeStopping
        | ErrorCode::AuthenticationUnavailable
        | ErrorCode::ClusterUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::AgentNotConfigured => StatusCode::NOT_IMPLEMENTED,
        ErrorCode::AgentUnavailable | ErrorCode::AgentFailed | ErrorCode::NodeLost => {
            StatusCode::BAD_GATEWAY
        }
        ErrorCode::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        ErrorCode::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::RealmLimitExceeded
        | ErrorCode::SessionLimitExceeded
        | ErrorCode::MemoryLimitExceeded => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl From<AuthError> for Problem {
    fn from(refusal: AuthError) -> Self {
        Self {
            retry_after: refusal.retry_after(),
            ..Self::new(refusal.code, refusal.message)
        }
    }
}

impl From<OwnerAway> for Problem {
    fn from(_: OwnerAway) -> Self {
        Self::new(ErrorCode::ClusterUnavailable, OwnerAway::MESSAGE)
    }
}

impl From<NotForwarded> for Problem {
    fn from(error: NotForwarded) -> Self {
        let message = error.message();
        match error {
            NotForwarded::NotRun => Self::new(ErrorCode::ClusterUnavailable, message),
            NotForwarded::MayHaveRun => Self::new(ErrorCode::NodeLost, message),
            NotForwarded::Unanswered => Self {
                status: StatusCode::GATEWAY_TIMEOUT,
                ..Self::new(ErrorCode::NodeLost, message)
            },
        }
    }
}

/// Nothing of the request has run, so the other bridge can send it to the owner.
impl IntoResponse for NotOwner {
    fn into_response(self) -> Response {
        let header = [(NOT_OWNER, HeaderValue::from_static("1"))];
        (StatusCode::MISDIRECTED_REQUEST, header).into_response()
    }
}

impl From<CallFailure> for Problem {
    fn from(failure: CallFailure) -> Self {
        Self::new(failure.code, failure.message)
    }
}

impl From<InsufficientScope> for Problem {
    fn from(insufficient: InsufficientScope) -> Self {
        let wanted: Vec<_> = insufficient.challenge_scopes().map(Scope::as_str).collect();
        Self {
            scope: Some(wanted.join(" ")),
            ..Self::new(InsufficientScope::CODE, insufficient.message())
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.to_json();
        let challenge = self.challenge();
        let retry_after = self.retry_after();
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(challenge) = challenge {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        // RFC 9110 section 15.5.9: the server does not wait any longer.
        if self.status == StatusCode::REQUEST_TIMEOUT {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if matches!(
            self.status,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        ) && let Some(retry_after) = retry_after
        {
            let seconds = HeaderValue::from(whole_seconds(retry_after));
            headers.insert(RETRY_AFTER, seconds);
        }
        if let Some(kind) = self.refusal {
            let reason = self.message;
            response
                .extensions_mut()
                .insert(RefusalRecord { kind, reason });
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_says_when_to_retry_if_and_only_if_its_status_is_temporary() {
        let temporary = [
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        for code in ErrorCode::ALL {
            let response = Problem::new(*code, "why").into_response();
            let is_temporary = temporary.contains(&response.status());
            let retry_after = response.headers().get(RETRY_AFTER);
            assert_eq!(retry_after.is_some(), is_temporary, "{code}");
            if let Some(kind) = RefusalKind::from_code(*code) {
                assert_eq!(kind.retry_after().is_some(), is_temporary, "{code}");
            }
        }
        for kind in RefusalKind::ALL {
            let problem = Problem::new(ErrorCode::SessionLimitExceeded, "why").refusing(kind);
            let response = problem.into_response();
            let seconds = response.headers().get(RETRY_AFTER);
            let expected = kind
                .retry_after()
                .map(|time| HeaderValue::from(time.as_secs()));
            assert_eq!(seconds, expected.as_ref(), "{kind:?}");
        }
    }

    #[test]
    fn a_challenge_has_only_characters_allowed_by_rfc_6750() {
        let words = "a \"b\"\nand \\ …";
        let problem = Problem::new(ErrorCode::InvalidAuthentication, words);
        assert_eq!(
            problem.challenge().unwrap(),
            "Bearer realm=\"mcp-web\", error=\"invalid_token\", \
             error_description=\"a 'b''and ' '\""
        );
        let missing = Problem::new(ErrorCode::MissingAuthentication, "no token");
        assert_eq!(missing.challenge().unwrap(), CHALLENGE_PREFIX);
        let other = Problem::new(ErrorCode::OriginNotAllowed, "foreign");
        assert_eq!(other.challenge(), None);
        // A challenge would start a login that does not help.
        let response = Problem::from(AuthError::unavailable()).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "5");
        assert_eq!(response.headers().get(WWW_AUTHENTICATE), None);
    }
}
