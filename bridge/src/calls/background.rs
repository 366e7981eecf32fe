//! Calls that take longer than the client waits: the client receives a handle, and the call
//! continues in the background.

use std::sync::Arc;

use serde_json::{Map, json};

use super::{CallOptions, RoundOutcome, in_flight};
use crate::budget::{Delivery, WorkOrder};
use crate::calls::call_record::CallRecord;
use crate::calls::client_channel::DETACHED_CLIENT;
use crate::calls::in_flight::InFlightCall;
use crate::calls::tool_outcome::finish_result;
use crate::counters::CountedEnd;
use crate::hub::Hub;
use crate::result_store::{BackgroundCall, PendingResult, ResultHandle};
use crate::web::in_current_request;
use bridge_auth::RealmId;
use bridge_mcp_results::built_result::BuiltResult;
use bridge_mcp_results::encoded_size;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{CallFailure, CallOutcome};

/// The key of the handle in the `_meta` of a result that replaces one that is still awaited.
const HANDLE_META_KEY: &str = "mcp-web/handle";

/// Resolves when the client's timeout has passed and an entry for the result is reserved. Without
/// an entry the client has to wait.
pub(super) async fn detach_after(
    hub: &Hub,
    caller: &CallOptions<'_>,
    call: Option<BackgroundCall>,
) -> PendingResult {
    if let (Some(client_timeout), Some(call)) = (caller.limits.client_timeout, call) {
        tokio::time::sleep(client_timeout.duration()).await;
        let query = caller.call_context.query_id.clone();
        let party = hub.party(caller.realm);
        if let Some(pending_result) = hub.result_store.reserve(party, query, call) {
            return pending_result;
        }
    }
    std::future::pending().await
}

/// Drives a call after its caller has detached, and stores the result.
pub(super) fn continue_in_background(
    hub: &Arc<Hub>,
    caller: &CallOptions<'_>,
    tool: Arc<SharedTool>,
    call: InFlightCall,
    pending_result: PendingResult,
) {
    let task_hub = Arc::clone(hub);
    let realm = caller.realm;
    let caller = CallOptions {
        audit: caller.audit.clone(),
        ..CallOptions::new(caller.realm, caller.address, &DETACHED_CLIENT)
    };
    hub.result_store.spawn(in_current_request(async move {
        let mut record = CallRecord::begin_in_background(&task_hub, call.started(), &caller);
        let outcome = match in_flight::drive(&task_hub, &caller, call).await {
            RoundOutcome::Complete(outcome) => outcome,
            // `DETACHED_CLIENT` does not use `InputRequired`.
            RoundOutcome::InputRequired { .. } => CallOutcome::Failed(CallFailure::page_gone()),
        };
        let result = finish_result(&task_hub, realm, &tool, outcome).await;
        record.set_answer(CountedEnd::from_result(&result));
        record.delivered();
        store_result(&task_hub, realm, pending_result, result).await;
    }));
}

/// Stores a result. The number of results that are awaited is limited for each token.
async fn store_result(
    hub: &Hub,
    realm: RealmId,
    pending_result: PendingResult,
    result: CallToolResult,
) {
    let order = WorkOrder::for_result(realm, &result);
    let work = move || {
        let bytes = encoded_size::result_len(&result);
        pending_result.complete(result, bytes);
    };
    // If the task panics, dropping `pending_result` notifies readers that the result was lost.
    let _ = hub.budgets.cpu_pool.run_admitted(order, work).await;
}

/// Returns the result with the handle of a running call. Clients that require structured content
/// reject a success without it (the TypeScript SDK and rmcp), so they receive an error with this
/// text.
pub(super) fn handle_result(
    tool: &str,
    handle: &ResultHandle,
    requires_structured_content: bool,
) -> CallToolResult {
    let text = format!(
        "`{tool}` is still running in the page. Call get_result with {{\"handle\": \"{handle}\"}} \
         to wait for its result."
    );
    let meta = Map::from_iter([(HANDLE_META_KEY.to_owned(), json!(handle.as_str()))]);
    CallToolResult::from(BuiltResult {
        is_error: requires_structured_content,
        meta: Some(meta),
        is_handle: true,
        ..BuiltResult::text(text)
    })
}
