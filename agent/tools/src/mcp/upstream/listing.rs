//! Lists the tools of a server, however many it has.

use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool,
};
use rmcp::service::Peer;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Map, Value};

use crate::ServerTool;
use crate::mcp::annotations;

/// The maximum number of tools of a server.
const MAX_TOOLS: usize = 256;

/// The maximum size of the definitions of a server, in bytes.
const MAX_DEFINITION_BYTES: usize = 1024 * 1024;

/// The tools that a server lists.
#[derive(Debug, Default)]
pub struct Listed {
    /// The tools that can be used.
    pub tools: Vec<ServerTool>,
    /// The tools that are off, because their definitions are invalid in MCP. The others are used.
    pub unusable: Vec<UnusableTool>,
}

/// A tool whose definition is invalid in MCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableTool {
    /// The name, or the place in the list of one that has none.
    pub name: String,
    /// The problem, as the rest of a sentence about the tool.
    pub problem: &'static str,
}

/// A page of the list: its tools, or what a malformed one has in its place.
struct Page {
    tools: Vec<Result<Tool, UnusableTool>>,
    next_cursor: Option<String>,
}

/// Returns the definitions of all tools of a server.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Listed, String> {
    let mut listed = Listed::default();
    let mut bytes = 0;
    let mut cursor = None;
    // A server may answer with an empty page and a cursor for ever.
    for _ in 0..MAX_TOOLS {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = list_page(peer, params).await?;
        for tool in page.tools {
            match tool {
                Ok(tool) => {
                    let definition = definition(tool);
                    bytes += definition.bytes();
                    listed.add(definition);
                }
                Err(unusable) => listed.unusable.push(unusable),
            }
        }
        let count = listed.tools.len() + listed.unusable.len();
        if count > MAX_TOOLS || bytes > MAX_DEFINITION_BYTES {
            return Err(format!(
                "it lists more than {MAX_TOOLS} tools, or more than {MAX_DEFINITION_BYTES} bytes of \
                 them"
            ));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(listed);
        }
    }
    Err("its list of tools does not end".to_owned())
}

impl Listed {
    fn add(&mut self, definition: ServerTool) {
        let problem = if !definition.has_valid_name() {
            "its name is empty, too long, or has invisible characters"
        } else if self.tools.iter().any(|it| it.name == definition.name) {
            "another tool has its name"
        } else {
            self.tools.push(definition);
            return;
        };
        self.unusable.push(UnusableTool {
            name: definition.name,
            problem,
        });
    }
}

async fn list_page(
    peer: &Peer<RoleClient>,
    params: PaginatedRequestParams,
) -> Result<Page, String> {
    match peer.list_tools(Some(params.clone())).await {
        Ok(page) => Ok(Page {
            tools: page.tools.into_iter().map(Ok).collect(),
            next_cursor: page.next_cursor,
        }),
        Err(ServiceError::UnexpectedResponse) => list_page_by_parts(peer, params).await,
        Err(error) => Err(list_error(&error)),
    }
}

/// Lists a page of which a tool is malformed: rmcp reads a page as a whole only.
async fn list_page_by_parts(
    peer: &Peer<RoleClient>,
    params: PaginatedRequestParams,
) -> Result<Page, String> {
    let request = ClientRequest::ListToolsRequest(ListToolsRequest {
        method: Default::default(),
        params: Some(params),
        extensions: Default::default(),
    });
    let result = peer.send_request(request).await;
    match result.map_err(|error| list_error(&error))? {
        ServerResult::ListToolsResult(page) => Ok(Page {
            tools: page.tools.into_iter().map(Ok).collect(),
            next_cursor: page.next_cursor,
        }),
        ServerResult::CustomResult(CustomResult(page)) => parse_page(page),
        _ => Err(malformed_list()),
    }
}

fn parse_page(mut page: Value) -> Result<Page, String> {
    let Some(Value::Array(tools)) = page.get_mut("tools").map(Value::take) else {
        return Err(malformed_list());
    };
    let parse = |(index, tool): (usize, Value)| {
        let name = tool["name"].as_str();
        let name = name.map_or_else(|| format!("#{}", index + 1), str::to_owned);
        let problem = match &tool["inputSchema"] {
            Value::Object(_) => "its definition is not one of MCP",
            _ => "its `inputSchema` is not an object",
        };
        serde_json::from_value(tool).map_err(|_| UnusableTool { name, problem })
    };
    Ok(Page {
        tools: tools.into_iter().enumerate().map(parse).collect(),
        next_cursor: page["nextCursor"].as_str().map(str::to_owned),
    })
}

fn definition(tool: Tool) -> ServerTool {
    ServerTool {
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
        _ => malformed_list(),
    }
}

fn malformed_list() -> String {
    "its list of tools is malformed".to_owned()
}
