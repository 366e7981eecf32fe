//! Builds the result of a tool call from the answer of the page.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_mcp_results::repeated_media::may_repeat_media;
use bridge_mcp_results::schema_violation::output_schema_violation;
use bridge_mcp_results::tool_call::build_result;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_raw_json::RawJson;
use bridge_realm::definition::SharedTool;
use bridge_realm::realm::{CallFailure, CallOutcome, PageAnswer};

use super::validation::{self, ValidationError};
use crate::budget::{INLINE_LIMIT, WorkError, WorkOrder};
use crate::hub::Hub;

/// Builds the result for the client from the outcome of a call.
pub(super) async fn finish_result(
    hub: &Hub,
    realm: RealmId,
    tool: &Arc<SharedTool>,
    outcome: CallOutcome,
) -> CallToolResult {
    let result = match outcome {
        CallOutcome::Failed(failure) => Err(failure),
        CallOutcome::Answered(answer) => validated_result(hub, realm, tool, answer).await,
    };
    result.unwrap_or_else(|failure| CallToolResult::from_failure(&failure))
}

/// Builds the result, and validates it against the output schema.
async fn validated_result(
    hub: &Hub,
    realm: RealmId,
    tool: &Arc<SharedTool>,
    answer: PageAnswer,
) -> Result<CallToolResult, CallFailure> {
    // A slice of the page's message has been scanned already, and is copied only for its media.
    let is_scanned = matches!(&answer, PageAnswer::Value(Some(RawJson::Borrowed(slice)))
        if !may_repeat_media(slice.get()));
    let result = if is_scanned || answer.bytes() < INLINE_LIMIT {
        build_result(tool, answer)?
    } else {
        let order = WorkOrder::for_json(realm, answer.bytes());
        let tool = Arc::clone(tool);
        let work = move || build_result(&tool, answer);
        let built = hub.run_work(order, work).await;
        built.map_err(WorkError::after_call)??
    };
    let validated =
        validation::validate(hub, realm, tool, SharedTool::output_validator, result).await;
    validated.map_err(|error| match error {
        ValidationError::Invalid(violation) => output_schema_violation(tool, &violation),
        ValidationError::Work(error) => error.after_call(),
    })
}
