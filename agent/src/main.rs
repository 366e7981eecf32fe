//! `mcp-web-agent`: the agent as a program.

use std::process::ExitCode;

/// The allocator of the bridge, for the same reason: see `bridge/src/main.rs`.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> ExitCode {
    agent::run().await
}
