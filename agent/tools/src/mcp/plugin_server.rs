//! An MCP server over stdio whose tools are those of one source.
//!
//! [`line_transport`] answers lines that are not messages, and [`open_requests`] bounds the
//! requests that wait for an answer. stdout carries only messages of MCP.

mod line_transport;
mod open_requests;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, ServerInitializeError, serve_server_with_ct};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::annotations;
use crate::{CallOutput, ServedSource, SourceTool};
use line_transport::LineTransport;
use open_requests::OpenRequests;

/// The maximum size of a message of the client, in bytes. A file that is written has at most 1 MiB,
/// which is escaped.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// How long calls may continue after the end of stdin: a script that closes stdin at once still
/// gets quick answers.
const INPUT_END_GRACE: Duration = Duration::from_secs(1);

/// How long the server may take to end, if the client does not read what it is sent.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves a source to the client at the other end of two streams, until the input ends or
/// `stopping` completes. `input_closed` completes when the other end of the input is closed, even
/// if the input has not been read to its end. All calls have ended when this returns.
pub async fn serve_plugin(
    source: ServedSource,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    input_closed: impl Future<Output = ()> + Send + 'static,
    stopping: impl Future<Output = ()>,
) -> Result<(), String> {
    let source = Arc::new(source);
    let server = PluginServer::new(Arc::clone(&source));
    let transport = LineTransport::new(input, output, MAX_MESSAGE_BYTES);
    let input_end = CancellationToken::new();
    let transport = OpenRequests::new(transport, input_closed, input_end.clone());
    let cancellation = CancellationToken::new();
    let serving = async {
        let service = serve_server_with_ct(server, transport, cancellation.clone()).await?;
        // The reason for its end is not reported: no client is left.
        let _ = service.waiting().await;
        Ok(())
    };
    let ending = async {
        tokio::select! {
            () = stopping => {}
            () = async {
                input_end.cancelled().await;
                sleep(INPUT_END_GRACE).await;
            } => {}
        }
        cancellation.cancel();
        sleep(CLOSE_TIMEOUT).await;
    };
    let result = tokio::select! {
        result = serving => result,
        () = ending => Ok(()),
    };
    let _ = timeout(CLOSE_TIMEOUT, source.stop()).await;
    match result {
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => Err(
            "the client does not speak MCP: its first message is not `initialize` or \
             `server/discover`"
                .to_owned(),
        ),
        // The client has gone, or was sent the reason.
        _ => Ok(()),
    }
}

/// The server of a source.
#[derive(Debug)]
struct PluginServer {
    source: Arc<ServedSource>,
}

impl PluginServer {
    fn new(source: Arc<ServedSource>) -> Self {
        Self { source }
    }

    fn find(&self, name: &str) -> Result<SourceTool, ErrorData> {
        let tools = self.source.tools();
        let found = tools.iter().find(|tool| tool.name == name).cloned();
        found.ok_or_else(|| {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let message = format!("there is no such tool: the tools are {}", names.join(", "));
            ErrorData::invalid_params(message, None)
        })
    }
}

impl ServerHandler for PluginServer {
    fn get_info(&self) -> ServerConfig {
        let kind = self.source.kind();
        let version = env!("CARGO_PKG_VERSION");
        let name = Implementation::new(format!("mcp-web-{kind}"), version);
        let name = name.with_title(self.source.name());
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let config = ServerConfig::new(capabilities).with_server_info(name);
        match self.source.instructions() {
            Some(text) => config.with_instructions(text),
            None => config,
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.source.tools();
        let tools = tools.iter().map(mcp_tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.find(&request.name)?;
        let arguments = request.arguments.unwrap_or_default();
        tokio::select! {
            output = self.source.call(&tool, arguments) => Ok(call_result(output).into()),
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the call was cancelled", None))
            }
        }
    }
}

fn mcp_tool(tool: &SourceTool) -> Tool {
    let schema = match tool.arguments.schema() {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    let description = tool.description.clone().map(Into::into);
    Tool::new_with_raw(tool.name.clone(), description, schema)
        .with_annotations(annotations::annotations(tool.class))
}

fn call_result(output: CallOutput) -> CallToolResult {
    let is_error = output.is_error();
    let content = vec![ContentBlock::text(output.text)];
    if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}
