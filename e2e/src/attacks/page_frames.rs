//! Tiny frames of pages that have authenticated.

use super::Attacker;
use super::client::TOKEN;
use super::stranger_frames::{FRAMES_PER_WRITE, PING, TEXT, continuation_frames, frames};

/// The number of pages: as many as a small machine has cores.
const PAGES: usize = 2;

/// The number of pages of one token that a bridge allows.
const MAX_PAGES: usize = 64;

/// A message that the bridge parses and that has no effect.
const MESSAGE: &str = r#"{"type":"call-received","requestId":"c0"}"#;

pub(super) async fn pings(attacker: &Attacker) {
    flood(attacker, PAGES, frames(PING, b"")).await;
}

pub(super) async fn continuations(attacker: &Attacker) {
    flood(attacker, PAGES, continuation_frames()).await;
}

/// Sends messages from as many pages as one token may have.
pub(super) async fn messages(attacker: &Attacker) {
    flood(attacker, MAX_PAGES, frames(TEXT, MESSAGE.as_bytes())).await;
}

async fn flood(attacker: &Attacker, pages: usize, frames: Vec<u8>) {
    let part = move |attacker: Attacker, peer| {
        let frames = frames.clone();
        async move {
            let mut page = attacker.open_page(TOKEN, &format!("page-{peer}")).await?;
            attacker.flood(&mut page, &frames, FRAMES_PER_WRITE).await
        }
    };
    attacker.repeat(pages, part).await;
}
