use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::samples::{Counters, increment};
use crate::load::pages::{PageAnswer, PageHandshake, PageSocket};
use crate::load::{Dialect, Payload, Receipt};
use crate::random::Random;

/// What pages do when they are called, by the end of the tool's name.
pub(super) const TOOL_KINDS: [&str; 4] = ["small", "text", "large", "slow"];

/// Tools of a page that nobody calls: new definitions each time that it is loaded.
const EXTRA_TOOLS: u64 = 8;

/// A page is gone for less than this, so that some come back within their grace and some do not.
const MAX_AWAY_MS: u64 = 8_000;

/// The answers of the tools of all pages. `slow` has none.
pub(super) struct ToolAnswers(Vec<(&'static str, PageAnswer)>);

impl ToolAnswers {
    pub(super) fn new() -> Self {
        let answer = |kind| (kind, PageAnswer::new(Dialect::V2, &payload(kind)));
        Self(TOOL_KINDS[..3].iter().map(|kind| answer(*kind)).collect())
    }

    /// The frames that answer a frame; none where it asks nothing, or for what takes too long.
    fn answer(&self, frame: &str) -> Option<Vec<Message>> {
        let called = |kind: &str| {
            let end = format!("_{kind}\",\"toolInput\"");
            memchr::memmem::find(frame.as_bytes(), end.as_bytes()).is_some()
        };
        let found = self.0.iter().find(|(kind, _)| called(kind));
        let (_, answer) = match found {
            Some(found) => found,
            // Heartbeats have the same answer everywhere.
            None => self.0.first().filter(|_| !called("slow"))?,
        };
        answer.frames_for(frame, Receipt::Together)
    }
}

/// What the tools of a kind return, as JSON.
pub(super) fn payload(kind: &str) -> String {
    let size = match kind {
        "small" => "1kb",
        "text" => "10kb-text",
        _ => "2mb-rows",
    };
    let payload: Payload = size.parse().expect("it is one");
    payload.json()
}

/// The name of a page's tool.
pub(super) fn tool_name(page: usize, kind: &str) -> String {
    format!("page_{page}_{kind}")
}

/// A page that may stay or move about.
pub(super) struct MovingPage {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    pub(super) number: usize,
    pub(super) tools: Arc<ToolAnswers>,
    pub(super) tally: Arc<Counters>,
    pub(super) random: Random,
}

impl MovingPage {
    /// Connects as a document of a session.
    pub(super) async fn connect(&self, session: &str, document: u64) -> Result<PageSocket> {
        let called = TOOL_KINDS.iter().map(|kind| tool_name(self.number, kind));
        let further =
            (0..EXTRA_TOOLS).map(|other| format!("page_{}_{document}_{other}", self.number));
        let definition = |name: String| json!({ "name": name, "description": "Made for a soak" });
        let introduction = PageHandshake {
            address: self.address,
            dialect: Dialect::V2,
            token: &self.token,
            session,
            document: &format!("document {document} of {session}"),
            tools: called.chain(further).map(definition).collect(),
        };
        let wire = introduction.connect().await;
        increment(&self.tally.connected);
        wire.with_context(|| format!("page {session}"))
    }

    /// Answers for ever.
    pub(super) async fn serve(self, mut wire: PageSocket) -> Result<()> {
        while let ControlFlow::Continue(()) = self.answer(&mut wire).await {}
        bail!("a page that stays lost its connection")
    }

    /// Comes and goes, in every way that pages do.
    pub(super) async fn reconnect_repeatedly(mut self) -> Result<()> {
        let (mut life, mut document) = (0, 0);
        loop {
            let session = format!("moves-{}-{life}", self.number);
            let mut wire = self.connect(&session, document).await?;
            let stays = Duration::from_millis(self.random.span(20_000));
            let answering =
                async { while let ControlFlow::Continue(()) = self.answer(&mut wire).await {} };
            // It goes in the middle of a message, too.
            let _ = timeout(stays, answering).await;
            match self.random.below(4) {
                // Reloads: the same session, another document.
                0 => {
                    close(wire, 1001).await;
                    document += 1;
                }
                // Is closed, and another tab is opened.
                1 => {
                    close(wire, 1000).await;
                    life += 1;
                    document += 1;
                }
                // Breaks off, and comes back as the same document.
                2 => drop(wire),
                // The same after a while.
                _ => {
                    drop(wire);
                    let away = Duration::from_millis(self.random.below(MAX_AWAY_MS));
                    tokio::time::sleep(away).await; // sleep: part of the load
                }
            }
        }
    }

    /// Answers one frame. The end of the connection breaks.
    async fn answer(&self, wire: &mut PageSocket) -> ControlFlow<()> {
        let frame = match wire.next().await {
            Some(Ok(Message::Text(frame))) => frame,
            Some(Ok(Message::Close(_)) | Err(_)) | None => return ControlFlow::Break(()),
            Some(Ok(_)) => return ControlFlow::Continue(()),
        };
        for answer in self.tools.answer(&frame).into_iter().flatten() {
            if wire.feed(answer).await.is_err() {
                return ControlFlow::Break(());
            }
        }
        match wire.flush().await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

async fn close(mut wire: PageSocket, code: u16) {
    let frame = CloseFrame {
        code: code.into(),
        reason: "".into(),
    };
    // It may be broken in the middle of a message.
    let _ = wire.close(Some(frame)).await;
}
