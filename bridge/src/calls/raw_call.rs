//! Calls for transports that build the result themselves.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_protocol::SessionId;
use serde_json::value::RawValue;

use super::call_record::{CallRecord, Recorded};
use super::{Arguments, CallOptions, RoundOutcome, in_flight};
use crate::calls::tools::validate_input;
use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{CallFailure, CallOutcome, PageRequest};

/// Sends a request to a page and returns its outcome.
pub(crate) async fn call_raw(
    hub: &Arc<Hub>,
    mut caller: CallOptions<'_>,
    session: &SessionId,
    request: PageRequest,
) -> Recorded<CallOutcome> {
    let kind = match &request {
        PageRequest::Tool { .. } => CallKind::Tool,
        PageRequest::Prompt { .. } => CallKind::Prompt,
        PageRequest::Resource { .. } => CallKind::Resource,
        PageRequest::Completion { .. } => CallKind::Completion,
    };
    let arguments = || match &request {
        PageRequest::Tool { input, .. } => Some(input.get().to_owned()),
        _ => None,
    };
    let record = CallRecord::begin(hub, kind, &mut caller, request.name(), arguments);
    let outcome = match in_flight::run(hub, &mut caller, session, request).await {
        RoundOutcome::Complete(outcome) => outcome,
        // The transports that use this function have no clients that use `InputRequired`.
        RoundOutcome::InputRequired { .. } => CallOutcome::Failed(CallFailure::page_gone()),
    };
    record.of(outcome, CountedEnd::from_outcome)
}

/// Validates arguments against the tool's input schema, and returns them.
pub(crate) async fn validate_raw_arguments(
    hub: &Hub,
    realm: RealmId,
    tool: &Arc<SharedTool>,
    arguments: Box<RawValue>,
) -> Result<Box<RawValue>, CallFailure> {
    validate_input(hub, realm, tool, Arguments::from_raw(arguments)).await
}
