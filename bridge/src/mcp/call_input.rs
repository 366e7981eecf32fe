//! What a request calls, and with what: the parameters that calls of tools, prompts and resources have
//! in common, and what binds a call to its next round (MCP 2026-07-28, `InputRequired`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use bridge_auth::RealmId;
use bridge_protocol::ClientResponse;
use bridge_results::request_error::CallError;
use bytes::Bytes;
use rmcp::ErrorData;
use serde_json::value::RawValue;

use super::checked_request::CheckedRequest;
use super::convert;
use super::input_required::RequestStateSealer;
use super::message::json_string;
use super::request_digest::RequestDigest;
use crate::calls::ResumeToken;
use crate::cpu_pool::{INLINE_LIMIT, WorkOrder};
use crate::hub::Hub;

/// The parameters of a call.
pub(super) struct CallInput {
    method: &'static str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(super) name: String,
    /// The arguments as they were sent, which are part of the body. Empty if there are none.
    pub(super) arguments: Bytes,
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
        let arguments = match params.arguments.filter(|it| it.get() != "null") {
            Some(object) if object.get().starts_with('{') => {
                body.slice_ref(object.get().as_bytes())
            }
            None => Bytes::new(),
            Some(_) => return Err(invalid("`params.arguments` must be an object")),
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
            client_responses: client_responses(params.input_responses)
                .ok_or_else(|| invalid("`params.inputResponses` must be an object"))?,
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
        digest.map_err(|error| convert::to_error_data(CallError::Failed(error.into()), true))
    }
}

/// Returns the client's responses to the requests of earlier rounds, or `None` for JSON that is no
/// object.
fn client_responses(responses: Option<&RawValue>) -> Option<Vec<ClientResponse>> {
    let Some(responses) = responses else {
        return Some(Vec::new());
    };
    let responses: Option<BTreeMap<String, Box<RawValue>>> =
        serde_json::from_str(responses.get()).ok()?;
    let responses = responses.unwrap_or_default().into_iter();
    let responses = responses.map(|(key, result)| ClientResponse {
        key,
        result: Some(result),
        error: None,
    });
    Some(responses.collect())
}
