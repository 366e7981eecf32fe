//! Apps with many definitions that are closed, so that the bridge goes on listing them.

use serde_json::{Value, json};

use super::Attacker;
use super::client::{numbered_token, registration, tool};

/// The number of pages that connect at the same time, each with a token of its own.
const PAGES: usize = 64;

/// The number of tools of an app, and the length of each description.
const TOOLS: usize = 100;
const DESCRIPTION_BYTES: usize = 9_000;

/// Connects a page with 900 kB of definitions, of another app each time, and closes it.
pub(super) async fn closed_apps(attacker: &Attacker) {
    let tools = registration((0..TOOLS).map(described_tool));
    let part = move |attacker: Attacker, peer| {
        let tools = tools.clone();
        async move {
            for number in 0.. {
                let session = format!("page-{peer}-{number}");
                let mut page = attacker.open_page_socket(&session, "").await?;
                let (token, app) = (numbered_token(peer), format!("app-{number}"));
                page.authenticate(&token, &session, &app).await?;
                page.try_register(&tools.replace("APP", &session)).await?;
                page.close().await;
                attacker.count(1);
                if attacker.is_trial() {
                    break;
                }
            }
            Ok(())
        }
    };
    attacker.repeat(PAGES, part).await;
}

fn described_tool(number: usize) -> Value {
    let mut tool = tool(&format!("tool_{number}"), &json!({ "type": "object" }));
    tool["description"] = json!(format!("APP {}", "x".repeat(DESCRIPTION_BYTES)));
    tool
}
