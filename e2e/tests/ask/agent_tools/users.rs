//! Who may use which tools of the agent.

use e2e::TokenIssuer;
use serde_json::json;

use super::{ToolsFolder, calls, finished, start};
use crate::test_bed::{QueryEvents, adding_tool, query};

const STAFF: &str =
    "[profiles.staff]\nallow = ['notes-*']\ngrant = ['read']\nrate = { read = '2/h' }\n";

#[tokio::test]
async fn a_self_made_token_gets_no_tool_of_the_agent() {
    let folder = ToolsFolder::new(STAFF).await;
    let script = calls(&[("notes-read_file", json!({ "path": "notes/plan.md" }))]);
    let bed = start(&folder, script, &[]).await;
    let page = bed.page(vec![adding_tool(1)]).await;
    let events = QueryEvents::run(&page, query("q-1", "Read my notes")).await;
    let finished = finished(&events, "notes-read_file");
    assert_eq!(finished["outcome"], "denied", "{events:?}");
    assert!(!json!(events.0).to_string().contains("Buy milk"));
    let offered = bed.provider.exchanges()[0].body["tools"].to_string();
    assert!(!offered.contains("notes-"), "{offered}");
    let audit = folder.audit(1).await;
    assert_eq!(
        (&audit[0]["outcome"], &audit[0]["source"]),
        (&json!("denied"), &json!("notes"))
    );
}

#[tokio::test]
async fn users_with_signed_tokens_have_their_profile_and_a_rate_each() {
    let folder = ToolsFolder::new(STAFF).await;
    let read = ("notes-read_file", json!({ "path": "notes/plan.md" }));
    let script = calls(&[read.clone(), read.clone(), read]);
    let mut bed = start(&folder, script, &TokenIssuer::bridge_arguments()).await;
    let mut outcomes = Vec::new();
    for (uuid, subject) in [("q-1", "ada"), ("q-2", "bob")] {
        bed.bridge.set_token(TokenIssuer::token_of(subject));
        let page = bed.page(vec![adding_tool(1)]).await;
        let events = QueryEvents::run(&page, query(uuid, "Read my notes")).await;
        let contents = events.0.iter().map(|event| &event["content"]);
        let ends = contents.filter(|content| content["type"] == "tool-finished");
        let mut of_user: Vec<_> = ends.map(|it| it["outcome"].to_string()).collect();
        of_user.sort();
        outcomes.push(of_user);
    }
    let expected = ["\"rate_limited\"", "null", "null"];
    assert_eq!(outcomes, [expected, expected]);
    let audit = folder.audit(6).await;
    let users = ["ada", "bob"].map(|sub| {
        let lines: Vec<_> = audit.iter().filter(|line| line["sub"] == sub).collect();
        assert_eq!(lines.len(), 3, "{audit:?}");
        lines[0]["user"].clone()
    });
    assert_ne!(users[0], users[1]);
}
