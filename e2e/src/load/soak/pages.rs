//! The pages of a soak, with their tools.

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
use crate::load::Payload;
use crate::load::dialect::{Dialect, Receipt};
use crate::load::pages::{PageAnswer, PageHandshake, PageSocket};
use crate::random::Random;

/// The kinds of tools of each page; the names of the tools end with them.
pub(super) const TOOL_KINDS: [&str; 4] = ["small", "text", "large", "slow"];

/// The number of tools of a page that are never called; each document has other ones.
const EXTRA_TOOLS: u64 = 8;

/// The maximum time for which a page is gone: some return within their grace period, some do not.
const MAX_AWAY_MS: u64 = 8_000;

/// The answers of all pages by kind of tool. `slow` tools do not answer.
pub(super) struct ToolAnswers(Vec<(&'static str, PageAnswer)>);

impl ToolAnswers {
    pub(super) fn new() -> Self {
        let answer = |kind| (kind, PageAnswer::new(Dialect::V2, &payload(kind)));
        Self(TOOL_KINDS[..3].iter().map(|kind| answer(*kind)).collect())
    }

    /// Returns the frames that answer a frame, or `None` if it needs no answer or is a call of a
    /// `slow` tool.
    fn answer(&self, frame: &str) -> Option<Vec<Message>> {
        let called = |kind: &str| {
            let end = format!("_{kind}\",\"toolInput\"");
            memchr::memmem::find(frame.as_bytes(), end.as_bytes()).is_some()
        };
        let found = self.0.iter().find(|(kind, _)| called(kind));
        let (_, answer) = match found {
            Some(found) => found,
            // The answer to a heartbeat does not depend on the tool.
            None => self.0.first().filter(|_| !called("slow"))?,
        };
        answer.frames_for(frame, Receipt::Together)
    }
}

/// Returns what the tools of a kind return, as JSON.
pub(super) fn payload(kind: &str) -> String {
    let size = match kind {
        "small" => "1kb",
        "text" => "10kb-text",
        _ => "2mb-rows",
    };
    let payload: Payload = size.parse().expect("the sizes are valid");
    payload.json()
}

/// Returns the name of a page's tool of this kind.
pub(super) fn tool_name(page: usize, kind: &str) -> String {
    format!("page_{page}_{kind}")
}

/// A page that stays connected, or that reconnects again and again.
pub(super) struct MovingPage {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    pub(super) number: usize,
    pub(super) tools: Arc<ToolAnswers>,
    pub(super) counters: Arc<Counters>,
    pub(super) random: Random,
}

impl MovingPage {
    /// Connects as a document of a session.
    pub(super) async fn connect(&self, session: &str, document: u64) -> Result<PageSocket> {
        let called = TOOL_KINDS.iter().map(|kind| tool_name(self.number, kind));
        let further =
            (0..EXTRA_TOOLS).map(|other| format!("page_{}_{document}_{other}", self.number));
        let definition = |name: String| json!({ "name": name, "description": "Made for a soak" });
        let handshake = PageHandshake {
            address: self.address,
            dialect: Dialect::V2,
            token: &self.token,
            session,
            document: &format!("document {document} of {session}"),
            tools: called.chain(further).map(definition).collect(),
        };
        let socket = handshake.connect().await;
        increment(&self.counters.connected);
        socket.with_context(|| format!("page {session}"))
    }

    /// Answers calls until the connection ends, which is an error.
    pub(super) async fn serve(self, mut socket: PageSocket) -> Result<()> {
        while let ControlFlow::Continue(()) = self.answer(&mut socket).await {}
        bail!("a page that stays lost its connection")
    }

    /// Disconnects and reconnects in every way that pages do.
    pub(super) async fn reconnect_repeatedly(mut self) -> Result<()> {
        let (mut tab, mut document) = (0, 0);
        loop {
            let session = format!("moves-{}-{tab}", self.number);
            let mut socket = self.connect(&session, document).await?;
            let stays = Duration::from_millis(self.random.span(20_000));
            let answering =
                async { while let ControlFlow::Continue(()) = self.answer(&mut socket).await {} };
            // The timeout may end the connection in the middle of a message.
            let _ = timeout(stays, answering).await;
            match self.random.below(4) {
                // A reload: the same session, another document.
                0 => {
                    close(socket, 1001).await;
                    document += 1;
                }
                // The tab is closed, and another one is opened.
                1 => {
                    close(socket, 1000).await;
                    tab += 1;
                    document += 1;
                }
                // The connection breaks, and the same document reconnects at once.
                2 => drop(socket),
                // The connection breaks, and the same document reconnects after a while.
                _ => {
                    drop(socket);
                    let away = Duration::from_millis(self.random.below(MAX_AWAY_MS));
                    tokio::time::sleep(away).await; // sleep: part of the load
                }
            }
        }
    }

    /// Answers one frame. Breaks at the end of the connection.
    async fn answer(&self, socket: &mut PageSocket) -> ControlFlow<()> {
        let frame = match socket.next().await {
            Some(Ok(Message::Text(frame))) => frame,
            Some(Ok(Message::Close(_)) | Err(_)) | None => return ControlFlow::Break(()),
            Some(Ok(_)) => return ControlFlow::Continue(()),
        };
        for answer in self.tools.answer(&frame).into_iter().flatten() {
            if socket.feed(answer).await.is_err() {
                return ControlFlow::Break(());
            }
        }
        match socket.flush().await {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

async fn close(mut socket: PageSocket, code: u16) {
    let frame = CloseFrame {
        code: code.into(),
        reason: "".into(),
    };
    // The connection may be in the middle of a message.
    let _ = socket.close(Some(frame)).await;
}
