//! The restart of a bridge, of which a client that has its lists notices only the time that it takes.
//! No I/O and no clock.
//!
//! A bridge that restarts is back within a second or two, and its pages are back a moment later. A
//! client that lists tools in between would lose those of all pages. So for a short time the lists
//! are answered as the bridge answered them before, other lists wait, and the client is not notified.
//! All of it ends when the bridge lists all tools that it listed before, or when the bridge or its
//! pages take too long.
//!
//! All other requests are sent at once, with [a header](bridge_protocol::RECONNECTED_HEADER) that makes
//! a bridge that has just started wait for the page that each of them needs: the page that it selects,
//! or else the first that has the tool, the prompt or the resource. Only the bridge knows its pages: a
//! list of tools does not show which of several pages with one tool are back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use crate::connect_error::BridgeError;
use crate::message::{self, JsonRpcMessage, JsonRpcRequest};
use crate::request_id::RequestId;
use crate::shared_text::SharedText;

/// How long a bridge that was lost may take to return. It also delays the failure of a request after
/// a bridge has stopped for good.
const RETURN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the pages of a bridge that has returned may take to register. The SDK connects again
/// within two seconds, unless the bridge was away for long.
const PAGES_TIMEOUT: Duration = Duration::from_secs(3);

/// How often the tools of a bridge that has returned are listed. Its notifications do not arrive
/// before the client has subscribed to them, which not all do.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);

/// The id of our own request for the list of tools.
const TOOL_LIST_ID: &str = "mcp-web-stdio/restart";

const TOOL_LIST: &str = "tools/list";

/// The state of a restart, if there is one, and the lists of the last bridge.
#[derive(Debug, Default)]
pub(crate) struct BridgeRestart {
    /// The last answered request for each list, by method.
    lists: HashMap<Arc<str>, AnsweredList>,
    phase: Option<RestartPhase>,
}

#[derive(Debug)]
struct AnsweredList {
    request: JsonRpcRequest,
    answer: SharedText,
}

/// The progress of a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RestartPhase {
    /// No bridge has returned. `error` is the reason for which the last attempt to connect failed.
    AwaitsBridge { until: Instant, error: BridgeError },
    /// The bridge is back, and its pages may not be.
    AwaitsPages {
        until: Instant,
        /// When the tools are listed again; `None` until the last request for them is answered.
        next_probe: Option<Instant>,
        /// The names of the tools that the bridge listed before.
        before: HashSet<String>,
    },
}

/// The step of a restart that is due.
#[derive(Debug)]
pub(crate) enum DueStep {
    /// The request for the list of tools must be sent.
    Probe(JsonRpcRequest),
    /// The bridge or its pages have taken too long.
    End,
}

impl RestartPhase {
    fn until(&self) -> Instant {
        match self {
            Self::AwaitsBridge { until, .. } | Self::AwaitsPages { until, .. } => *until,
        }
    }

    fn next_step_at(&self) -> Instant {
        let until = self.until();
        match self {
            Self::AwaitsPages {
                next_probe: Some(probe),
                ..
            } => until.min(*probe),
            _ => until,
        }
    }
}

impl BridgeRestart {
    /// Records the answer to a request for the first page of a list.
    pub(crate) fn record(&mut self, request: &JsonRpcRequest, answer: &SharedText) {
        if request.is_list() && is_for_first_page(request) {
            let list = AnsweredList {
                request: request.clone(),
                answer: answer.clone(),
            };
            self.lists.insert(request.method.clone(), list);
        }
    }

    /// The bridge was lost. If it is lost again before its pages were back, the time does not begin
    /// anew.
    pub(crate) fn bridge_lost(&mut self, now: Instant) {
        let until = self
            .phase
            .as_ref()
            .map_or(now + RETURN_TIMEOUT, RestartPhase::until);
        self.phase = Some(RestartPhase::AwaitsBridge {
            until,
            error: BridgeError::Unreachable,
        });
    }

    /// An attempt to connect failed. Returns whether the bridge may still return in time.
    pub(crate) fn connect_failed(&mut self, failure: &BridgeError) -> bool {
        match &mut self.phase {
            Some(RestartPhase::AwaitsBridge { error, .. }) if failure.may_be_restart() => {
                error.clone_from(failure);
                true
            }
            _ => false,
        }
    }

    /// A bridge is online. Returns the request for the list of tools that shows whether its pages
    /// are back. If the client has never listed tools, the restart is over.
    pub(crate) fn bridge_returned(&mut self, now: Instant) -> Option<JsonRpcRequest> {
        self.phase.take()?;
        let list = self.lists.get(TOOL_LIST)?;
        self.phase = Some(RestartPhase::AwaitsPages {
            until: now + PAGES_TIMEOUT,
            next_probe: None,
            before: tool_names(&list.answer).unwrap_or_default(),
        });
        Some(self.probe())
    }

