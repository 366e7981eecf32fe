//! Attackers that send or read little: they hold what the bridge has of sockets, sessions and memory.

use std::future::pending;
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::time::sleep; // sleep: the pace of the attacker

use super::attacker::{Attacker, SOURCE, TOKEN};
use crate::caller::Conversation;
use crate::clients::WITHOUT_CAPABILITIES;
use crate::connection::{Connection, connect_from};
use crate::page::Page;

/// The number of sockets that never send a token: more than the default allows.
const SILENT_SOCKETS: usize = 600;

/// The number of slow requests: more than one address may have connections.
const SLOW_REQUESTS: usize = 1_100;

/// The time between two bytes of a slow request.
const BYTE_INTERVAL: Duration = Duration::from_secs(1);

/// The length of the body that a slow request announces: just below `max_request_bytes`.
const ANNOUNCED_BYTES: usize = 4_000_000;

/// The number of results that are not read, and their length: just below `max_result_bytes`.
const UNREAD_RESULTS: usize = 64;
const RESULT_BYTES: usize = 9_000_000;

/// The number of MCP sessions, as many as the default allows, and of their tokens: each may have 64.
const MCP_SESSIONS: usize = 1_000;
const MCP_TOKENS: usize = 17;

/// Opens sockets of pages that never authenticate, and opens them again when they are closed.
pub(super) async fn silent_sockets(attacker: &Attacker) {
    let part = |attacker: Attacker, peer| async move {
        let target = format!("/ws?session=silent-{peer}");
        let mut page = Page::connect(SOURCE, attacker.address, &target).await?;
        attacker.count(1);
        while page.recv().await.is_some() {}
        Ok(())
    };
    attacker.repeat(SILENT_SOCKETS, part).await;
}

/// Sends requests a byte at a time: every second one only its head, the others their whole head at
/// once and then the body.
pub(super) async fn slow_requests(attacker: &Attacker) {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: {ANNOUNCED_BYTES}\r\n\r\n",
        attacker.address
    );
    let part = move |attacker: Attacker, peer: usize| {
        let head = head.clone();
        async move {
            let mut socket = connect_from(SOURCE, attacker.address).await?;
            let at_once = if peer.is_multiple_of(2) {
                0
            } else {
                head.len()
            };
            socket.write_all(&head.as_bytes()[..at_once]).await?;
            attacker.count(1);
            for byte in head.bytes().skip(at_once).chain(std::iter::repeat(b' ')) {
                socket.write_all(&[byte]).await?;
                sleep(BYTE_INTERVAL).await; // sleep: the pace of the attacker
            }
            Ok(())
        }
    };
    attacker.repeat(SLOW_REQUESTS, part).await;
}

/// Requests large results and reads only the status of each.
pub(super) async fn unread_results(attacker: &Attacker) {
    let result = format!("\"{}\"", "x".repeat(RESULT_BYTES));
    let Ok(_page) = attacker.open_page(&result).await else {
        return;
    };
    let part = |attacker: Attacker, _| async move { leave_unread(&attacker).await };
    attacker.repeat(UNREAD_RESULTS, part).await;
}

async fn leave_unread(attacker: &Attacker) -> Result<()> {
    let body = r#"{"toolName":"any","toolInput":{}}"#;
    let request = format!(
        "POST /tool-call HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        attacker.address,
        body.len()
    );
    let socket = TcpSocket::new_v4()?;
    // The system stores little of what is not read.
    socket.set_recv_buffer_size(1)?;
    socket.bind((SOURCE, 0).into())?;
    let mut socket = socket.connect(attacker.address).await?;
    socket.write_all(request.as_bytes()).await?;
    let mut status = [0; 12];
    socket.read_exact(&mut status).await?;
    ensure!(status.ends_with(b" 200"), "the bridge refuses");
    attacker.count(1);
    pending().await
}

/// Opens MCP sessions, each with a stream, so that none is idle.
pub(super) async fn mcp_sessions(attacker: &Attacker) {
    let part = |attacker: Attacker, peer| async move {
        let number = peer % MCP_TOKENS;
        let token = format!("token-of-the-attacker-{number:06}-0123456789abcdef");
        let endpoint = attacker.endpoint(&token);
        let mut connection = Connection::open(&endpoint).await?;
        let client = &WITHOUT_CAPABILITIES;
        let _session = Conversation::open(client, &mut connection, &endpoint, true).await?;
        attacker.count(1);
        pending().await
    };
    attacker.repeat(MCP_SESSIONS, part).await;
}
