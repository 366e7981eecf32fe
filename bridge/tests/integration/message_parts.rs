//! Long messages in parts, in both directions, and the rejection of invalid parts.

use bridge::Config;
use bridge_protocol::limits::{
    ENVELOPE_BYTES, MAX_FRAME_BYTES, MAX_UNFINISHED_MESSAGES, PART_BYTES,
};
use bridge_protocol::message_parts::split;
use bridge_protocol::{CallResponse, PageToBridge};
use futures_util::future::join;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::kit::*;

async fn send_in_parts(page: &mut Page, message: &PageToBridge) -> usize {
    let mut frames = 0;
    for part in split(&message.encode(), 1) {
        page.send_text(part).await;
        frames += 1;
    }
    frames
}

#[tokio::test]
async fn a_result_larger_than_any_frame_arrives_in_parts() {
    let mut config = test_config();
    config.results.max_result_bytes = 2 * MAX_FRAME_BYTES;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "a", &[echo_tool()]).await;
    let text = "é".repeat(MAX_FRAME_BYTES / 2 + 1000);
    let handler = async {
        let call = page.recv_call().await;
        let response = PageToBridge::CallResponse(CallResponse {
            request_id: call.request_id,
            result: Some(raw_json(&json!(text))),
            content: None,
            structured_content: None,
            meta: None,
        });
        assert!(send_in_parts(&mut page, &response).await > 60);
    };
    let ((status, answer), ()) = join(post_tool_call(&bridge, "echo", json!({})), handler).await;
    assert_eq!(status, 200);
    assert!(
        result_text(&answer) == text,
        "{} bytes",
        result_text(&answer).len()
    );
}

#[tokio::test]
async fn long_arguments_reach_the_page_in_parts() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "a", &[echo_tool()]).await;
    let text = "x".repeat(2 * PART_BYTES);
    let handler = async {
        let mut parts = 0;
        loop {
            let Some(Message::Text(frame)) = page.recv_frame().await else {
                panic!("expected a text frame")
            };
            if frame.starts_with('#') {
                assert!(frame.len() <= PART_BYTES + 32);
                parts += 1;
            }
            if frame.starts_with("#.") {
                return parts;
            }
        }
    };
    let call = post_tool_call(&bridge, "echo", json!({ "text": text }));
    let parts = tokio::select! {
        parts = handler => parts,
        (_, answer) = call => panic!("{answer}"),
    };
    assert_eq!(parts, 3);
}

#[tokio::test]
async fn invalid_parts_close_the_page() {
    let bridge = start_bridge().await;
    let too_large = |size: usize| {
        let part = "x".repeat(PART_BYTES);
        let parts = (0..=size / PART_BYTES).map(move |_| format!("#+1 {part}"));
        parts.collect::<Vec<_>>()
    };
    let max_bytes =
        MAX_FRAME_BYTES.max(Config::default().results.max_result_bytes + ENVELOPE_BYTES);
    let too_many = (0..=MAX_UNFINISHED_MESSAGES)
        .map(|id| format!("#+{id} x"))
        .collect();
    let cases: [(Vec<String>, u16); 4] = [
        (too_large(max_bytes), 1009),
        (too_many, 1009),
        (vec!["#1 x".to_owned()], 1003),
        (vec!["#.1 no JSON".to_owned()], 1003),
    ];
    for (frames, expected) in cases {
        let mut page = Page::with_tools(&bridge, "a", &[echo_tool()]).await;
        for frame in frames {
            // The bridge may have closed the connection already.
            let _ = page.send_frame(Message::Text(frame.into())).await;
        }
        let (code, reason) = page.recv_close().await;
        assert_eq!(code, expected, "{reason}");
    }
    // Other pages are not affected.
    let mut page = Page::with_tools(&bridge, "b", &[echo_tool()]).await;
    assert_echo(&bridge, &mut page).await;
}
