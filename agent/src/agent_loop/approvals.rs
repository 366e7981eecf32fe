//! The approval of calls by a person.

use std::time::Duration;

use bridge_protocol::Query;
use tokio::time::timeout;

use super::open_calls::OpenCall;
use super::tool_catalog::{Executor, ToolInfo};
use crate::bridge::ToolEffect;
use crate::config::AskFor;

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

/// Waits for the approval of a call, at most this long.
pub(super) async fn wait_for_approval(call: OpenCall<'_, bool>, expires_in: Duration) -> Approval {
    match timeout(expires_in, call.wait()).await {
        Ok(Some(true)) => Approval::Granted,
        Ok(Some(false)) => Approval::Denied,
        Ok(None) | Err(_) => Approval::Expired,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::agent_loop::open_calls::OpenCalls;
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
    async fn a_person_approves_or_denies_a_call() {
        let approvals = OpenCalls::default();
        for (is_approved, expected) in [(true, Approval::Granted), (false, Approval::Denied)] {
            let call = approvals.open("1");
            assert!(approvals.reply("1", is_approved));
            assert_eq!(wait_for_approval(call, EXPIRES_IN).await, expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_no_approval_and_a_late_reply_is_refused() {
        let approvals = OpenCalls::default();
        let started = Instant::now();
        let approval = wait_for_approval(approvals.open("1"), EXPIRES_IN).await;
        assert_eq!(
            (approval, started.elapsed()),
            (Approval::Expired, EXPIRES_IN)
        );
        assert!(!approvals.reply("1", true));
    }
}
