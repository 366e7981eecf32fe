//! The first bytes of a page, which one bridge reads and another may serve.

use bridge::ServerHandle;
use bridge_protocol::limits::MAX_AUTHENTICATE_BYTES;
use serde_json::json;

use super::page_tunnels::bridges_with_owner;
use crate::kit::*;

/// The bytes of a page that follow its request, by their kind.
fn first_bytes() -> Vec<(&'static str, Vec<u8>)> {
    let hello = || {
        json!({ "type": "authenticate", "protocol": 2, "authToken": TOKEN, "sessionId": "s",
            "documentId": "d" })
        .to_string()
    };
    let whole = hello();
    let (start, end) = whole.split_at(20);
    let closed = || {
        [
            frame_header(FINAL | 0x08, 2),
            1000_u16.to_be_bytes().to_vec(),
        ]
        .concat()
    };
    let with_close = |frames: &[Vec<u8>]| [frames.concat(), closed()].concat();
    let text = |payload: &str| frame(FINAL | TEXT, payload);
    let wrong_token = hello().replace(TOKEN, "x");
    let other_session = hello().replace("\"s\"", "\"t\"");
    let other_version = hello().replace(":2", ":9");
    let long = "x".repeat(MAX_AUTHENTICATE_BYTES + 1);
    let binary = frame(FINAL | 0x02, &hello());
    let mut unmasked = text(&hello());
    unmasked[1] &= 0x7f;
    vec![
        ("one frame", with_close(&[text(&hello())])),
        (
            "two fragments",
            with_close(&[frame(TEXT, start), frame(FINAL | CONTINUATION, end)]),
        ),
        (
            "a ping between fragments",
            with_close(&[
                frame(TEXT, start),
                frame(PING, "p"),
                frame(FINAL | CONTINUATION, end),
            ]),
        ),
        (
            "pings first",
            with_close(&[frame(PING, "a"), frame(PING, "b"), text(&hello())]),
        ),
        (
            "two messages at once",
            with_close(&[text(&hello()), text("{\"type\":\"leaving\"}")]),
        ),
        (
            "garbage after it",
            [text(&hello()), vec![0xff; 100]].concat(),
        ),
        (
            "text that is not JSON after it",
            [text(&hello()), text("{")].concat(),
        ),
        ("a binary frame", binary),
        ("a wrong token", text(&wrong_token)),
        ("another session", text(&other_session)),
        ("another version", text(&other_version)),
        ("too long", text(&long)),
        ("endless", frame_header(FINAL | TEXT, 1 << 40)),
        (
            "endless fragments",
            [
                frame(TEXT, start),
                frame(CONTINUATION, &long),
                frame(CONTINUATION, &long),
            ]
            .concat(),
        ),
        ("too many pings", frame(PING, "p").repeat(200)),
        ("text that is not JSON", text("{")),
        ("another message", text("{\"type\":\"leaving\"}")),
        ("garbage", vec![0xff; 100]),
        ("no mask", unmasked),
    ]
}

/// Sends these bytes as a page, and returns all that comes back.
async fn outcome(bridge: &ServerHandle, bytes: &[u8]) -> String {
    let address = bridge.local_addr().to_string();
    let mut socket = RawSocket::open(&address, "/ws?session=s", None).await;
    socket.try_send(bytes).await;
    let received = without_repeated_pongs(socket.recv_to_end().await);
    let received = String::from_utf8_lossy(&received);
    let received = without_value(&received, "\"bridgeId\":\"", '"');
    without_value(&received, "\"nowMs\":", ',')
}

/// Removes the second pong to the same ping. Both the bridge of the page and the owner answer a ping that
/// comes before the token, and a page may receive any pongs (RFC 6455 section 5.5.3).
fn without_repeated_pongs(mut received: Vec<u8>) -> Vec<u8> {
    const PONG_OF_ONE_BYTE: [u8; 2] = [FINAL | 0x0a, 1];
    let mut seen = Vec::new();
    let mut start = 0;
    while received[start..].starts_with(&PONG_OF_ONE_BYTE) {
        let pong: Vec<_> = received[start..start + 3].to_vec();
        if seen.contains(&pong) {
            received.drain(start..start + 3);
        } else {
            seen.push(pong);
            start += 3;
        }
    }
    received
}

/// Replaces a value that differs from bridge to bridge.
fn without_value(text: &str, before: &str, after: char) -> String {
    let Some((start, rest)) = text.split_once(before) else {
        return text.to_owned();
    };
    let (_, end) = rest.split_once(after).unwrap();
    format!("{start}{before}…{after}{end}")
}

#[tokio::test]
async fn any_first_frame_has_the_outcome_of_a_single_bridge() {
    let (bridges, _first) = bridges_with_owner().await;
    let (owner, edge) = bridges.owner_and_edge();
    let single = start_bridge().await;
    let _page = Page::connect(&single, "first", TOKEN).await;
    for (kind, bytes) in first_bytes() {
        let expected = outcome(&single, &bytes).await;
        assert_eq!(
            outcome(owner, &bytes).await,
            expected,
            "{kind}, at the owner"
        );
        assert_eq!(outcome(edge, &bytes).await, expected, "{kind}");
    }
}

/// Byte for byte, and with an end in the middle of a frame.
#[tokio::test]
async fn a_first_frame_may_come_in_single_bytes() {
    let (bridges, _first) = bridges_with_owner().await;
    let edge = &bridges.nodes[1];
    for (_, bytes) in first_bytes().into_iter().take(4) {
        let address = edge.local_addr().to_string();
        let mut socket = RawSocket::open(&address, "/ws?session=s", None).await;
        for byte in &bytes {
            assert!(socket.try_send(&[*byte]).await);
            tokio::task::yield_now().await;
        }
        let received = socket.recv_to_end().await;
        let received = String::from_utf8_lossy(&received);
        assert!(received.contains("\"authenticated\""), "{received}");
    }
}
