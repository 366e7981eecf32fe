//! The AI client that the conformance suite's client scenarios run: `conformance-client PROGRAM URL`
//! starts `PROGRAM` (`mcp-web-stdio`) with the URL of the suite's server and does over its stdio
//! what a client would do there: list everything, use everything that is listed.
//!
//! The suite names the protocol version and, for some scenarios, calls to make in the environment.
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
    exercise::resources(&mut peer, &capabilities).await;
    exercise::use_prompts(&mut peer, &capabilities).await;
    exercise::list_skills(&mut peer, &capabilities).await;
    peer.close().await;
}
