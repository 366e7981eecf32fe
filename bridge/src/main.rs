//! `mcp-web-bridge`: the bridge as a program.

use std::process::ExitCode;

use bridge::{AdminArguments, MountedApp, ProgramSettings};
use clap::{Parser, Subcommand};

/// jemalloc returns the memory that a burst of requests has used to the system within 15 s, also if
/// nothing happens afterwards. glibc keeps all of it, and so does mimalloc until other allocations
/// make it look: 60 s after 300 simultaneous requests of 3.9 MB, a bridge holds 18 MB with jemalloc,
/// 137 MB or more with mimalloc and 885 MB with glibc. A call takes 5 % fewer instructions than with
/// glibc, or 20 % with schemas, and an idle page at most 2 % more memory.
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

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Administer the running bridge that has `admin_socket` set: list users, pages, clients and calls,
    /// end them, and deny access. Not on Windows.
    Admin(AdminArguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { settings, command } =
        bridge::parse_arguments(|it: &mut Arguments| &mut it.settings);
    if let Some(Command::Admin(arguments)) = command {
        return bridge::administer(settings, arguments).await;
    }
    let listening = |server: &bridge::ServerHandle| format!("listening on {}", server.url());
    bridge::run(settings, MountedApp::default(), listening).await
}
