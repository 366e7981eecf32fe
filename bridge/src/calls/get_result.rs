//! The tool `get_result`: waits for a call in the background, reads the rest of a truncated result,
//! or cancels a call.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;

use bridge_protocol::{CallId, ErrorCode};
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::CallOptions;
use super::progress::ProgressReporter;
use crate::budget::WorkOrder;
use crate::calls::background::handle_result;
use crate::calls::delivery_limits::enforce_limit_on_stored;
use crate::calls::truncate::text_part;
use crate::hub::Hub;
use crate::result_store::{ResultHandle, StoredResult};
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::realm::CallFailure;

/// The name of the tool.
pub(super) const GET_RESULT: &str = "get_result";

/// The arguments of the tool.
struct GetResultArguments {
    handle: ResultHandle,
    offset: Option<usize>,
    length: Option<usize>,
    cancel: bool,
}

impl GetResultArguments {
    fn parse(arguments: &Map<String, Value>) -> Result<Self, &'static str> {
        let number = |key| match arguments.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value
                    .as_u64()
                    .and_then(|number| usize::try_from(number).ok());
                number
                    .map(Some)
                    .ok_or("`offset` and `length` must be whole numbers of bytes")
            }
        };
        let handle = arguments.get("handle").and_then(Value::as_str);
        let handle = handle.ok_or("`handle` must be a string: it is in the answer of the call")?;
        let length = number("length")?;
        if length == Some(0) {
            return Err("`length` must be at least 1");
        }
        Ok(Self {
            handle: ResultHandle::from_text(handle),
            offset: number("offset")?,
            length,
            cancel: match arguments.get("cancel") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(cancel)) => *cancel,
                Some(_) => return Err("`cancel` must be true or false"),
            },
        })
    }
}

/// Runs the tool `get_result`.
pub(crate) async fn get_result(
    hub: &Hub,
    caller: &CallOptions<'_>,
    arguments: &Map<String, Value>,
) -> CallToolResult {
    let arguments = match GetResultArguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(why) => return failure_result(ErrorCode::InvalidArguments, why.to_owned()),
    };
    let handle = arguments.handle;
    let found = hub.result_store.find(caller.realm, handle.as_str());
    let Some(stored) = found.filter(|stored| may_read(caller, stored)) else {
        return handle_not_found(hub, &handle);
    };
    if arguments.cancel {
        return cancel_running(hub, caller, stored).await;
    }
    let Some(result) = wait_for_result(hub, caller, stored.clone()).await else {
        return handle_result(&stored.tool, &handle, false);
    };
    if arguments.offset.is_none() && arguments.length.is_none() {
        return enforce_limit_on_stored(hub, caller, result, handle).await;
    }
    let limit = caller.limits.result_limit(None, false);
    let offset = arguments.offset.unwrap_or(0);
    let order = WorkOrder::for_result(caller.realm, &result);
    let work = move || text_part(&result, &handle, offset, arguments.length, limit);
    let part = hub.run_work(order, work).await;
    part.unwrap_or_else(|error| CallToolResult::from_failure(&error.into()))
}

/// Whether the caller may read a result. The agent of a query may read only the results of calls
/// that it made.
fn may_read(caller: &CallOptions<'_>, stored: &StoredResult) -> bool {
    let query = caller.call_context.query_id.as_ref();
    query.is_none_or(|query| stored.is_from_query(query))
}

/// Waits for the result, at most until the timeout of the client.
async fn wait_for_result(
    hub: &Hub,
    caller: &CallOptions<'_>,
    mut stored: StoredResult,
) -> Option<Arc<CallToolResult>> {
    let call = stored.call.clone().unwrap_or_else(|| CallId::from(""));
    let (name, started) = (stored.tool.clone(), stored.started);
    let mut reporter = ProgressReporter::new(hub, caller, &name, started);
    let mut client_timeout = pin!(async {
        match caller.limits.client_timeout {
            Some(client_timeout) => sleep(client_timeout.duration()).await,
            None => pending().await,
        }
    });
    let mut result = pin!(stored.wait());
    loop {
        tokio::select! {
            biased;
            result = &mut result => return Some(result),
            () = &mut client_timeout => return None,
            event = reporter.next_keepalive(&call, false) => {
                if let Some(event) = event {
                    caller.client.notify(event).await;
                }
            }
        }
    }
}

/// Cancels the call if it is still running.
async fn cancel_running(
    hub: &Hub,
    caller: &CallOptions<'_>,
    mut stored: StoredResult,
) -> CallToolResult {
    let tool = stored.tool.clone();
    if let (Some(call), None) = (&stored.call, stored.try_result()) {
        hub.cancel_call(
            caller.realm,
            call,
            "the client cancelled it with get_result",
        );
        let result = stored.wait().await;
        if result.has_error_code(ErrorCode::CallCancelled) {
            return CallToolResult::text(format!("`{tool}` was cancelled."));
        }
    }
    CallToolResult::text(format!(
        "`{tool}` had ended before: call get_result without `cancel` for its result."
    ))
}

fn handle_not_found(hub: &Hub, handle: &ResultHandle) -> CallToolResult {
    let message = not_found_message(hub, handle);
    failure_result(ErrorCode::HandleNotFound, message)
}

/// Explains that nothing is stored under a handle. It is not known what its tool does, so the
/// message does not advise to call it again.
pub(super) fn not_found_message(hub: &Hub, handle: &ResultHandle) -> String {
    let minutes = hub.config.results.result_ttl.as_secs_f32() / 60.0;
    format!(
        "nothing is kept under the handle {:?}: a result is kept for {minutes} min, and makes room \
         earlier when its token has too many of them or too many bytes (`max_kept_results`, \
         `max_kept_bytes`). A call with this handle has run nevertheless: unless its tool only \
         reads, look what has changed before you call it again",
        handle.excerpt()
    )
}

fn failure_result(code: ErrorCode, message: String) -> CallToolResult {
    CallToolResult::from_failure(&CallFailure::new(code, message))
}
