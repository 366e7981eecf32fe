//! The MCP method `tools/call`.

use std::sync::Arc;

use axum::response::Response;
use bridge_mcp_results::encoded_size;
use bridge_mcp_results::tool_result::CallToolResult;
use bytes::Bytes;
use rmcp::ErrorData;

use super::call_input::CallInput;
use super::checked_request::CheckedRequest;
use super::json_rpc_response::{EncodedResponse, encode_tool_result};
use super::page_call::{self, PageCall};
use super::param_headers;
use crate::budget::{INLINE_LIMIT, WorkOrder};
use crate::calls::{self, Arguments, CallRequest, DETACHED_CLIENT, Recorded};
use crate::web::run_in_current_request;

/// Serves a call with this body. Returns `None` if its session has ended meanwhile.
pub(super) async fn serve(request: &CheckedRequest<'_>, body: &Bytes) -> Option<Response> {
    match prepare(request, body).await {
        Ok((input, tool_call)) => {
            let call = PageCall::new(request);
            let messages = Arc::clone(&call.client.messages);
            let run = Box::pin(run(call, input, tool_call));
            page_call::serve(request, messages, run).await
        }
        Err(error) => Some(page_call::refuse(request, &error)),
    }
}

async fn prepare(
    request: &CheckedRequest<'_>,
    body: &Bytes,
) -> Result<(CallInput, CallRequest<'static>), ErrorData> {
    let input = CallInput::new(request, "tools/call", body)?;
    param_headers::check(request, &input.name).await?;
    let arguments = request.arguments().map(ToOwned::to_owned);
    let arguments = arguments.map_or_else(Arguments::default, Arguments::from_raw);
    let options = request.options()?;
    let caller = request
        .client
        .tool_call_options(request.principal, options, &DETACHED_CLIENT);
    let tool = input.name.clone();
    let tool_call = CallRequest {
        caller,
        tool,
        arguments,
    };
    Ok((input, tool_call))
}

async fn run(
    call: PageCall,
    mut input: CallInput,
    request: CallRequest<'static>,
) -> EncodedResponse {
    let caller = match call.options(request.caller, &mut input).await {
        Ok(caller) => caller,
        Err(refused) => return refused,
    };
    let request = CallRequest { caller, ..request };
    let Recorded { outcome, record } = calls::call_tool(&call.hub, request).await;
    let response = match call.encode_incomplete(&input, outcome).await {
        Ok(result) => encode_complete(&call, result).await,
        Err(incomplete) => incomplete,
    };
    let leased = call.with_lease(response, |failure| {
        let result = CallToolResult::from_failure(&failure);
        encode_tool_result(&call.id, result, call.client.is_modern)
    });
    leased.recorded(record)
}

/// Encodes the result of a call. A large one is encoded in the CPU pool.
async fn encode_complete(call: &PageCall, result: CallToolResult) -> EncodedResponse {
    let (id, is_modern) = (&call.id, call.client.is_modern);
    if result.is_borrowed() || encoded_size::fits_within(&result, INLINE_LIMIT) {
        return encode_tool_result(id, result, is_modern);
    }
    let order = WorkOrder::for_result(call.realm, &result);
    let own_id = id.clone();
    let work = move || encode_tool_result(&own_id, result, is_modern);
    let encoded = call.hub.run_work(order, run_in_current_request(work)).await;
    encoded.unwrap_or_else(|error| {
        let failure = CallToolResult::from_failure(&error.after_call());
        encode_tool_result(id, failure, is_modern)
    })
}
