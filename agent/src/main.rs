//! `mcp-web-agent`: the agent as a program.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    agent::run().await
}
