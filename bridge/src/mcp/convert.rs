//! Between our words and rmcp's model.

use bridge_protocol::{ClientInfo, ConnectedClient};
use rmcp::model::{
    CallToolResult, ContentBlock, Implementation, MetaObject, ProtocolVersion, Tool as McpTool,
};
use serde_json::{Map, Value};

use crate::result::{Content, ToolResult};

/// Whether rmcp's model takes the definition. One it does not take must not spoil the list.
pub(crate) fn check_definition(definition: &Map<String, Value>) -> Result<(), String> {
    tool(definition)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// What the model does not know is left out: see "Losses" in the documentation.
pub(super) fn tool(definition: &Map<String, Value>) -> Result<McpTool, serde_json::Error> {
    serde_json::from_value(Value::Object(definition.clone()))
}

pub(super) fn result(result: ToolResult) -> CallToolResult {
    let content = result
        .content
        .into_iter()
        .map(|content| match content {
            Content::Text(text) => ContentBlock::text(text),
            Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        })
        .collect();
    let mut converted = if result.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    converted.structured_content = result.structured;
    converted.meta = result.meta.map(MetaObject);
    converted
}

/// What a client says of itself goes to every page with every change: so much of each text.
const CLIENT_CHARS: usize = 128;

pub(super) fn client_info(client: Implementation) -> ClientInfo {
    let short = |text: String| text.chars().take(CLIENT_CHARS).collect();
    ClientInfo {
        name: short(client.name),
        version: Some(short(client.version)),
        title: client.title.map(short),
    }
}

pub(super) fn connected_client(
    client: Option<Implementation>,
    protocol_version: Option<ProtocolVersion>,
) -> ConnectedClient {
    let unknown = || ClientInfo {
        name: "unknown client".to_owned(),
        version: None,
        title: None,
    };
    ConnectedClient {
        id: 0,
        info: client.map_or_else(unknown, client_info),
        protocol_version: protocol_version.map_or_else(String::new, |version| version.to_string()),
    }
}
