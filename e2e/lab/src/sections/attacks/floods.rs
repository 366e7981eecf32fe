//! Attackers that send as much as the bridge takes.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::attacker::{Attacker, SOURCE, TOKEN};
use crate::connection::Connection;
use crate::page::{Page, registration};

/// The number of callers without a pause.
const CALLERS: usize = 256;

/// The number of pages that send long frames, and the bytes of a result in them.
const LONG_FRAME_PAGES: usize = 16;
const LONG_FRAME_BYTES: usize = 1_000_000;

/// As many pages as one token may have, and how many tiny frames each writes at once.
const TINY_FRAME_PAGES: usize = 64;
const FRAMES_PER_WRITE: usize = 2_000;

/// The number of pages that register, and nearly as many tools and bytes as a page may have.
const REGISTERING_PAGES: usize = 16;
const MAX_TOOLS: usize = 512;
const TOOL_BYTES: usize = 1_700;

/// Stands for a number that makes each registration different, so that nothing of it is known.
const NUMBER: &str = "NUMBER";

/// Calls a page as fast as it answers.
pub(super) async fn calls(attacker: &Attacker) {
    let Ok(_page) = attacker.open_page(r#"{"ok":true}"#).await else {
        return;
    };
    let request = attacker.call();
    let part = move |attacker: Attacker, _| {
        let request = request.clone();
        async move {
            let mut connection = Connection::open(&attacker.endpoint(TOKEN)).await?;
            loop {
                connection.request(&request).await?;
                attacker.count(1);
            }
        }
    };
    attacker.repeat(CALLERS, part).await;
}

/// Sends long messages that the bridge parses and that have no effect.
pub(super) async fn long_frames(attacker: &Attacker) {
    let result = "x".repeat(LONG_FRAME_BYTES);
    let message = json!({ "type": "call-response", "requestId": "c0", "result": result });
    flood(
        attacker,
        LONG_FRAME_PAGES,
        vec![Message::text(message.to_string())],
    )
    .await;
}

/// Sends pings, and short messages of that kind.
pub(super) async fn tiny_frames(attacker: &Attacker) {
    let message = json!({ "type": "call-received", "requestId": "c0" }).to_string();
    let pair = [Message::Ping(Bytes::new()), Message::text(message)];
    let messages = std::iter::repeat_n(pair, FRAMES_PER_WRITE / 2).flatten();
    flood(attacker, TINY_FRAME_PAGES, messages.collect()).await;
}

/// Writes the same messages from each page, again and again.
async fn flood(attacker: &Attacker, pages: usize, messages: Vec<Message>) {
    let part = move |attacker: Attacker, peer| {
        let messages = messages.clone();
        async move {
            let session = format!("page-{peer}");
            let mut page = Page::authenticated(SOURCE, attacker.address, TOKEN, &session).await?;
            loop {
                page.send_all(messages.iter().cloned()).await?;
                attacker.count(messages.len());
            }
        }
    };
    attacker.repeat(pages, part).await;
}

/// Registers as many tools with as many bytes as a page may have, different ones each time.
pub(super) async fn registrations(attacker: &Attacker) {
    let tools: Vec<_> = (0..MAX_TOOLS).map(long_tool).collect();
    let message = registration(&tools);
    let part = move |attacker: Attacker, peer| {
        let message = message.clone();
        async move {
            let session = format!("page-{peer}");
            let mut page = Page::authenticated(SOURCE, attacker.address, TOKEN, &session).await?;
            for number in 0.. {
                page.register(&message.replace(NUMBER, &format!("{peer}-{number}")))
                    .await?;
                attacker.count(1);
            }
            Ok(())
        }
    };
    attacker.repeat(REGISTERING_PAGES, part).await;
}

/// Returns a tool of [`TOOL_BYTES`], half of them a description and half properties.
fn long_tool(number: usize) -> Value {
    let property = json!({ "type": "string", "maxLength": 200 });
    let properties = (0..TOOL_BYTES / 2 / 50).map(|at| (format!("field_{at}"), property.clone()));
    let properties: Map<_, _> = properties.collect();
    json!({
        "name": format!("tool_{number}"),
        "description": format!("{NUMBER} {}", "x".repeat(TOOL_BYTES / 2)),
        "inputSchema": { "type": "object", "properties": properties },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_are_nearly_as_large_as_they_may_be() {
        let tools: Vec<_> = (0..MAX_TOOLS).map(long_tool).collect();
        let bytes = registration(&tools).len();
        assert!((850_000..1_000_000).contains(&bytes), "{bytes}");
    }
}