    /// Returns whether a message answers our own request for the list of tools.
    pub(crate) fn is_own_answer(id: &RequestId) -> bool {
        *id == RequestId::from_json(&TOOL_LIST_ID.into())
    }

    /// Our own request for the list of tools was answered. Returns whether all tools are back, in any
    /// order.
    pub(crate) fn tools_listed(&mut self, answer: &str, now: Instant) -> bool {
        let Some(RestartPhase::AwaitsPages {
            next_probe, before, ..
        }) = &mut self.phase
        else {
            return false;
        };
        *next_probe = Some(now + PROBE_INTERVAL);
        tool_names(answer).is_some_and(|listed| before.is_subset(&listed))
    }

    /// Ends the restart and returns how far it had come.
    pub(crate) fn end(&mut self) -> Option<RestartPhase> {
        self.phase.take()
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.phase.is_some()
    }

    pub(crate) fn awaits_pages(&self) -> bool {
        matches!(self.phase, Some(RestartPhase::AwaitsPages { .. }))
    }

    /// Waits until a step is due. This method is cancel safe.
    pub(crate) async fn step_due(&self) {
        match &self.phase {
            Some(phase) => tokio::time::sleep_until(phase.next_step_at()).await,
            None => std::future::pending().await,
        }
    }

    /// Returns the step that is due.
    pub(crate) fn next_step(&mut self, now: Instant) -> DueStep {
        match &mut self.phase {
            Some(RestartPhase::AwaitsPages {
                until, next_probe, ..
            }) if now < *until => {
                *next_probe = None;
                DueStep::Probe(self.probe())
            }
            _ => DueStep::End,
        }
    }

    /// Returns the request for the list of tools, as the client sent it.
    fn probe(&self) -> JsonRpcRequest {
        let list = self.lists.get(TOOL_LIST);
        let probe = list.and_then(|list| list.request.with_id(TOOL_LIST_ID));
        probe.unwrap_or_else(|| JsonRpcRequest::new(TOOL_LIST_ID, TOOL_LIST, "{}"))
    }

    /// Returns whether a request may be sent to the bridge now. Its lists are not used until the end
    /// of the restart.
    pub(crate) fn may_send(&self, request: &JsonRpcRequest) -> bool {
        !self.is_under_way() || !request.is_list()
    }

    /// Returns whether a request is answered as before the restart.
    pub(crate) fn answers(&self, request: &JsonRpcRequest) -> bool {
        self.is_under_way()
            && self.lists.contains_key(&request.method)
            && is_for_first_page(request)
    }

    /// Answers a request for a list as the bridge answered it before the restart.
    pub(crate) fn answer(&self, request: &JsonRpcRequest) -> Option<JsonRpcMessage> {
        let list = self.lists.get(&request.method);
        let list = list.filter(|_| self.answers(request))?;
        let result = message::parse_result(&list.answer)?;
        Some(message::success_response(&request.id, &result))
    }
}

/// Returns the names of the tools in a list.
fn tool_names(answer: &str) -> Option<HashSet<String>> {
    #[derive(Deserialize)]
    struct ToolList {
        tools: Vec<NamedTool>,
    }
    #[derive(Deserialize)]
    struct NamedTool {
        name: String,
    }
    let result = message::parse_result(answer)?;
    let list: ToolList = serde_json::from_str(result.get()).ok()?;
    Some(list.tools.into_iter().map(|tool| tool.name).collect())
}

