//! The bridge's own resources: the connected pages, for clients that read resources instead of
//! calling tools, and the stored results.

use bridge_mcp_results::encoded_size::{self, ENVELOPE_BYTES};
use bridge_mcp_results::request_error::RequestError;
use std::sync::LazyLock;

use bridge_protocol::{BUILTIN_RESOURCES, SESSIONS_URI};
use bridge_realm::definition::reserved::RESULT_URI_PREFIX;
use serde_json::{Map, Value, json};

use crate::budget::WorkOrder;
use crate::calls::builtin_tools;
use crate::calls::get_result;
use crate::calls::{self, CallOptions};
use crate::hub::Hub;
use crate::result_store::ResultHandle;

/// The definitions of the built-in resources, in the order of the list.
pub(crate) static DEFINITIONS: LazyLock<Vec<Map<String, Value>>> =
    LazyLock::new(|| serde_json::from_str(BUILTIN_RESOURCES).unwrap_or_default());

/// Reads a built-in resource. Returns an MCP `ReadResourceResult` within the limits of the caller.
pub(crate) async fn read(
    hub: &Hub,
    caller: &CallOptions<'_>,
    uri: &str,
) -> Result<Map<String, Value>, RequestError> {
    let realm = caller.realm;
    if let Some(handle) = uri.strip_prefix(RESULT_URI_PREFIX) {
        return read_stored_result(hub, caller, uri, &ResultHandle::from_text(handle)).await;
    }
    calls::wait_for_any_page(hub, realm, caller.pages_awaited_until).await;
    let text = if uri == SESSIONS_URI {
        let sessions = hub.with_realm(realm, |realm| realm.session_summaries());
        json!(sessions.unwrap_or_default()).to_string()
    } else {
        builtin_tools::connection_status(hub, realm).to_string()
    };
    let content = json!({ "uri": uri, "mimeType": "application/json", "text": text });
    let contents = contents_object(vec![content]);
    calls::enforce_contents_limit(hub, caller, uri, contents, None).await
}

/// Reads a result that was too large for its client or took longer than the client waited.
async fn read_stored_result(
    hub: &Hub,
    caller: &CallOptions<'_>,
    uri: &str,
    handle: &ResultHandle,
) -> Result<Map<String, Value>, RequestError> {
    let not_there = |why: &str| RequestError::ResourceNotFound {
        uri: uri.to_owned(),
        why: why.to_owned(),
    };
    let Some(stored) = hub.result_store.find(caller.realm, handle.as_str()) else {
        return Err(not_there(&get_result::not_found_message(hub, handle)));
    };
    let Some(result) = stored.try_result() else {
        return Err(not_there(
            "the call is still running: wait for it with the tool get_result",
        ));
    };
    let result_uri = uri.to_owned();
    let order = WorkOrder::for_result(caller.realm, &result);
    let max_bytes = caller.limits.max_bytes;
    let work = move || {
        let fit = |contents: &[Value]| {
            let bytes = encoded_size::encoded_len(&contents) + 2 * ENVELOPE_BYTES;
            max_bytes.is_none_or(|max| bytes <= max)
        };
        contents_object(result.to_resource_contents(&result_uri, fit))
    };
    let contents = hub.run_work(order, work).await;
    let contents = contents.map_err(|error| RequestError::Failed(error.into()))?;
    calls::enforce_contents_limit(hub, caller, uri, contents, Some(handle.clone())).await
}

fn contents_object(contents: Vec<Value>) -> Map<String, Value> {
    Map::from_iter([("contents".to_owned(), Value::Array(contents))])
}

#[cfg(test)]
mod tests {
    use bridge_protocol::STATUS_URI;
    use bridge_realm::definition::reserved::is_builtin_resource;

    use super::*;

    #[test]
    fn builtin_resources_are_listed_and_recognized() {
        let uris: Vec<_> = DEFINITIONS
            .iter()
            .map(|resource| resource["uri"].as_str().unwrap())
            .collect();
        assert_eq!(uris, [SESSIONS_URI, STATUS_URI]);
        assert!(uris.iter().all(|uri| is_builtin_resource(uri)));
        assert!(!is_builtin_resource("board://cards"));
    }
}
