//! `mcp-web-bridge`: the bridge as a program.

use std::process::ExitCode;

use bridge::{App, ProgramSettings};
use clap::Parser;

/// MCP server whose tools live in web pages.
///
/// Pages connect to ws://ADDR/ws with the SDK at /sdk/mcp-web.js, AI clients to http://ADDR/mcp
/// with the page's token as bearer. Plain HTTP: POST /tool-call, GET /sessions, /tools, /healthz.
#[derive(Parser)]
#[command(name = "mcp-web-bridge", version)]
struct Arguments {
    #[command(flatten)]
    settings: ProgramSettings,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { settings } = bridge::parse_arguments(|it: &mut Arguments| &mut it.settings);
    let listening = |server: &bridge::ServerHandle| format!("listening on {}", server.url());
    bridge::run(settings, App::default(), listening).await
}
