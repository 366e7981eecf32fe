//! The settings of a client that every new bridge must receive: the log level and the subscribed
//! resources (up to version 2025-11-25; later a `subscriptions/listen` carries both). No I/O.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize;

use crate::message::JsonRpcRequest;

/// The successful requests of the client that are replayed at each new bridge.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    log_level: Option<JsonRpcRequest>,
    /// The `resources/subscribe` requests by URI.
    subscriptions: IndexMap<Arc<str>, JsonRpcRequest>,
}

impl SessionState {
    /// Records a request of the client that was answered with success.
    pub(crate) fn record(&mut self, request: &JsonRpcRequest) {
        #[derive(Deserialize)]
        struct Params {
            uri: String,
        }
        let uri = || request.params().map(|params: Params| Arc::from(params.uri));
        match &*request.method {
            "logging/setLevel" => self.log_level = Some(request.clone()),
            "resources/subscribe" => {
                if let Some(uri) = uri() {
                    self.subscriptions.insert(uri, request.clone());
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = uri() {
                    self.subscriptions.shift_remove(&uri);
                }
            }
            _ => {}
        }
    }

    /// Returns the requests for a new bridge, with ids of our own.
    pub(crate) fn replay_requests(&self) -> Vec<JsonRpcRequest> {
        let requests = self.log_level.iter().chain(self.subscriptions.values());
        requests
            .enumerate()
            .filter_map(|(number, request)| {
                request.with_id(&format!("mcp-web-stdio/again/{number}"))
            })
            .collect()
    }

    /// Returns the URIs of the subscribed resources.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &str> {
        self.subscriptions.keys().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, uri: &str) -> JsonRpcRequest {
        JsonRpcRequest::new("1", method, &format!(r#"{{"uri":"{uri}","x":1.50}}"#))
    }

    #[test]
    fn session_state_is_replayed_verbatim() {
        let mut state = SessionState::default();
        state.record(&JsonRpcRequest::new("1", "tools/list", "{}"));
        assert!(state.replay_requests().is_empty());
        state.record(&request("resources/subscribe", "a://b"));
        state.record(&request("resources/subscribe", "c://d"));
        state.record(&request("resources/unsubscribe", "a://b"));
        for level in ["debug", "error"] {
            let params = format!(r#"{{"level":"{level}"}}"#);
            state.record(&JsonRpcRequest::new("2", "logging/setLevel", &params));
        }
        let texts: Vec<_> = state
            .replay_requests()
            .into_iter()
            .map(|request| request.text)
            .collect();
        let expected = [
            r#"{"jsonrpc":"2.0","id":"mcp-web-stdio/again/0","method":"logging/setLevel","params":{"level":"error"}}"#,
            r#"{"jsonrpc":"2.0","id":"mcp-web-stdio/again/1","method":"resources/subscribe","params":{"uri":"c://d","x":1.50}}"#,
        ];
        assert_eq!(
            texts.iter().map(|text| &**text).collect::<Vec<&str>>(),
            expected
        );
        assert_eq!(state.resources().collect::<Vec<_>>(), ["c://d"]);
    }
}
