//! The Inspector's command line as a client of the table.

use serde_json::{Value, json};

use super::driver::check_step;
use super::{ClientRow, ClientStep, ClientTier, ClientsApp};
use crate::{Era, Inspector, Transport, program_paths};

/// Runs the Inspector against a new page in one era, or in the one that it finds out if `era` is `None`,
/// and checks each step.
pub async fn run_inspector(era: Option<Era>, name: &str) {
    let app = ClientsApp::open(ClientTier::Further).await;
    let inspector = match era {
        Some(era) => Inspector::new(app.bed(), Transport::Http, era),
        None => Inspector::negotiating(app.bed(), Transport::Http),
    };
    let option = match era {
        Some(Era::Initialize) => "legacy",
        Some(Era::Discover) => "modern",
        None => "auto",
    };
    let package = program_paths::package(
        &program_paths::node_modules(),
        "@modelcontextprotocol/inspector",
    );
    let client = format!("{package} --protocol-era {option}");
    let mut row = ClientRow::new(&client, "HTTP", None).in_tier(ClientTier::Further);
    for &step in ClientTier::Further.steps() {
        let line = match step {
            ClientStep::List => json!({ "tools": inspector.tools().await }),
            ClientStep::Picture => picture(&inspector.call("picture", &json!({})).await),
            ClientStep::Wrong => text(&inspector.call("add_note", &json!({})).await),
            _ => text(
                &inspector
                    .call("add_note", &json!({ "text": "buy milk" }))
                    .await,
            ),
        };
        row.set(step, check_step(step, &line, &app, false).await);
    }
    row.finish(name);
}

fn text(result: &Value) -> Value {
    json!({ "text": result["content"][0]["text"] })
}

fn picture(result: &Value) -> Value {
    let block = &result["content"][0];
    let data = block["data"].as_str().unwrap_or_default();
    json!({ "mimeType": block["mimeType"], "bytes": data.len() / 4 * 3 })
}
