//! The lists and the error results in the format of mcp-web 0.1.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_protocol::ErrorCode;
use bridge_realm::realm;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::budget::WorkOrder;
use crate::calls::LEGACY_LIST_SESSIONS;
use crate::compat::visible_pages::{PageEntry, PageSelector, VisiblePages};
use crate::hub::tool_list_work;
use bridge_realm::definition::PublishedItem;
use bridge_realm::definition::tool::{SESSION_ARGUMENT, Tool};

/// The name of the only tool that is listed while no page is connected.
pub(super) const CONNECTION_STATUS: &str = "get_connection_status";

/// Returns the JSON of a listed tool, which is encoded once. `several` is whether the client must
/// choose between several pages.
fn get_or_encode(tool: &Tool, several: bool) -> &str {
    let listings = tool.compat_listings();
    listings.get_or_encode(several, || encode_listing(tool, several))
}

/// Encodes a tool with exactly the keys that the bridge of mcp-web 0.1 published, as the page wrote
/// them.
fn encode_listing(tool: &Tool, several: bool) -> String {
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

/// The result of `tools/list`. It is collected under the realm's lock and written after the lock is
/// released.
#[derive(Debug)]
pub(super) struct ToolList {
    tools: Vec<Arc<Tool>>,
    has_list_sessions: bool,
    /// The pages that the client must choose from; `None` if the request selects one.
    choices: Option<Vec<PageEntry>>,
}

impl ToolList {
    /// Lists the tools of the selected page or, if there are several pages and none is selected,
    /// those of all pages. If several pages have a tool with the same name, the tool of the first
    /// page is listed. Returns `None` if no page is selected and fewer than two are connected.
    pub(super) fn from_pages(pages: VisiblePages<'_>, wanted: &PageSelector) -> Option<Self> {
        // If a page has a tool with the name of the bridge's tool, the page's tool is listed
        // instead.
        let lists_sessions = pages.check_tool_allowed(LEGACY_LIST_SESSIONS).is_ok()
            && !pages.has_tool(LEGACY_LIST_SESSIONS);
        if let Some((_, page)) = pages.selected(wanted) {
            let tools = page.tools();
            let allowed = tools.filter(|tool| pages.check_tool_allowed(tool.name()).is_ok());
            return Some(Self {
                tools: allowed.cloned().collect(),
                has_list_sessions: lists_sessions,
                choices: None,
            });
        }
        if pages.count() < 2 {
            return None;
        }
        let mut names = std::collections::HashSet::new();
        let all = pages.iter().flat_map(|(_, page)| page.tools());
        Some(Self {
            tools: all
                .filter(|tool| names.insert(tool.name()))
                .cloned()
                .collect(),
            has_list_sessions: lists_sessions,
            choices: Some(pages.entries()),
        })
    }

    /// The work of a token to write the list; `None` if that is little.
    pub(super) fn work_order(&self, realm: RealmId) -> Option<WorkOrder> {
        let several = self.choices.is_some();
        tool_list_work(realm, &self.tools, |tool| tool.has_compat_listing(several))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let description = "Lists the pages that are connected, with the tools of each";
        out.extend_from_slice(b"{\"tools\":[");
        if self.has_list_sessions {
            out.extend_from_slice(encode_plain_tool(LEGACY_LIST_SESSIONS, description).as_bytes());
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
pub(super) struct ItemList(Map<String, Value>);

impl ItemList {
    /// Lists the resources of the selected page, and the list of pages as a resource.
    pub(super) fn resources(pages: VisiblePages<'_>, wanted: &PageSelector) -> Option<Self> {
        let sessions = json!({ "uri": bridge_protocol::SESSIONS_URI, "name": "sessions",
            "description": "The pages that are connected", "mimeType": "application/json" });
        Self::from_page(pages, wanted, "resources", vec![sessions], |page| {
            page.resources()
                .map(|listed| resource_entry(listed))
                .collect()
        })
    }

    /// Lists no prompts: this endpoint does not publish any.
    pub(super) fn prompts(pages: VisiblePages<'_>, wanted: &PageSelector) -> Option<Self> {
        Self::from_page(pages, wanted, "prompts", Vec::new(), |_| Vec::new())
    }

    fn from_page(
        pages: VisiblePages<'_>,
        wanted: &PageSelector,
        field: &str,
        mut always: Vec<Value>,
        of_page: impl Fn(&realm::Session) -> Vec<Value>,
    ) -> Option<Self> {
        let page = pages.selected(wanted);
        if page.is_none() && pages.count() < 2 {
            return None;
        }
        if let Some((_, page)) = page {
            always.extend(of_page(page));
        }
        let mut result = Map::from_iter([(field.to_owned(), Value::Array(always))]);
        if page.is_none() {
            result.extend([
                ("isError".to_owned(), json!(true)),
                (
                    "error".to_owned(),
                    json!(ErrorCode::SessionNotSpecified.as_str()),
                ),
                ("error_message".to_owned(), json!(CHOOSE_SESSION_MESSAGE)),
                ("error_is_fatal".to_owned(), json!(false)),
                ("available_sessions".to_owned(), json!(pages.entries())),
            ]);
        }
        Some(Self(result))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_json(&self.0, out);
    }
}

/// The message for a client that has not chosen between several pages.
const CHOOSE_SESSION_MESSAGE: &str = "Several pages are connected: choose one of available_sessions, and name it as \
                      session_id in the arguments or as sessionId in _meta";

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
pub(super) fn empty_list(method: &str) -> Option<String> {
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
pub(super) struct ConnectionStatus {
    connected: bool,
    message: &'static str,
}

/// The connection status while no page is connected.
pub(super) const NOT_CONNECTED: ConnectionStatus = ConnectionStatus {
    connected: false,
    message: "No page is connected with this token: open the app in a browser, and its tools are \
              listed",
};

/// The reason why a call is not forwarded to a page. It is written as the text of a failed result.
#[derive(Debug, Default, Serialize)]
pub(super) struct CallRejection {
    error: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_sessions: Option<Vec<PageEntry>>,
}

impl CallRejection {
    pub(super) fn from_code(code: ErrorCode) -> Self {
        Self {
            error: code.as_str(),
            ..Self::default()
        }
    }

    pub(super) fn invalid_arguments() -> Self {
        Self {
            error_message: Some("arguments must be an object"),
            ..Self::from_code(ErrorCode::InvalidArguments)
        }
    }

    /// The selected page is not connected, or the client did not choose between several pages.
    pub(super) fn unresolved_session(pages: VisiblePages<'_>) -> Self {
        if pages.count() < 2 {
            return Self::from_code(ErrorCode::SessionNotFound);
        }
        Self {
            error_message: Some(CHOOSE_SESSION_MESSAGE),
            available_sessions: Some(pages.entries()),
            ..Self::from_code(ErrorCode::SessionNotSpecified)
        }
    }

    /// The selected page does not have the tool.
    pub(super) fn unknown_tool(pages: VisiblePages<'_>, page: &realm::Session) -> Self {
        Self {
            available_tools: Some(pages.tool_names(page)),
            ..Self::from_code(ErrorCode::ToolNotFound)
        }
    }

    /// The query of the request may call only the `allowed` tools.
    pub(super) fn tool_not_allowed(allowed: Vec<String>) -> Self {
        Self {
            details: Some("The query allows its own tools only: call one of allowed_tools"),
            allowed_tools: Some(allowed),
            ..Self::from_code(ErrorCode::ToolNotAllowed)
        }
    }
}

/// Writes a value as JSON. The values that are passed here can always be encoded.
pub(super) fn write_json(value: &impl Serialize, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}
