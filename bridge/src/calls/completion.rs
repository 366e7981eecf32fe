//! The MCP method `completion/complete`.

use std::collections::BTreeMap;

use bridge_protocol::{Argument, ErrorCode, Item};
use serde::Deserialize;
use serde_json::Value;

use super::call_record::CallRecord;
use super::error::route_error;
use super::{CallError, CallOptions, RoundOutcome, in_flight};
use crate::calls::delivery_limits::parse_object;
use crate::counters::{CallEnd, CallKind};
use crate::hub::Hub;
use bridge_realm::realm::{CallOutcome, PageRequest, RouteError};

/// The maximum number of values in one result (MCP, "Completion").
const MAX_VALUES: usize = 100;

/// A request to complete an argument of a prompt or of a resource template.
pub(crate) struct CompletionRequest<'a> {
    pub(crate) caller: CallOptions<'a>,
    pub(crate) reference: Item,
    pub(crate) argument: Argument,
    pub(crate) arguments: BTreeMap<String, String>,
}

/// The values that a page proposes for an argument.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompletionValues {
    pub(crate) values: Vec<String>,
    pub(crate) total: Option<u32>,
    pub(crate) has_more: Option<bool>,
}

impl CompletionValues {
    fn truncated(mut self) -> Self {
        if self.values.len() > MAX_VALUES {
            self.total = self.total.or_else(|| u32::try_from(self.values.len()).ok());
            self.has_more = Some(true);
            self.values.truncate(MAX_VALUES);
        }
        self
    }
}

/// Requests the completion of an argument from a page.
pub(crate) async fn complete(
    hub: &Hub,
    mut request: CompletionRequest<'_>,
) -> Result<CompletionValues, CallError> {
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
    record.end(match &outcome {
        Ok(_) => CallEnd::Completed,
        Err(error) => CallEnd::Failed(Some(error.code())),
    });
    outcome
}

async fn run(hub: &Hub, request: CompletionRequest<'_>) -> Result<CompletionValues, CallError> {
    let mut caller = request.caller;
    let kind = request.reference.kind;
    let found = hub.with_realm(caller.realm, |realm| {
        realm.route(kind, &request.reference.name, &caller.target())
    });
    let (session, definition) = match found.unwrap_or(Err(RouteError::NoSessions)) {
        Ok(found) => found,
        Err(error) => return Err(route_error(kind, error)),
    };
    let request = PageRequest::Completion {
        reference: definition.item(),
        argument: request.argument,
        arguments: request.arguments,
    };
    match in_flight::run(hub, &mut caller, &session, request).await {
        RoundOutcome::Complete(CallOutcome::Answered(answer)) => {
            let result = parse_object(hub, caller.realm, "a completion", answer).await?;
            let proposals: CompletionValues = serde_json::from_value(Value::Object(result))
                .map_err(|error| {
                    let message = format!("the page's answer for a completion: {error}");
                    CallError::failed(ErrorCode::InvalidResult, message)
                })?;
            Ok(proposals.truncated())
        }
        RoundOutcome::Complete(CallOutcome::Failed(failure)) => Err(CallError::Failed(failure)),
        // MCP has no `InputRequired` for completions, and completers cannot send requests.
        RoundOutcome::InputRequired { .. } => Err(CallError::failed(
            ErrorCode::ProtocolViolation,
            "a completer cannot ask the client",
        )),
    }
}
