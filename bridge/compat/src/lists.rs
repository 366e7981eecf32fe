//! The lists in the format of mcp-web 0.1.

use std::sync::Arc;

use bridge_protocol::ErrorCode;
use bridge_realm::definition::PublishedItem;
use bridge_realm::definition::tool::{SESSION_ARGUMENT, SharedTool};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::call_rejection::CHOOSE_SESSION_MESSAGE;
use crate::json_text::write_json;
use crate::page_entry::ListedPage;

/// The name of `list_active_sessions` in mcp-web 0.1.
pub const LIST_SESSIONS: &str = "list_sessions";

/// The name of the only tool that is listed while no page is connected.
pub const CONNECTION_STATUS: &str = "get_connection_status";

/// Returns the JSON of a listed tool, which is encoded once. `several` is whether the client must
/// choose between several pages.
fn get_or_encode(tool: &SharedTool, several: bool) -> &str {
    let listings = tool.listing_cache();
    listings.get_or_encode(several, || encode_listing(tool, several))
}

/// Encodes a tool with exactly the keys that the bridge of mcp-web 0.1 published, as the page wrote
/// them.
fn encode_listing(tool: &SharedTool, several: bool) -> String {
    let definition: Map<String, Value> = serde_json::from_str(tool.raw()).unwrap_or_default();
    let schema = definition.get("inputSchema");
    let schema_field = |key: &str| schema.and_then(|schema| schema.get(key));
    let mut properties = Map::from_iter([(
        SESSION_ARGUMENT.to_owned(),
        session_argument_schema(several),
    )]);
    if let Some(Value::Object(own)) = schema_field("properties") {
        properties.extend(own.clone());
    }
    let mut required = match schema_field("required") {
        Some(Value::Array(required)) => required.clone(),
        _ => Vec::new(),
    };
    if several {
        required.retain(|key| key != SESSION_ARGUMENT);
        required.insert(0, json!(SESSION_ARGUMENT));
    }
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let mut entry = Map::from_iter([("name".to_owned(), json!(tool.name()))]);
    let mut insert = |key: &str, value: Option<&Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            entry.insert(key.to_owned(), value.clone());
        }
    };
    insert("description", definition.get("description"));
    insert("inputSchema", Some(&schema));
    insert("_meta", definition.get("_meta"));
    Value::Object(entry).to_string()
}

fn session_argument_schema(several: bool) -> Value {
    let description = if several {
        "Which page to use: the session_id of one of those that list_sessions shows"
    } else {
        "Which page to use (optional while only one is connected)"
    };
    json!({ "type": "string", "description": description })
}

fn encode_plain_tool(name: &str, description: &str) -> String {
    let schema = json!({ "type": "object", "properties": {}, "required": [] });
    json!({ "name": name, "description": description, "inputSchema": schema }).to_string()
}

/// The result of `tools/list`.
#[derive(Debug)]
pub struct ToolList {
    pub tools: Vec<Arc<SharedTool>>,
    /// Whether the bridge's own tool [`LIST_SESSIONS`] is listed.
    pub has_list_sessions: bool,
    /// The pages that the client must choose from; `None` if the request selects one.
    pub choices: Option<Vec<ListedPage>>,
}

impl ToolList {
    pub fn write(&self, out: &mut Vec<u8>) {
        let description = "Lists the pages that are connected, with the tools of each";
        out.extend_from_slice(b"{\"tools\":[");
        if self.has_list_sessions {
            out.extend_from_slice(encode_plain_tool(LIST_SESSIONS, description).as_bytes());
        }
        for (index, tool) in self.tools.iter().enumerate() {
            if index > 0 || self.has_list_sessions {
                out.push(b',');
            }
            out.extend_from_slice(get_or_encode(tool, self.choices.is_some()).as_bytes());
        }
        out.push(b']');
        if let Some(choice) = &self.choices {
            let meta = json!({ "available_sessions": choice });
            out.extend_from_slice(format!(",\"_meta\":{meta}").as_bytes());
        }
        out.push(b'}');
    }
}

/// The result of `resources/list` or `prompts/list`.
#[derive(Debug)]
pub struct ItemList(Map<String, Value>);

impl ItemList {
    /// Lists resources of pages, and the list of pages as a resource. `choices` are the pages that
    /// the client must choose from; `None` if the request selects one.
    pub fn resources<'a>(
        resources: impl Iterator<Item = &'a Arc<PublishedItem>>,
        choices: Option<Vec<ListedPage>>,
    ) -> Self {
        let sessions = json!({ "uri": bridge_protocol::SESSIONS_URI, "name": "sessions",
            "description": "The pages that are connected", "mimeType": "application/json" });
        let resources = resources.map(|resource| resource_entry(resource));
        let entries = std::iter::once(sessions).chain(resources).collect();
        Self::new("resources", entries, choices)
    }

    /// Lists no prompts: this endpoint does not publish any.
    pub fn prompts(choices: Option<Vec<ListedPage>>) -> Self {
        Self::new("prompts", Vec::new(), choices)
    }

    fn new(field: &str, entries: Vec<Value>, choices: Option<Vec<ListedPage>>) -> Self {
        let mut result = Map::from_iter([(field.to_owned(), Value::Array(entries))]);
        if let Some(choices) = choices {
            result.extend([
                ("isError".to_owned(), json!(true)),
                (
                    "error".to_owned(),
                    json!(ErrorCode::SessionNotSpecified.as_str()),
                ),
                ("error_message".to_owned(), json!(CHOOSE_SESSION_MESSAGE)),
                ("error_is_fatal".to_owned(), json!(false)),
                ("available_sessions".to_owned(), json!(choices)),
            ]);
        }
        Self(result)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        write_json(&self.0, out);
    }
}

fn resource_entry(item: &PublishedItem) -> Value {
    let mut entry = Map::from_iter([("uri".to_owned(), json!(item.name))]);
    for key in ["name", "description"] {
        if let Some(value) = item.published.get(key).filter(|value| value.is_string()) {
            entry.insert(key.to_owned(), value.clone());
        }
    }
    let mime_type = item.published.get("mimeType").cloned();
    let mime_type = mime_type.unwrap_or_else(|| json!("text/html"));
    entry.insert("mimeType".to_owned(), mime_type);
    Value::Object(entry)
}

/// The JSON result of a list method while no page is connected; `None` for other methods.
pub fn empty_list(method: &str) -> Option<String> {
    let status = "Says whether a page is connected. Its tools are listed as soon as one is";
    match method {
        "tools/list" => {
            let tool = encode_plain_tool(CONNECTION_STATUS, status);
            Some(format!("{{\"tools\":[{tool}]}}"))
        }
        "resources/list" => {
            let resource = json!({ "uri": bridge_protocol::STATUS_URI, "name": "connection-status",
                "description": status, "mimeType": "application/json" });
            Some(json!({ "resources": [resource] }).to_string())
        }
        "prompts/list" => Some(json!({ "prompts": [] }).to_string()),
        _ => None,
    }
}

/// The connection status that a client receives while no page is connected.
#[derive(Debug, Serialize)]
pub struct ConnectionStatus {
    connected: bool,
    message: &'static str,
}

/// The connection status while no page is connected.
pub const NOT_CONNECTED: ConnectionStatus = ConnectionStatus {
    connected: false,
    message: "No page is connected with this token: open the app in a browser, and its tools are \
              listed",
};
