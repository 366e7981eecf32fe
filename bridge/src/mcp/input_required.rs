//! `InputRequired` of MCP 2026-07-28: the client receives the requests that it must answer, and a
//! sealed request state with which it resumes the call.
//!
//! The request state names a call that waits in the realm. The seal binds it to the token and to
//! the request that it was issued for, with its arguments. The state is signed, not secret.

use bridge_auth::RealmId;
use bridge_edge::derive_key;
use bridge_protocol::{CallId, ClientRequest, ErrorCode};
use bridge_settings::Secret;
use rmcp::ErrorData;
use rmcp::model::{
    InputRequest, InputRequests, InputRequiredResult, RequestStateCodec, RequestStateError,
    SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request_digest::RequestDigest;
use crate::calls::ResumeToken;
use crate::config::Config;

/// The purpose of the key.
const PURPOSE: &str = "request state";

/// Seals and unseals request states.
pub(super) struct RequestStateSealer {
    codec: RequestStateCodec,
    ttl: std::time::Duration,
}

/// The content of a sealed request state: the call and its round.
#[derive(Serialize, Deserialize)]
struct RequestState {
    call: String,
    round: u64,
}

impl RequestStateSealer {
    /// Creates a sealer with the key that survives restarts, or with a random one.
    pub(super) fn new(key: Option<&Secret>, config: &Config) -> Self {
        let key = key.cloned().unwrap_or_else(Secret::random);
        Self {
            codec: RequestStateCodec::new(derive_key(&key, PURPOSE)),
            ttl: config.calls.input_timeout,
        }
    }

    /// Returns the resume token in the request state of a request.
    pub(super) fn unseal(
        &self,
        realm: RealmId,
        digest: &RequestDigest,
        state: &str,
    ) -> Result<ResumeToken, ErrorData> {
        let associated_data = associated_data(realm, digest);
        let sealed: RequestState = self
            .codec
            .open_json_with(state, &associated_data)
            .map_err(|error| invalid_request_state(&error))?;
        Ok(ResumeToken {
            call: CallId(sealed.call),
            round: sealed.round,
        })
    }

    /// Returns the result with the requests that the client must answer.
    pub(super) fn input_required(
        &self,
        realm: RealmId,
        digest: &RequestDigest,
        token: &ResumeToken,
        requests: Vec<ClientRequest>,
    ) -> Result<InputRequiredResult, ErrorData> {
        let request_state = RequestState {
            call: token.call.0.clone(),
            round: token.round,
        };
        let context = associated_data(realm, digest);
        let options = SealOptions::new().associated_data(&context).ttl(self.ttl);
        let sealed = self
            .codec
            .seal_json_with(&request_state, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let requests = requests
            .into_iter()
            .map(|request| Ok((request.key.clone(), to_input_request(&request)?)))
            .collect::<Result<InputRequests, ErrorData>>()?;
        Ok(InputRequiredResult::new(Some(requests), Some(sealed)))
    }
}

fn associated_data(realm: RealmId, digest: &RequestDigest) -> Vec<u8> {
    [realm.as_bytes().as_slice(), digest.as_bytes()].concat()
}

fn invalid_request_state(error: &RequestStateError) -> ErrorData {
    let reason = match error {
        RequestStateError::Expired => "is too old",
        _ => {
            "was changed on the way, belongs to another request or to other arguments, or comes \
             from another life of the bridge"
        }
    };
    let message = format!("`requestState` {reason}: send the request again without `requestState`");
    let data = json!({ "code": ErrorCode::RequestStateInvalid.as_str() });
    ErrorData::invalid_params(message, Some(data))
}

/// Converts a request of the page to a request that MCP allows in `InputRequired`.
pub(super) fn to_input_request(request: &ClientRequest) -> Result<InputRequest, ErrorData> {
    let params: Value = serde_json::from_str(request.params.get()).unwrap_or_default();
    let request_json = json!({ "method": request.method, "params": params });
    serde_json::from_value(request_json).map_err(|error| {
        let message = format!("the page asks the client what MCP does not have: {error}");
        ErrorData::internal_error(message, None)
    })
}
