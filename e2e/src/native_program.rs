//! Programs of the crate `mcp-web-sdk` for tests that need a page which keeps to the protocol.

use mcp_web_sdk::{Builder, Handle, McpWeb, Token, Tool};
use serde_json::Value;

use crate::{BridgeEndpoint, with_deadline};

/// Begins to describe a program of this session.
pub fn native_program(bed: &impl BridgeEndpoint, session: &str) -> Builder {
    McpWeb::builder("Native program")
        .bridge(bed.url())
        .token(Token::new(bed.token()))
        .session_id(session)
}

/// Starts a program with the tool `echo`.
pub async fn echo_program(bed: &impl BridgeEndpoint, session: &str) -> McpWeb {
    let app = native_program(bed, session).build().unwrap();
    let echo = add_echo(&app, "echo");
    connect_program(&app, &[echo]).await;
    app
}

/// Adds a tool that returns its arguments.
pub fn add_echo(app: &McpWeb, name: &str) -> Handle {
    app.add_tool(Tool::new(name), async |input: Value, _| Ok(input))
}

/// Connects a program, and waits until clients can use these tools.
pub async fn connect_program(app: &McpWeb, tools: &[Handle]) {
    with_deadline("the program to connect", app.connect())
        .await
        .unwrap();
    for tool in tools {
        with_deadline("a tool to be registered", tool.registered())
            .await
            .unwrap();
    }
}
