//! The outcome of a call of plain HTTP, and its encoding.

use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_mcp_results::encoded_size;
use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_protocol::ErrorCode;

use crate::budget::{INLINE_LIMIT, WorkOrder};
use crate::calls::RoundOutcome;
use crate::hub::Hub;
use crate::mcp::EncodedResponse;
use crate::web::{Problem, run_in_current_request};

/// Returns the result of a call.
pub(super) fn complete(
    outcome: Result<RoundOutcome<CallToolResult>, RequestError>,
) -> Result<CallToolResult, Problem> {
    match outcome {
        Ok(RoundOutcome::Complete(result)) => Ok(result),
        // Cannot happen: a client that declares no capability receives no requests.
        Ok(RoundOutcome::InputRequired { .. }) => Err(Problem::new(
            ErrorCode::ClientCapabilityMissing,
            "the tool asks its client, and plain HTTP cannot answer: use MCP".to_owned(),
        )),
        Err(error) => Err(Problem::new(ErrorCode::ToolNotFound, error.to_string())),
    }
}

/// Encodes a result for a client of this realm with this address. The text is the members of the result between the two
/// ends.
pub(super) async fn encode(
    hub: &Hub,
    (realm, address): (RealmId, ClientAddress),
    result: CallToolResult,
    [head, tail]: [&'static [u8]; 2],
) -> EncodedResponse {
    let encode = move |result| EncodedResponse::from_tool_result(result, head.to_vec(), tail);
    let response = if result.is_borrowed() || encoded_size::fits_within(&result, 2 * INLINE_LIMIT) {
        encode(result)
    } else {
        let order = WorkOrder::for_result(realm, &result);
        let work = run_in_current_request(move || encode(result));
        let encoded = hub.run_work(order, work).await;
        encoded.unwrap_or_else(|error| encode(CallToolResult::from_failure(&error.after_call())))
    };
    match hub.lease_answer(realm, address, response.json.encoded_len()) {
        Ok(lease) => EncodedResponse { lease, ..response },
        Err(failure) => encode(CallToolResult::from_failure(&failure)),
    }
}
