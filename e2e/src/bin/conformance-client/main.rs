//! The AI client that the client scenarios of the conformance suite run. `conformance-client
//! PROGRAM URL` starts `PROGRAM` (`mcp-web-stdio`) with the URL of the suite's server, and uses it
//! over stdio like a client: it lists everything, and uses everything that is listed.
//!
//! The suite passes the protocol version and, for some scenarios, the calls to make in environment
//! variables.
#![allow(clippy::print_stderr, clippy::print_stdout)]
#![allow(clippy::unwrap_used)] // A failed step fails the scenario.

mod answers;
mod exercise;
mod peer;

use std::env;

use peer::Peer;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = env::args_os().skip(1);
    let program = arguments.next().expect("the path of mcp-web-stdio");
    let url = arguments.next().expect("the URL of the suite's server");
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION");
    let version = version.as_deref().unwrap_or("2025-11-25");
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();

    let mut peer = Peer::start(&program, &url, version);
    let capabilities = peer.handshake().await;
    exercise::use_tools(&mut peer, &context).await;
    exercise::use_resources(&mut peer, &capabilities).await;
    exercise::use_prompts(&mut peer, &capabilities).await;
    exercise::list_skills(&mut peer, &capabilities).await;
    peer.close().await;
}