/// Returns whether a request for a list has no cursor.
fn is_for_first_page(request: &JsonRpcRequest) -> bool {
    #[derive(Deserialize)]
    struct Params {
        cursor: Option<serde::de::IgnoredAny>,
    }
    let params: Option<Params> = request.params();
    params.is_none_or(|params| params.cursor.is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(id: &str) -> JsonRpcRequest {
        JsonRpcRequest::new(id, TOOL_LIST, r#"{"_meta":{"a":1}}"#)
    }

    fn answer(tools: &str) -> SharedText {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":{tools}}}}}"#).into()
    }

    fn tools(names: &[&str]) -> SharedText {
        let tools: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        answer(&json!(tools).to_string())
    }

    fn request(method: &str) -> JsonRpcRequest {
        JsonRpcRequest::new("2", method, "{}")
    }

    fn listed() -> BridgeRestart {
        let mut restart = BridgeRestart::default();
        restart.record(&list("1"), &tools(&["a"]));
        restart
    }

    #[test]
    fn lists_are_answered_or_wait_until_the_same_tools_are_back() {
        let now = Instant::now();
        let mut restart = listed();
        let prompts = request("prompts/list");
        assert!(restart.answer(&list("4")).is_none() && restart.may_send(&prompts));
        restart.bridge_lost(now);
        assert!(restart.connect_failed(&BridgeError::Unreachable));
        let held = restart.answer(&list("4")).unwrap();
        assert_eq!(
            &**held.text(),
            r#"{"jsonrpc":"2.0","id":"4","result":{"tools":[{"name":"a"}]}}"#
        );
        let second_page = JsonRpcRequest::new("5", TOOL_LIST, r#"{"cursor":"2"}"#);
        assert!(restart.answer(&second_page).is_none() && restart.answer(&prompts).is_none());
        assert!(!restart.may_send(&second_page) && !restart.may_send(&prompts));
        let probe = restart.bridge_returned(now).unwrap();
        assert!(BridgeRestart::is_own_answer(&probe.id) && probe.text.contains(r#""a":1"#));
        assert!(!restart.may_send(&prompts));
        for method in ["tools/call", "prompts/get", "resources/subscribe"] {
            assert!(restart.may_send(&request(method)), "the bridge waits");
        }
        assert!(!restart.tools_listed(&tools(&[]), now));
        assert!(restart.tools_listed(&tools(&["a"]), now));
        restart.end();
        assert!(restart.may_send(&prompts) && restart.answer(&list("4")).is_none());
        assert!(!restart.tools_listed(&tools(&["a"]), now));
    }

    #[test]
    fn the_restart_is_over_when_all_tools_are_back_in_any_order() {
        for (now_listed, is_over) in [
            (tools(&["b", "a"]), true),
            (tools(&["new", "b", "a"]), true),
            // An app that was closed before stays away.
            (tools(&["a"]), false),
            (tools(&[]), false),
            (answer("1"), false),
            ("{}".to_owned().into(), false),
        ] {
            let mut restart = BridgeRestart::default();
            restart.record(&list("1"), &tools(&["a", "b"]));
            restart.bridge_lost(Instant::now());
            restart.bridge_returned(Instant::now());
            let is_all = restart.tools_listed(&now_listed, Instant::now());
            assert_eq!(is_all, is_over, "{now_listed:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_tools_are_listed_again_after_each_answer_until_the_time_is_over() {
        let mut restart = listed();
        let started = Instant::now();
        restart.bridge_lost(started);
        restart.bridge_returned(started);
        let mut probes = 0;
        loop {
            restart.tools_listed(&tools(&[]), Instant::now());
            restart.step_due().await;
            match restart.next_step(Instant::now()) {
                DueStep::Probe(probe) => assert!(BridgeRestart::is_own_answer(&probe.id)),
                DueStep::End => break,
            }
            probes += 1;
        }
        assert_eq!(probes, 11);
        assert_eq!(started.elapsed(), PAGES_TIMEOUT);
        restart.end();
        let started = Instant::now();
        restart.bridge_lost(started);
        restart.bridge_returned(started);
        restart.step_due().await;
        // A request that has no answer is not repeated.
        assert_eq!(started.elapsed(), PAGES_TIMEOUT);
        assert!(matches!(restart.next_step(Instant::now()), DueStep::End));
    }

    #[test]
    fn a_bridge_that_is_lost_again_gets_no_more_time() {
        let now = Instant::now();
        let mut restart = listed();
        restart.bridge_lost(now);
        restart.bridge_returned(now);
        let until = now + PAGES_TIMEOUT;
        assert_eq!(restart.phase.as_ref().map(RestartPhase::until), Some(until));
        restart.bridge_lost(now + PAGES_TIMEOUT / 2);
        assert_eq!(restart.phase.as_ref().map(RestartPhase::until), Some(until));
    }

    #[test]
    fn only_some_failures_are_those_of_a_restart() {
        let refused = |status| BridgeError::Refused {
            status,
            message: None,
        };
        for (error, expected) in [
            (BridgeError::Unreachable, true),
            (BridgeError::ConnectionLost, true),
            (refused(503), true),
            (refused(403), false),
            (BridgeError::TokenRefused, false),
            (BridgeError::not_mcp(), false),
        ] {
            let mut restart = listed();
            assert!(!restart.connect_failed(&error), "no bridge was lost");
            restart.bridge_lost(Instant::now());
            assert_eq!(restart.connect_failed(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn without_a_list_the_restart_is_over_when_the_bridge_is_back() {
        let mut restart = BridgeRestart::default();
        restart.bridge_lost(Instant::now());
        assert!(restart.bridge_returned(Instant::now()).is_none());
        assert!(!restart.is_under_way());
    }
}
