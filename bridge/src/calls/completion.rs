//! The MCP method `completion/complete`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bridge_protocol::{Argument, ErrorCode, Item};

use super::call_record::{CallRecord, Recorded};
use super::{CallOptions, RoundOutcome, in_flight};
use crate::calls::delivery_limits::parse_object;
use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;
use bridge_mcp_results::completion_values::CompletionValues;
use bridge_mcp_results::request_error::RequestError;
use bridge_realm::realm::{CallOutcome, PageRequest, Realm, RoutingError};

/// A request to complete an argument of a prompt or of a resource template.
pub(crate) struct CompletionRequest<'a> {
    pub(crate) caller: CallOptions<'a>,
    pub(crate) reference: Item,
    pub(crate) argument: Argument,
    pub(crate) arguments: BTreeMap<String, String>,
}

/// Requests the completion of an argument from a page.
pub(crate) async fn complete(
    hub: &Arc<Hub>,
    mut request: CompletionRequest<'_>,
) -> Recorded<Result<CompletionValues, RequestError>> {
    let CompletionRequest {
        caller,
        reference,
        argument,
        ..
    } = &mut request;
    let argument = || serde_json::to_string(argument).ok();
    let name = &reference.name;
    let record = CallRecord::begin(hub, CallKind::Completion, caller, name, argument);
    let outcome = run(hub, request).await;
    record.of(outcome, |outcome| match outcome {
        Ok(_) => CountedEnd::Completed,
        Err(error) => CountedEnd::Failed(Some(error.code())),
    })
}

async fn run(hub: &Hub, request: CompletionRequest<'_>) -> Result<CompletionValues, RequestError> {
    let mut caller = request.caller;
    let kind = request.reference.kind;
    let target = caller.target();
    let route = |realm: &Realm| realm.route(kind, &request.reference.name, &target);
    let waited = caller.wait_for_item(hub, (kind, &request.reference.name), &target);
    waited.await.map_err(RequestError::Failed)?;
    let (session, definition) = hub
        .with_realm(caller.realm, route)
        .unwrap_or(Err(RoutingError::NoSessions))
        .map_err(RequestError::not_routed(kind))?;
    let request = PageRequest::Completion {
        reference: definition.item(),
        argument: request.argument,
        arguments: request.arguments,
    };
    match in_flight::run(hub, &mut caller, &session, request).await {
        RoundOutcome::Complete(CallOutcome::Answered(answer)) => {
            let result = parse_object(hub, caller.realm, "a completion", answer).await?;
            CompletionValues::from_page(result)
        }
        RoundOutcome::Complete(CallOutcome::Failed(failure)) => Err(RequestError::Failed(failure)),
        // MCP has no `InputRequired` for completions, and completers cannot send requests.
        RoundOutcome::InputRequired { .. } => Err(RequestError::failed(
            ErrorCode::ProtocolViolation,
            "a completer cannot ask the client",
        )),
    }
}
