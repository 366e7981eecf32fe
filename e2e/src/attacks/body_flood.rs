//! Bodies of requests: those that do not come, and many long ones.

use std::sync::Arc;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;

use super::Attacker;
use super::client::{TOKEN, head, mcp_call, tool_call};

/// The number of requests whose bodies do not come.
const OPEN_BODIES: usize = 1_100;

/// The length of the body that they announce, which is just below `max_request_bytes`.
const ANNOUNCED_BYTES: usize = 4_000_000;

/// The number of long bodies.
const LONG_BODIES: usize = 300;

/// The length of a text in the arguments of a call.
const LONG_TEXT_BYTES: usize = 3_900_000;

pub(super) async fn open_without_token(attacker: &Attacker) {
    open_bodies(attacker, "PUT /query/x/complete", None).await;
}

pub(super) async fn open_with_token(attacker: &Attacker) {
    open_bodies(attacker, "POST /mcp", Some(TOKEN)).await;
}

/// A bridge with `--compat` reads bodies without a token, because clients of mcp-web 0.1 are told
/// in the answer that it is missing.
pub(super) async fn open_compat(attacker: &Attacker) {
    open_bodies(attacker, "POST /", None).await;
}

async fn open_bodies(attacker: &Attacker, request: &str, token: Option<&str>) {
    let head = head(attacker.address(), request, token, "", ANNOUNCED_BYTES);
    let bytes = head.into_bytes();
    let part = move |attacker: Attacker, _| {
        let bytes = [&bytes[..], b"{"].concat();
        async move {
            let mut socket = attacker.connect().await?;
            socket.write_all(&bytes).await?;
            attacker.count(1);
            attacker.hold(socket).await
        }
    };
    attacker.repeat(OPEN_BODIES, part).await;
}

/// Sends all bodies but for their last byte, and then the last bytes at once. Half of them go to
/// `/tool-call`, and half to `/mcp`.
pub(super) async fn long_bodies(attacker: &Attacker) {
    let text = "x".repeat(if attacker.is_trial() {
        1_000
    } else {
        LONG_TEXT_BYTES
    });
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    let address = attacker.address();
    let requests = Arc::new([
        tool_call(address, TOKEN, "unknown", &arguments),
        mcp_call(address, TOKEN, "unknown", &arguments, "attacker"),
    ]);
    let barrier = Arc::new(Barrier::new(attacker.peers(LONG_BODIES)));
    let part = move |attacker: Attacker, peer: usize| {
        let (requests, barrier) = (Arc::clone(&requests), Arc::clone(&barrier));
        async move {
            let request = &requests[peer % requests.len()];
            let (start, last) = request.split_at(request.len() - 1);
            // A peer that is refused lets the others go on.
            let begun = send_start(&attacker, start).await;
            barrier.wait().await;
            let mut socket = begun?;
            socket.write_all(last).await?;
            socket.read_u8().await?;
            attacker.count(1);
            Ok(())
        }
    };
    attacker.repeat(LONG_BODIES, part).await;
}

async fn send_start(attacker: &Attacker, start: &[u8]) -> Result<TcpStream> {
    let mut socket = attacker.connect().await?;
    socket.write_all(start).await?;
    Ok(socket)
}
