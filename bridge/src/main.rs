//! `mcp-web-bridge`: the bridge as a program.

use std::process::ExitCode;

use bridge::{MountedApp, ProgramSettings};
use clap::Parser;

/// jemalloc returns the memory that a burst of requests has used to the system within 15 s, also if
/// nothing happens afterwards. glibc keeps all of it, and so does mimalloc until other allocations
/// make it look. It also makes calls cheaper than glibc, and idle pages no larger than 2 %. The
/// figures are in `docs/benchmarks.md`.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// MCP server whose tools live in web pages.
///
/// Pages connect to ws://ADDR/ws with the SDK at /sdk/mcp-web.js, AI clients to http://ADDR/mcp
/// with the page's token as bearer. Plain HTTP: POST /tool-call, GET /sessions, /tools, /healthz,
/// /readyz.
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
    bridge::run(settings, MountedApp::default(), listening).await
}
