//! Frames of pages that have not authenticated.

use std::sync::Arc;

use super::Attacker;
use crate::idle::{push_frame, push_frame_head};

/// The number of sockets: as many as a small machine has cores.
const SOCKETS: usize = 2;

/// The number of sockets that send first frames of 16 MiB.
const LONG_FRAME_SOCKETS: usize = 64;

/// The length of such a frame: the most that any frame may have.
const LONG_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// How many frames are written at once.
pub(super) const FRAMES_PER_WRITE: usize = 2_000;

pub(super) const TEXT: u8 = 1;
pub(super) const PING: u8 = 9;

const ACTIVITY: &str = r#"{"type":"activity","timestamp":1700000000000}"#;

/// The header of a page that the default configuration refuses.
const REFUSED_ORIGIN: &str = "Origin: https://attacker.example\r\n";

/// Sends the message that pages of mcp-web 0.1 may send before they have authenticated.
pub(super) async fn activity(attacker: &Attacker, sockets: usize) {
    flood(attacker, sockets, "", frames(TEXT, ACTIVITY.as_bytes())).await;
}

/// Begins a message, and continues it with frames without any bytes.
pub(super) async fn continuations(attacker: &Attacker) {
    flood(attacker, SOCKETS, "", continuation_frames()).await;
}

pub(super) async fn pings(attacker: &Attacker) {
    flood(attacker, SOCKETS, "", frames(PING, b"")).await;
}

/// Sends messages to a bridge that has refused the origin of the page.
pub(super) async fn refused_origin(attacker: &Attacker) {
    let frames = frames(TEXT, ACTIVITY.as_bytes());
    flood(attacker, SOCKETS, REFUSED_ORIGIN, frames).await;
}

/// Sends frames of 16 MiB. One counts when it begins, because the bridge reads only its head.
pub(super) async fn long_frames(attacker: &Attacker) {
    let length = if attacker.is_trial() {
        LONG_FRAME_BYTES / 64
    } else {
        LONG_FRAME_BYTES
    };
    let mut frame = Vec::new();
    push_frame(&mut frame, TEXT, &vec![b' '; length]);
    let frame = Arc::new(frame);
    let part = move |attacker: Attacker, peer| {
        let frame = Arc::clone(&frame);
        async move {
            let session = format!("stranger-{peer}");
            let mut page = attacker.open_page_socket(&session, "").await?;
            attacker.count(1);
            Ok(page.send_bytes(&frame).await?)
        }
    };
    attacker.repeat(LONG_FRAME_SOCKETS, part).await;
}

/// Returns frames that are written at once, each a message of its own.
pub(super) fn frames(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..FRAMES_PER_WRITE {
        push_frame(&mut bytes, opcode, payload);
    }
    bytes
}

/// Returns frames that begin a message and never end it.
pub(super) fn continuation_frames() -> Vec<u8> {
    let mut bytes = Vec::new();
    push_frame_head(&mut bytes, TEXT, 0);
    for _ in 1..FRAMES_PER_WRITE {
        push_frame_head(&mut bytes, 0, 0);
    }
    bytes
}

async fn flood(attacker: &Attacker, sockets: usize, headers: &'static str, frames: Vec<u8>) {
    let part = move |attacker: Attacker, peer| {
        let frames = frames.clone();
        async move {
            let session = format!("stranger-{peer}");
            let mut page = attacker.open_page_socket(&session, headers).await?;
            attacker.flood(&mut page, &frames, FRAMES_PER_WRITE).await
        }
    };
    attacker.repeat(sockets, part).await;
}
