//! Lists and uses everything that a server offers.

use serde_json::{Map, Value, json};

use crate::answers;
use crate::peer::Peer;

/// Lists and calls all tools: with the arguments that the scenario prescribes, or with arguments
/// that match their schemas.
pub(crate) async fn use_tools(peer: &mut Peer, context: &Value) {
    let tools = list(peer, "tools/list", "tools").await;
    if let Some(calls) = context["toolCalls"].as_array() {
        for call in calls {
            call_tool(peer, &call["name"], &call["arguments"]).await;
        }
        return;
    }
    for tool in &tools {
        let schema = &tool["inputSchema"];
        let arguments = match schema["properties"].get("schema") {
            // The scenario about JSON Schema requires the schema that the client received.
            Some(_) => json!({ "schema": json_schema_tool(&tools) }),
            None => answers::arguments_for(schema),
        };
        call_tool(peer, &tool["name"], &arguments).await;
    }
}

/// Returns the input schema of the tool that the scenario about JSON Schema tests.
fn json_schema_tool(tools: &[Value]) -> &Value {
    let tool = tools
        .iter()
        .find(|tool| tool["inputSchema"].get("$defs").is_some());
    &tool.expect("a tool with definitions")["inputSchema"]
}

/// Calls a tool, and calls it again as long as it requires input (2026-07-28).
async fn call_tool(peer: &mut Peer, name: &Value, arguments: &Value) {
    let mut params = json!({ "name": name, "arguments": arguments });
    loop {
        let answer = peer.request("tools/call", params).await;
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            return;
        }
        let requests = result["inputRequests"].as_object().into_iter().flatten();
        let responses: Map<String, Value> = requests
            .filter_map(|(key, request)| Some((key.clone(), answers::respond_to(request)?)))
            .collect();
        params = json!({ "name": name, "arguments": arguments, "inputResponses": responses });
        if let Some(state) = result.get("requestState") {
            params["requestState"] = state.clone();
        }
    }
}

/// Lists and reads the resources, and lists the templates.
pub(crate) async fn use_resources(peer: &mut Peer, capabilities: &Value) {
    if capabilities.get("resources").is_none() {
        return;
    }
    for resource in list(peer, "resources/list", "resources").await {
        let params = json!({ "uri": resource["uri"] });
        peer.request("resources/read", params).await;
    }
    list(peer, "resources/templates/list", "resourceTemplates").await;
}

/// Lists and gets all prompts.
pub(crate) async fn use_prompts(peer: &mut Peer, capabilities: &Value) {
    if capabilities.get("prompts").is_none() {
        return;
    }
    for prompt in list(peer, "prompts/list", "prompts").await {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let names = arguments.filter_map(|argument| argument["name"].as_str());
        let arguments: Map<String, Value> =
            names.map(|name| (name.to_owned(), json!("text"))).collect();
        let params = json!({ "name": prompt["name"], "arguments": arguments });
        peer.request("prompts/get", params).await;
    }
}

/// Lists the skills (an extension) without loading them.
pub(crate) async fn list_skills(peer: &mut Peer, capabilities: &Value) {
    if capabilities["extensions"]
        .get("io.modelcontextprotocol/skills")
        .is_some()
    {
        list(peer, "skills/list", "skills").await;
    }
}

async fn list(peer: &mut Peer, method: &str, key: &str) -> Vec<Value> {
    let answer = peer.request(method, json!({})).await;
    let items = answer["result"][key].as_array();
    items.cloned().unwrap_or_default()
}
