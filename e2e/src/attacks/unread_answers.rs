//! Results, answers and streams that nobody reads.

use std::future::pending;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Attacker;
use super::client::{
    Answer, OwnPage, TOKEN, mcp_call_with_kept_result, open_mcp_session, open_stream, registration,
    tool, tool_call,
};

/// The number of results that are requested at the same time.
const RESULTS: usize = 60;

/// The number of answers that are not read.
const ANSWERS: usize = 64;

/// The number of streams that are not read: fewer than a token may have clients.
const STREAMS: usize = 60;

/// The length of a result, which is just below `max_result_bytes`.
const RESULT_BYTES: usize = 9_000_000;

/// Requests large results as a client that gets only their beginnings.
pub(super) async fn kept_results(attacker: &Attacker) {
    let Some(_page) = page_with_long_results(attacker).await else {
        return;
    };
    let request = mcp_call_with_kept_result(attacker.address(), TOKEN, "long");
    let part = move |attacker: Attacker, _| {
        let request = request.clone();
        async move {
            let mut connection = attacker.connect_client().await?;
            loop {
                connection.request(&request).await?;
                attacker.count(1);
                if attacker.is_trial() {
                    return Ok(());
                }
            }
        }
    };
    attacker.repeat(RESULTS, part).await;
}

/// Requests large results and reads nothing.
pub(super) async fn unread_answers(attacker: &Attacker) {
    let Some(_page) = page_with_long_results(attacker).await else {
        return;
    };
    let request = tool_call(attacker.address(), TOKEN, "long", "{}");
    let part = move |attacker: Attacker, _| {
        let request = request.clone();
        async move { leave_unread(&attacker, &request).await }
    };
    attacker.repeat(ANSWERS, part).await;
}

async fn page_with_long_results(attacker: &Attacker) -> Option<OwnPage> {
    let length = if attacker.is_trial() {
        100_000
    } else {
        RESULT_BYTES
    };
    let result = format!("\"{}\"", "x".repeat(length));
    let tool = tool("long", &json!({ "type": "object" }));
    let page = OwnPage::open(attacker, tool, Answer::Result(result)).await;
    page.ok()
}

/// Opens streams of notifications, reads none of them, and changes the list of tools.
pub(super) async fn unread_streams(attacker: &Attacker) {
    let streams = attacker.repeat(STREAMS, |attacker, _| async move {
        let session = open_mcp_session(&attacker, TOKEN).await?;
        let request = open_stream(attacker.address(), TOKEN, &session);
        leave_unread(&attacker, request.as_bytes()).await
    });
    let changes = attacker.repeat(1, |attacker, _| async move {
        let mut page = attacker.open_page(TOKEN, "changing").await?;
        let registration = registration([tool("changing", &json!({ "type": "object" }))]);
        let unregister = r#"{"type":"unregister","registrationId":"u","items":[{"kind":"tool","name":"changing"}]}"#;
        loop {
            page.try_register(&registration).await?;
            page.send(unregister).await;
            attacker.count(1);
            if attacker.is_trial() {
                return Ok(());
            }
        }
    });
    tokio::join!(streams, changes);
}

/// Sends a request, reads the status of its answer, and then nothing until the attack ends.
async fn leave_unread(attacker: &Attacker, request: &[u8]) -> Result<()> {
    let mut socket = attacker.connect_with_little_room().await?;
    socket.write_all(request).await?;
    let mut status = [0; 12];
    socket.read_exact(&mut status).await?;
    ensure!(status.ends_with(b" 200"), "the bridge refuses");
    attacker.count(1);
    if !attacker.is_trial() {
        pending::<()>().await;
    }
    Ok(())
}
