//! Attempts to use up what all clients share: tokens, MCP sessions, unauthenticated sockets.

use tokio::io::AsyncWriteExt;

use super::Attacker;
use super::client::{numbered_token, open_mcp_session, open_stream};

/// The number of tokens, each with a page: as many as the default allows.
const TOKENS: usize = 1_000;

/// The number of MCP sessions: as many as the default allows.
const MCP_SESSIONS: usize = 1_000;

/// The number of their tokens: each token may have 64 MCP sessions.
const MCP_TOKENS: usize = 17;

/// The number of sockets that never send a token: more than the default allows.
const SILENT_SOCKETS: usize = 600;

/// Connects a page with each token.
pub(super) async fn tokens(attacker: &Attacker) {
    let part = |attacker: Attacker, peer| async move {
        let page = attacker.open_page(&numbered_token(peer), "page").await?;
        attacker.count(1);
        if !attacker.is_trial() {
            page.serve("null").await;
        }
        Ok(())
    };
    attacker.repeat(TOKENS, part).await;
}

/// Opens MCP sessions, each with a stream, so that none is idle.
pub(super) async fn mcp_sessions(attacker: &Attacker) {
    let part = |attacker: Attacker, peer| async move {
        let token = numbered_token(peer % MCP_TOKENS);
        let session = open_mcp_session(&attacker, &token).await?;
        let mut stream = attacker.connect().await?;
        let request = open_stream(attacker.address(), &token, &session);
        stream.write_all(request.as_bytes()).await?;
        attacker.count(1);
        attacker.hold(stream).await
    };
    attacker.repeat(MCP_SESSIONS, part).await;
}

/// Opens sockets of pages that never authenticate, and opens them again when they are closed.
pub(super) async fn silent_sockets(attacker: &Attacker) {
    let part = |attacker: Attacker, peer| async move {
        let mut page = attacker
            .open_page_socket(&format!("silent-{peer}"), "")
            .await?;
        attacker.count(1);
        if !attacker.is_trial() {
            while page.recv().await.is_some() {}
        }
        Ok(())
    };
    attacker.repeat(SILENT_SOCKETS, part).await;
}
