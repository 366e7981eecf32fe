//! The input of a call: the parameters that calls of tools, prompts and resources have in common,
//! and the state that binds a call to its next round (MCP 2026-07-28, `InputRequired`).

use std::borrow::Cow;
use std::fmt;

use bridge_auth::RealmId;
use bridge_mcp_results::request_error::RequestError;
use bridge_protocol::ClientResponse;
use bridge_realm::realm::MAX_REQUESTS_PER_CALL;
use bytes::Bytes;
use rmcp::ErrorData;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::checked_request::CheckedRequest;
use super::input_required::RequestStateSealer;
use super::json_rpc_message::json_string;
use super::request_digest::RequestDigest;
use super::rmcp_conversions;
use crate::budget::{INLINE_LIMIT, WorkOrder};
use crate::calls::ResumeToken;
use crate::hub::Hub;

/// The parameters of a call.
pub(super) struct CallInput {
    method: &'static str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(super) name: String,
    /// The arguments as they were sent, which are part of the body, if a next round must have the same.
    /// Empty if there are none, and for clients that have no rounds.
    arguments: Bytes,
    request_state: Option<String>,
    /// The client's responses to the requests of earlier rounds.
    pub(super) client_responses: Vec<ClientResponse>,
}

impl CallInput {
    /// Reads the parameters of a request with this body.
    pub(super) fn new(
        request: &CheckedRequest<'_>,
        method: &'static str,
        body: &Bytes,
    ) -> Result<Self, ErrorData> {
        let params = request.params;
        let invalid = |message: &'static str| ErrorData::invalid_params(message, None);
        if params.has_duplicates {
            return Err(invalid("a member of `params` occurs twice: send each once"));
        }
        let (name, missing) = match method {
            "resources/read" => (
                params.uri,
                "`params.uri` is missing or not a string: it must be the URI of a resource",
            ),
            _ => (
                params.name,
                "`params.name` is missing or not a string: it must be the name of what is called",
            ),
        };
        let name = name.and_then(json_string).ok_or_else(|| invalid(missing))?;
        let arguments = request.arguments();
        if arguments.is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err(invalid("`params.arguments` must be an object"));
        }
        let has_rounds = params.request_state.is_some() || request.client.has_rounds();
        let arguments = match arguments {
            // A part of the body keeps the whole in memory.
            Some(object) if has_rounds => body.slice_ref(object.get().as_bytes()),
            _ => Bytes::new(),
        };
        let state = params.request_state.filter(|state| state.get() != "null");
        let state = state.map(|state| {
            json_string(state).ok_or_else(|| invalid("`params.requestState` must be a string"))
        });
        Ok(Self {
            method,
            name: name.into_owned(),
            arguments,
            request_state: state.transpose()?.map(Cow::into_owned),
            client_responses: client_responses(params.input_responses).ok_or_else(|| {
                invalid("`params.inputResponses` must be an object of at most 256 members")
            })?,
        })
    }

    /// Returns the call that the request resumes, if it names one.
    pub(super) async fn unseal(
        &self,
        hub: &Hub,
        sealer: &RequestStateSealer,
        realm: RealmId,
    ) -> Result<Option<ResumeToken>, ErrorData> {
        let Some(state) = &self.request_state else {
            return Ok(None);
        };
        let digest = self.digest(hub, realm).await?;
        sealer.unseal(realm, &digest, state).map(Some)
    }

    /// Computes the digest of the request. Large arguments are parsed in the CPU pool.
    pub(super) async fn digest(
        &self,
        hub: &Hub,
        realm: RealmId,
    ) -> Result<RequestDigest, ErrorData> {
        let bytes = self.arguments.len();
        let order = (bytes > INLINE_LIMIT).then(|| WorkOrder::for_json(realm, bytes));
        let (method, name) = (self.method, self.name.clone());
        let arguments = self.arguments.clone();
        let work = move || RequestDigest::of_json(method, &name, &arguments);
        let digest = hub.run_work_unless_small(order, work).await;
        let digest = digest.map_err(|error| RequestError::Failed(error.into()));
        digest
            .map_err(|error| rmcp_conversions::to_error_data(error, true))?
            .map_err(|error| invalid_arguments(&error))
    }
}

/// Returns the error for arguments that cannot be parsed, such as too deep ones.
pub(super) fn invalid_arguments(error: &serde_json::Error) -> ErrorData {
    ErrorData::invalid_params(
        format!("`params.arguments` cannot be parsed: {error}"),
        None,
    )
}

/// Returns the client's responses to the requests of earlier rounds, or `None` for JSON that is not
/// an object of at most [`MAX_REQUESTS_PER_CALL`] members.
fn client_responses(responses: Option<&RawValue>) -> Option<Vec<ClientResponse>> {
    let responses = responses.filter(|responses| responses.get() != "null");
    let Some(responses) = responses else {
        return Some(Vec::new());
    };
    let ClientResponses(responses) = serde_json::from_str(responses.get()).ok()?;
    Some(responses)
}

/// The member of a request with the responses, by the keys of their requests.
struct ClientResponses(Vec<ClientResponse>);

impl<'de> Deserialize<'de> for ClientResponses {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_map(ClientResponsesVisitor)
    }
}

struct ClientResponsesVisitor;

impl<'de> Visitor<'de> for ClientResponsesVisitor {
    type Value = ClientResponses;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ClientResponses, A::Error> {
        let mut responses = Vec::new();
        while let Some((key, result)) = map.next_entry()? {
            if responses.len() == MAX_REQUESTS_PER_CALL {
                return Err(A::Error::custom("too many responses"));
            }
            responses.push(ClientResponse {
                key,
                result: Some(result),
                error: None,
            });
        }
        Ok(ClientResponses(responses))
    }
}
