//! The check of the schemas that each AI client gets from the bridge.
//!
//! The bridge repairs what clients refuse, or refuses it itself, unless it has another version, or the
//! operator's profile of a client turns that off. So the list is requested under the name of each client.

use bridge_schema::root_unions::{is_argument_name, without_root_unions};
use client_install::Client;
use client_stdio::ToolRoutes;
use serde::Deserialize;
use serde_json::Value;

use super::finding::Finding;

/// The names of clients in `clientInfo` that are not their names on the command line.
const CLIENT_NAMES: [(&str, &str); 3] = [
    ("claude-desktop", "claude-ai"),
    ("codex", "codex-mcp-client"),
    ("gemini-cli", "gemini-cli-mcp-client"),
];

/// Clients that rewrite alternatives at the root of a schema themselves.
const REWRITES_ROOT_UNIONS: [&str; 1] = ["claude-code"];

/// The tools that a client gets.
#[derive(Deserialize)]
struct ClientToolList {
    tools: Vec<ToolSchema>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolSchema {
    name: String,
    #[serde(default)]
    input_schema: Value,
}

/// Checks the schemas for one client.
pub(super) async fn check(client: &Client, routes: &ToolRoutes) -> Vec<Finding> {
    let subject = format!("schemas for {}", client.name);
    let name = CLIENT_NAMES.iter().find(|(id, _)| *id == client.id);
    let name = name.map_or(client.id, |(_, name)| *name);
    let json = match routes.list_as(name).await {
        Ok(json) => json,
        Err(error) => {
            let remedy = "then run `mcp-web doctor` again";
            return vec![Finding::problem(subject, error.to_string(), remedy)];
        }
    };
    let list: ClientToolList = match serde_json::from_str(&json) {
        Ok(list) => list,
        Err(error) => {
            let text = format!("the list of tools has an unknown form ({error})");
            let remedy = "use a bridge and a program of the same version";
            return vec![Finding::problem(subject, text, remedy)];
        }
    };
    let refused = list.tools.iter().filter_map(|tool| {
        let (reason, remedy) = refusal(client.id, &tool.input_schema)?;
        let text = format!("it refuses the tool `{}`: {reason}", tool.name);
        Some(Finding::problem(&subject, text, remedy))
    });
    let refused: Vec<_> = refused.collect();
    if refused.is_empty() {
        let text = format!("it accepts those of all {} tools", list.tools.len());
        return vec![Finding::ok(subject, text)];
    }
    refused
}

/// Returns why a client refuses an input schema, and what to do.
fn refusal(client: &str, schema: &Value) -> Option<(String, &'static str)> {
    let properties = schema["properties"].as_object();
    let mut names = properties.into_iter().flat_map(|it| it.keys());
    if let Some(name) = names.find(|name| !is_argument_name(name)) {
        let reason = format!("its model service refuses the name of the argument {name:?}");
        return Some((reason, "rename the argument in the page"));
    }
    if !REWRITES_ROOT_UNIONS.contains(&client) && without_root_unions(schema).is_some() {
        let reason =
            "its model service refuses oneOf, anyOf, allOf, not and enum at the root of a schema";
        let remedy = "remove `root_unions` from the profile of this client in the configuration of the \
                      bridge, or the alternatives from the schema";
        return Some((reason.to_owned(), remedy));
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_bridge_repairs_is_recognized_where_it_does_not() {
        let union = json!({ "type": "object", "oneOf": [{ "required": ["a"] }] });
        assert!(refusal("codex", &union).is_some());
        assert!(refusal("claude-code", &union).is_none());
        let name = json!({ "type": "object", "properties": { "größe": {} } });
        assert!(refusal("claude-code", &name).is_some());
        let plain = json!({ "type": "object", "properties": { "a": { "oneOf": [{}] } } });
        for schema in [plain, json!({}), json!(null)] {
            assert_eq!(refusal("codex", &schema), None);
        }
    }
}
