//! Rounds of MCP 2026-07-28: the client hears what it must answer, and carries a sealed ticket.
//!
//! The ticket names a call that waits in the realm. The seal binds it to the token and to the
//! request it was given for; it is signed, not secret.

use bridge_protocol::{CallId, ClientRequest, ErrorCode};
use rmcp::ErrorData;
use rmcp::model::{
    InputRequest, InputRequests, InputRequiredResult, InputResponses, RequestStateCodec,
    RequestStateError, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::RealmId;
use crate::calls::Ticket;
use crate::config::Config;

/// What a request brings back.
pub(super) struct Asked {
    /// The method and the name or URI: a ticket is good for nothing else.
    pub(super) what: String,
    pub(super) state: Option<String>,
    pub(super) responses: Option<InputResponses>,
}

impl Asked {
    pub(super) fn nothing() -> Self {
        Self {
            what: String::new(),
            state: None,
            responses: None,
        }
    }
}

/// Seals tickets.
pub(super) struct Seal {
    codec: RequestStateCodec,
    good_for: std::time::Duration,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    call: String,
    round: u64,
}

impl Seal {
    /// With the configured key, or a new one.
    pub(super) fn new(config: &Config) -> Self {
        let codec = match &config.state_key {
            Some(key) => RequestStateCodec::new(key.bytes()),
            None => {
                let made = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
                RequestStateCodec::new(made.map(uuid::Uuid::into_bytes).concat())
            }
        };
        Self {
            codec,
            good_for: config.input_timeout,
        }
    }

    /// The ticket that a request brings, if it brings one.
    pub(super) fn open(&self, realm: RealmId, asked: &Asked) -> Result<Option<Ticket>, ErrorData> {
        let Some(state) = &asked.state else {
            return Ok(None);
        };
        let context = context(realm, &asked.what);
        let sealed: Sealed = self
            .codec
            .open_json_with(state, &context)
            .map_err(|error| invalid(&error))?;
        Ok(Some(Ticket {
            call: CallId(sealed.call),
            round: sealed.round,
        }))
    }

    /// What the client must answer.
    pub(super) fn input_required(
        &self,
        realm: RealmId,
        what: &str,
        ticket: &Ticket,
        requests: Vec<ClientRequest>,
    ) -> Result<InputRequiredResult, ErrorData> {
        let sealed = Sealed {
            call: ticket.call.0.clone(),
            round: ticket.round,
        };
        let context = context(realm, what);
        let options = SealOptions::new()
            .associated_data(&context)
            .ttl(self.good_for);
        let state = self
            .codec
            .seal_json_with(&sealed, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let requests = requests
            .into_iter()
            .map(|request| Ok((request.key.clone(), input_request(&request)?)))
            .collect::<Result<InputRequests, ErrorData>>()?;
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }
}

fn context(realm: RealmId, what: &str) -> Vec<u8> {
    [realm.bytes().as_slice(), what.as_bytes()].concat()
}

fn invalid(error: &RequestStateError) -> ErrorData {
    let why = match error {
        RequestStateError::Expired => "is too old",
        _ => {
            "was changed on the way, belongs to another request, or comes from another life of \
             the bridge"
        }
    };
    let message = format!("`requestState` {why}: send the request again without `requestState`");
    let data = json!({ "code": ErrorCode::RequestStateInvalid.as_str() });
    ErrorData::invalid_params(message, Some(data))
}

pub(super) fn input_request(request: &ClientRequest) -> Result<InputRequest, ErrorData> {
    let params: Value = serde_json::from_str(request.params.get()).unwrap_or_default();
    let asked = json!({ "method": request.method, "params": params });
    serde_json::from_value(asked).map_err(|error| {
        let message = format!("the page asks the client what MCP does not have: {error}");
        ErrorData::internal_error(message, None)
    })
}
