//! A client without the patience for a long call leaves with a handle; the call goes on.

use std::sync::Arc;

use bridge_protocol::CallContext;
use serde_json::{Map, json};

use super::in_flight;
use super::{CallOptions, DeliveryLimits, RoundOutcome};
use crate::calls::in_flight::InFlightCall;
use crate::calls::silent_client::DETACHED_CLIENT;
use crate::calls::tool_outcome::finish_result;
use crate::hub::Hub;
use crate::results::built_result::BuiltResult;
use crate::results::encoded_size;
use crate::results::store::{BackgroundCall, PendingResult, ResultHandle};
use crate::results::tool_result::ToolResult;
use bridge_auth::RealmId;
use bridge_realm::definition::tool::Tool;
use bridge_realm::realm::{CallFailure, CallOutcome};
use bridge_service::cpu_pool;

/// The key in `_meta` of the answer that comes before the result.
const HANDLE_META_KEY: &str = "mcp-web/handle";

/// When the client's patience is over, and there is a place for what it will not hear. Without a
/// place the client has to wait.
pub(super) async fn detach_after(
    hub: &Hub,
    caller: &CallOptions<'_>,
    call: Option<BackgroundCall>,
) -> PendingResult {
    if let (Some(client_timeout), Some(call)) = (caller.limits.client_timeout, call) {
        tokio::time::sleep(client_timeout).await;
        let query = caller.call_context.query_id.clone();
        if let Some(pending_result) = hub.result_store.reserve(caller.realm, query, call) {
            return pending_result;
        }
    }
    std::future::pending().await
}

/// Stays with a call in place of its caller.
pub(super) fn continue_in_background(
    hub: &Arc<Hub>,
    realm: RealmId,
    tool: Arc<Tool>,
    call: InFlightCall,
    pending_result: PendingResult,
) {
    let task_hub = Arc::clone(hub);
    hub.result_store.spawn(async move {
        let caller = CallOptions {
            query_lifetime: None,
            realm,
            session: None,
            call_context: CallContext::default(),
            client: &DETACHED_CLIENT,
            limits: DeliveryLimits::default(),
            client_responses: Vec::new(),
            resume_token: None,
        };
        let outcome = match in_flight::drive(&task_hub, &caller, call).await {
            RoundOutcome::Complete(outcome) => outcome,
            // Nobody answers in rounds.
            RoundOutcome::InputRequired { .. } => CallOutcome::Failed(CallFailure::page_gone()),
        };
        let result = finish_result(&tool, outcome).await;
        store_result(pending_result, result).await;
    });
}

async fn store_result(pending_result: PendingResult, result: ToolResult) {
    let work = move || {
        let bytes = encoded_size::result_len(&result);
        pending_result.complete(result, bytes);
    };
    // A place that is lost says so.
    let _ = cpu_pool::spawn(work).await;
}

/// What a client hears instead of the result. One that was promised structured content refuses a
/// success without it (TypeScript SDK and rmcp), so that it hears of a failure in the same words.
pub(super) fn handle_result(
    tool: &str,
    handle: &ResultHandle,
    requires_structured_content: bool,
) -> ToolResult {
    let text = format!(
        "`{tool}` is still running in the page. Call get_result with {{\"handle\": \"{handle}\"}} \
         to wait for its result."
    );
    let meta = Map::from_iter([(HANDLE_META_KEY.to_owned(), json!(handle.as_str()))]);
    ToolResult::from(BuiltResult {
        is_error: requires_structured_content,
        meta: Some(meta),
        ..BuiltResult::text(text)
    })
}
