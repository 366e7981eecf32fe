//! What the client asked for once and wants of every bridge: the level of log messages and the
//! resources it follows (up to 2025-11-25; later a `subscriptions/listen` carries both). No I/O.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize;

use crate::message::Request;

/// Requests to be repeated at each new bridge.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    log_level: Option<Request>,
    resources: IndexMap<Arc<str>, Request>,
}

#[derive(Deserialize)]
struct Uri {
    uri: String,
}

impl SessionState {
    /// A request of the client was answered with success.
    pub(crate) fn record(&mut self, request: &Request) {
        let uri = || request.params().map(|params: Uri| Arc::from(params.uri));
        match &*request.method {
            "logging/setLevel" => self.log_level = Some(request.clone()),
            "resources/subscribe" => {
                if let Some(uri) = uri() {
                    self.resources.insert(uri, request.clone());
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = uri() {
                    self.resources.shift_remove(&uri);
                }
            }
            _ => {}
        }
    }

    /// What a new bridge is to be asked, under ids of our own.
    pub(crate) fn replay_requests(&self) -> Vec<Request> {
        let all = self.log_level.iter().chain(self.resources.values());
        let again = all.enumerate();
        again
            .filter_map(|(number, request)| {
                request.with_id(&format!("mcp-web-stdio/again/{number}"))
            })
            .collect()
    }

    /// The resources that the client follows.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &str> {
        self.resources.keys().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, uri: &str) -> Request {
        Request::new("1", method, &format!(r#"{{"uri":"{uri}","x":1.50}}"#))
    }

    #[test]
    fn session_state_is_replayed_verbatim() {
        let mut standing = SessionState::default();
        standing.record(&Request::new("1", "tools/list", "{}"));
        assert!(standing.replay_requests().is_empty());
        standing.record(&request("resources/subscribe", "a://b"));
        standing.record(&request("resources/subscribe", "c://d"));
        standing.record(&request("resources/unsubscribe", "a://b"));
        for level in ["debug", "error"] {
            let params = format!(r#"{{"level":"{level}"}}"#);
            standing.record(&Request::new("2", "logging/setLevel", &params));
        }
        let texts: Vec<_> = standing
            .replay_requests()
            .into_iter()
            .map(|again| again.text)
            .collect();
        let expected = [
            r#"{"jsonrpc":"2.0","id":"mcp-web-stdio/again/0","method":"logging/setLevel","params":{"level":"error"}}"#,
            r#"{"jsonrpc":"2.0","id":"mcp-web-stdio/again/1","method":"resources/subscribe","params":{"uri":"c://d","x":1.50}}"#,
        ];
        assert_eq!(
            texts.iter().map(|text| &**text).collect::<Vec<&str>>(),
            expected
        );
        assert_eq!(standing.resources().collect::<Vec<_>>(), ["c://d"]);
    }
}
