//! The MCP method `prompts/get`.

use std::sync::Arc;

use bridge_protocol::Kind;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::call_record::{CallRecord, Recorded};
use super::{CallOptions, RoundOutcome, in_flight};
use crate::calls::delivery_limits::{enforce_object_limit, parse_list};
use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;
use bridge_mcp_results::page_object::AnswerList;
use bridge_mcp_results::prompt_arguments;
use bridge_mcp_results::request_error::RequestError;
use bridge_realm::realm::{CallOutcome, PageRequest, Realm, RoutingError};

/// A request for a prompt, with its arguments.
pub(crate) struct PromptRequest<'a> {
    pub(crate) caller: CallOptions<'a>,
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
}

/// Requests a prompt from a page, and returns the page's MCP `GetPromptResult`.
pub(crate) async fn get_prompt(
    hub: &Arc<Hub>,
    mut request: PromptRequest<'_>,
) -> Recorded<Result<RoundOutcome<Map<String, Value>>, RequestError>> {
    let PromptRequest {
        caller,
        name,
        arguments,
    } = &mut request;
    let arguments = || serde_json::to_string(arguments).ok();
    let record = CallRecord::begin(hub, CallKind::Prompt, caller, name, arguments);
    let outcome = run(hub, request).await;
    record.of(outcome, CountedEnd::from_round)
}

async fn run(
    hub: &Hub,
    request: PromptRequest<'_>,
) -> Result<RoundOutcome<Map<String, Value>>, RequestError> {
    let mut caller = request.caller;
    let what = format!("prompt `{}`", request.name);
    let outcome = match caller.resume_token.take() {
        Some(resume_token) => in_flight::run_resumed(hub, &mut caller, resume_token).await?,
        None => {
            let target = caller.target();
            let route = |realm: &Realm| realm.route(Kind::Prompt, &request.name, &target);
            let waited = caller.wait_for_item(hub, (Kind::Prompt, &request.name), &target);
            waited.await.map_err(RequestError::Failed)?;
            let (session, prompt) = hub
                .with_realm(caller.realm, route)
                .unwrap_or(Err(RoutingError::NoSessions))
                .map_err(RequestError::not_routed(Kind::Prompt))?;
            prompt_arguments::validate(&prompt, &request.arguments)?;
            let arguments = to_raw_value(&request.arguments).map_err(|error| {
                RequestError::InvalidArguments(format!("the arguments cannot be encoded: {error}"))
            })?;
            let request = PageRequest::Prompt {
                name: prompt.name().to_owned(),
                arguments,
            };
            in_flight::run(hub, &mut caller, &session, request).await
        }
    };
    match outcome {
        RoundOutcome::InputRequired {
            resume_token,
            requests,
        } => Ok(RoundOutcome::InputRequired {
            resume_token,
            requests,
        }),
        RoundOutcome::Complete(CallOutcome::Failed(failure)) => Err(RequestError::Failed(failure)),
        RoundOutcome::Complete(CallOutcome::Answered(answer)) => {
            let result =
                parse_list(hub, caller.realm, (&what, AnswerList::Messages), answer).await?;
            enforce_object_limit(hub, &caller, &what, result)
                .await
                .map(RoundOutcome::Complete)
        }
    }
}
