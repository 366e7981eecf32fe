//! A request whose ending the leg shapes by rules of its own.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, SessionId};
use serde_json::value::RawValue;

use super::{Arguments, CallOptions, RoundOutcome, in_flight};
use crate::calls::page_tools::validate_input;
use crate::hub::Hub;
use bridge_realm::definition::tool::Tool;
use bridge_realm::realm::{CallFailure, CallOutcome, PageRequest};

/// Has a page do it.
pub(crate) async fn call_raw(
    hub: &Hub,
    mut caller: CallOptions<'_>,
    session: &SessionId,
    request: PageRequest,
) -> CallOutcome {
    match in_flight::run(hub, &mut caller, session, request).await {
        RoundOutcome::Complete(ending) => ending,
        // A client that answers in rounds has a leg that knows them.
        RoundOutcome::InputRequired { .. } => CallOutcome::Failed(CallFailure::page_gone()),
    }
}

/// The arguments, if they fit the tool's input schema.
pub(crate) async fn validate_raw_arguments(
    tool: &Arc<Tool>,
    arguments: Box<RawValue>,
) -> Result<Box<RawValue>, CallFailure> {
    let checked = validate_input(tool, Arguments::from_raw(arguments)).await;
    checked.map_err(|why| CallFailure::new(ErrorCode::InvalidArguments, why))
}
