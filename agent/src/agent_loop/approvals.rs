//! Calls that wait for the approval of a person.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bridge_protocol::Query;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::tool_catalog::{Executor, ToolInfo};
use crate::bridge::ToolEffect;
use crate::config::AskFor;

/// The calls of one query that wait for the approval of a person.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    /// By the id of the call.
    waiting: Mutex<HashMap<String, oneshot::Sender<bool>>>,
}

/// Returns whether a person must approve the calls of a tool.
pub(super) fn must_be_approved(tool: &ToolInfo, query: &Query, ask: &[AskFor]) -> bool {
    if tool.executor != Executor::Page {
        return false;
    }
    let by_page = query.approve.iter().flatten();
    let class = tool.class;
    let by_operator = |kind: &AskFor| match kind {
        AskFor::Write => class.effect != ToolEffect::Read,
        AskFor::Destructive => class.effect == ToolEffect::Destructive,
        AskFor::OpenWorld => class.is_open_world,
    };
    ask.iter().any(by_operator)
        || by_page
            .into_iter()
            .any(|name| *name == tool.registered_name)
}

/// The answer of a person, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    Granted,
    Denied,
    /// Nobody has answered in time.
    Expired,
}

impl Approvals {
    /// Opens a request for the approval of a call. It is closed when the request is dropped.
    pub(super) fn open(&self, id: &str) -> ApprovalRequest<'_> {
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id.to_owned(), sender);
        ApprovalRequest {
            approvals: self,
            id: id.to_owned(),
            answer,
        }
    }

    /// Answers the request for a call. Returns whether there was one.
    pub(crate) fn answer(&self, id: &str, is_approved: bool) -> bool {
        let sender = self.waiting().remove(id);
        sender.is_some_and(|sender| sender.send(is_approved).is_ok())
    }

    /// Locks the table. A poisoned lock is used anyway, because no code panics while it holds the
    /// lock.
    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<bool>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request for the approval of a call.
#[derive(Debug)]
pub(super) struct ApprovalRequest<'a> {
    approvals: &'a Approvals,
    id: String,
    answer: oneshot::Receiver<bool>,
}

impl ApprovalRequest<'_> {
    /// Waits for the answer, at most this long.
    pub(super) async fn wait(mut self, expires_in: Duration) -> Approval {
        match timeout(expires_in, &mut self.answer).await {
            Ok(Ok(true)) => Approval::Granted,
            Ok(Ok(false)) => Approval::Denied,
            Ok(Err(_)) | Err(_) => Approval::Expired,
        }
    }
}

impl Drop for ApprovalRequest<'_> {
    fn drop(&mut self) {
        self.approvals.waiting().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::bridge::ToolClass;

    const EXPIRES_IN: Duration = Duration::from_secs(60);

    #[test]
    fn the_operator_asks_for_kinds_of_tools_and_the_page_for_names() {
        let tool = |effect, is_open_world| ToolInfo {
            registered_name: "add".to_owned(),
            own_timeout: None,
            class: ToolClass {
                effect,
                is_open_world,
            },
            executor: Executor::Page,
        };
        let silent = Query::new("q", "p");
        let naming = Query {
            approve: Some(vec!["other".to_owned(), "add".to_owned()]),
            ..Query::new("q", "p")
        };
        use {AskFor::*, ToolEffect as Is};
        for (effect, is_open_world, asked) in [
            (Is::Read, false, &[][..]),
            (Is::Read, true, &[OpenWorld]),
            (Is::Write, false, &[Write]),
            (Is::Destructive, false, &[Write, Destructive]),
            (Is::Destructive, true, &[Write, Destructive, OpenWorld]),
        ] {
            let tool = tool(effect, is_open_world);
            assert!(!must_be_approved(&tool, &silent, &[]));
            assert!(must_be_approved(&tool, &naming, &[]));
            for kind in [Write, Destructive, OpenWorld] {
                let expected = asked.contains(&kind);
                assert_eq!(
                    must_be_approved(&tool, &silent, &[kind]),
                    expected,
                    "{tool:?}"
                );
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_answered_once() {
        let approvals = Approvals::default();
        for (is_approved, expected) in [(true, Approval::Granted), (false, Approval::Denied)] {
            let request = approvals.open("1");
            assert!(!approvals.answer("2", true), "another call");
            assert!(approvals.answer("1", is_approved));
            assert!(!approvals.answer("1", true), "it is answered");
            assert_eq!(request.wait(EXPIRES_IN).await, expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_no_approval_and_a_late_answer_is_refused() {
        let approvals = Approvals::default();
        let started = Instant::now();
        let approval = approvals.open("1").wait(EXPIRES_IN).await;
        assert_eq!(
            (approval, started.elapsed()),
            (Approval::Expired, EXPIRES_IN)
        );
        assert!(!approvals.answer("1", true));
        drop(approvals.open("2"));
        assert!(!approvals.answer("2", true), "the call was cancelled");
    }
}
