//! The approval of calls by a person.

use std::collections::BTreeSet;
use std::time::Duration;

use agent_tools::{Approval, AskFor, text};
use bridge_protocol::Query;
use tokio::time::timeout;

use super::open_calls::OpenCall;
use super::tool_catalog::{ToolCatalog, ToolInfo};

/// The number of unknown names that a note has. The others are counted.
const MAX_NAMES_IN_NOTE: usize = 5;

/// Returns whether a person must approve the calls of a tool. The page may name it as it has registered
/// it, or as the model calls it (`offered_name`).
pub(super) fn must_be_approved(
    offered_name: &str,
    tool: &ToolInfo,
    query: &Query,
    ask: &[AskFor],
) -> bool {
    let by_page = query.approve.iter().flatten();
    tool.class.must_be_approved(ask)
        || by_page
            .into_iter()
            .any(|name| *name == tool.registered_name || name == offered_name)
}

/// Returns a note for the page if its `approve` has names that no tool has. That is not an
/// error: the page may register the tools later.
pub(super) fn unknown_names_note(query: &Query, catalog: &ToolCatalog) -> Option<String> {
    let names = query.approve.iter().flatten().map(String::as_str);
    let is_unknown = |name: &&str| !catalog.has_named_tool(name);
    let unknown: BTreeSet<&str> = names.filter(is_unknown).collect();
    let shown = unknown.iter().take(MAX_NAMES_IN_NOTE);
    let shown = shown.map(|name| format!("`{}`", text::shorten_name(name)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = match unknown.len() {
        0 => return None,
        1..=MAX_NAMES_IN_NOTE => String::new(),
        count => format!(" and {} more", count - MAX_NAMES_IN_NOTE),
    };
    Some(format!(
        "`approve` names tools that this query does not have: {shown}{more}"
    ))
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
    use crate::agent_loop::tool_catalog::Executor;
    use crate::bridge::AllowedTool;
    use crate::model::ModelTool;
    use agent_tools::{ToolClass, ToolEffect};

    const EXPIRES_IN: Duration = Duration::from_secs(60);

    #[test]
    fn the_operator_asks_for_kinds_of_tools_and_the_page_for_names() {
        let tool = |effect, is_open_world| ToolInfo {
            registered_name: "add".to_owned(),
            call_name: "add_1".to_owned(),
            offered: None,
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
        let naming_as_offered = Query {
            approve: Some(vec!["add_1".to_owned()]),
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
            assert!(!must_be_approved("add_1", &tool, &silent, &[]));
            assert!(must_be_approved("add_1", &tool, &naming, &[]));
            assert!(must_be_approved("add_1", &tool, &naming_as_offered, &[]));
            for kind in [Write, Destructive, OpenWorld] {
                let expected = asked.contains(&kind);
                assert_eq!(
                    must_be_approved("add_1", &tool, &silent, &[kind]),
                    expected,
                    "{tool:?}"
                );
            }
        }
    }

    #[test]
    fn names_in_approve_that_no_tool_of_the_page_has_are_noted() {
        let catalog = ToolCatalog::new(
            &[],
            Default::default(),
            vec![AllowedTool {
                registered_name: "add card".to_owned(),
                own_timeout: None,
                class: ToolClass {
                    effect: ToolEffect::Write,
                    is_open_world: false,
                },
                tool: ModelTool {
                    name: "add_card".to_owned(),
                    description: None,
                    input_schema: serde_json::json!({ "type": "object" }),
                },
            }],
        );
        let note = |names: Vec<String>| {
            let query = Query {
                approve: Some(names),
                ..Query::new("q", "p")
            };
            unknown_names_note(&query, &catalog)
        };
        assert_eq!(unknown_names_note(&Query::new("q", "p"), &catalog), None);
        assert_eq!(
            note(vec!["add card".to_owned(), "add_card".to_owned()]),
            None
        );
        let expected = "`approve` names tools that this query does not have: `ad_card`";
        let misspelled = ["add_card", "ad_card", "ad_card"].map(str::to_owned);
        assert_eq!(note(misspelled.into()).as_deref(), Some(expected));
        let many = (0..9).map(|number| format!("{number}{}", "x".repeat(100)));
        let note = note(many.collect()).unwrap();
        assert!(note.ends_with(" and 4 more"), "{note}");
        assert!(note.len() < 500, "{note}");
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
    async fn silence_is_not_an_approval_and_a_late_reply_is_refused() {
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
