//! The bridge's own resources: who is connected, for clients that read rather than call, and
//! results that are kept.

use std::sync::LazyLock;

use bridge_protocol::{OWN_RESOURCES, SESSIONS_URI, STATUS_URI};
use serde_json::{Map, Value, json};

use crate::calls::{self, CallError, Caller};
use crate::hub::Hub;
use crate::kept::Handle;
use crate::{meta_tools, off_thread};

/// Their definitions, in the order of the list.
pub(crate) static DEFINITIONS: LazyLock<Vec<Map<String, Value>>> =
    LazyLock::new(|| serde_json::from_str(OWN_RESOURCES).unwrap_or_default());

/// What the URI of a kept result begins with. Its handle follows. They are not listed.
const RESULTS: &str = "mcp-web://results/";

/// The URI of a kept result.
pub(crate) fn result_uri(handle: &Handle) -> String {
    format!("{RESULTS}{handle}")
}

/// Whether the URI belongs to one of them.
pub(crate) fn is_one(uri: &str) -> bool {
    [SESSIONS_URI, STATUS_URI].contains(&uri) || uri.starts_with(RESULTS)
}

/// The content of one of them: an MCP `ReadResourceResult`, as large as the caller takes.
pub(crate) async fn read(
    hub: &Hub,
    caller: &Caller<'_>,
    uri: &str,
) -> Result<Map<String, Value>, CallError> {
    let realm = caller.realm;
    if let Some(handle) = uri.strip_prefix(RESULTS) {
        return kept_result(hub, caller, uri, &Handle::of(handle)).await;
    }
    let text = if uri == SESSIONS_URI {
        let sessions = hub.read(realm, |realm| realm.sessions());
        json!(sessions.unwrap_or_default()).to_string()
    } else {
        meta_tools::connection_status(hub, realm).to_string()
    };
    let content = json!({ "uri": uri, "mimeType": "application/json", "text": text });
    let read = contents_of(vec![content]);
    calls::contents(hub, (realm, caller.takes), uri, read, None).await
}

/// A result that was too large for its client, or came too late.
async fn kept_result(
    hub: &Hub,
    caller: &Caller<'_>,
    uri: &str,
    handle: &Handle,
) -> Result<Map<String, Value>, CallError> {
    let not_there = |why: &str| CallError::ResourceNotFound {
        uri: uri.to_owned(),
        why: why.to_owned(),
    };
    let Some(record) = hub.kept.find(caller.realm, handle.as_str()) else {
        return Err(not_there(
            "nothing is kept under this handle any more: call the tool again",
        ));
    };
    let Some(result) = record.ended() else {
        return Err(not_there(
            "the call is still running: wait for it with the tool get_result",
        ));
    };
    let of_uri = uri.to_owned();
    let read = off_thread::run(move || contents_of(result.as_contents(&of_uri))).await;
    let read = read.ok_or_else(|| not_there("the bridge failed to read it"))?;
    let client = (caller.realm, caller.takes);
    calls::contents(hub, client, uri, read, Some(handle.clone())).await
}

fn contents_of(contents: Vec<Value>) -> Map<String, Value> {
    Map::from_iter([("contents".to_owned(), Value::Array(contents))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_and_their_uris_are_known() {
        let uris: Vec<_> = DEFINITIONS
            .iter()
            .map(|resource| resource["uri"].as_str().unwrap())
            .collect();
        assert_eq!(uris, [SESSIONS_URI, STATUS_URI]);
        assert!(uris.iter().all(|uri| is_one(uri)));
        assert!(!is_one("board://cards"));
    }
}
