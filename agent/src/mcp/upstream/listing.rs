//! Lists the tools of a server, however many it has.

use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::Peer;
use serde_json::{Map, Value};

use crate::mcp::annotations;
use crate::text;
use crate::tools::ToolDefinition;

/// The maximum number of tools of a server.
const MAX_TOOLS: usize = 256;

/// The maximum size of the definitions of a server, in bytes.
const MAX_DEFINITION_BYTES: usize = 1024 * 1024;

/// Returns the definitions of all tools of a server.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Vec<ToolDefinition>, String> {
    let mut definitions = Vec::new();
    let mut bytes = 0;
    let mut cursor = None;
    // A server may answer with an empty page and a cursor for ever.
    for _ in 0..MAX_TOOLS {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(params)).await;
        let page = page.map_err(|error| list_error(&error))?;
        for tool in page.tools {
            let definition = definition(tool);
            bytes += definition.bytes();
            let is_new = !definitions
                .iter()
                .any(|it: &ToolDefinition| it.name == definition.name);
            if is_new && definition.has_valid_name() {
                definitions.push(definition);
            } else {
                let name = text::shorten_name(&definition.name);
                tracing::warn!(
                    ?name,
                    "a tool is off: its name is invalid, or another tool has it"
                );
            }
        }
        if definitions.len() > MAX_TOOLS || bytes > MAX_DEFINITION_BYTES {
            return Err(format!(
                "it lists more than {MAX_TOOLS} tools, or more than {MAX_DEFINITION_BYTES} bytes of \
                 them"
            ));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(definitions);
        }
    }
    Err("its list of tools does not end".to_owned())
}

fn definition(tool: Tool) -> ToolDefinition {
    ToolDefinition {
        description: tool.description.map(Into::into).or(tool.title),
        input_schema: Value::Object(Map::clone(&tool.input_schema)),
        annotations: annotations::hints(tool.annotations.as_ref()),
        name: tool.name.into_owned(),
    }
    .without_invisible_characters()
}

fn list_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => format!("it does not list its tools: {}", error.message),
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => "it has ended".to_owned(),
        _ => "its list of tools is malformed".to_owned(),
    }
}
