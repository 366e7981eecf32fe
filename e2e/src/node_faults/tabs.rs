//! The pages of a run: programs of the crate `mcp-web-sdk`, which connect again as those in browsers do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_web_sdk::{Handle, McpWeb, Status, Token, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use super::ledger::Ledger;
use crate::delay::delay;
use crate::{TokenIssuer, with_deadline};

/// The tool of all pages.
pub(super) const TOOL: &str = "work";

#[derive(Deserialize, JsonSchema)]
struct Work {
    /// The number of the call in the ledger.
    call: u64,
    /// How long it takes.
    millis: u64,
}

/// A tab of a user. It closes when it is dropped.
#[derive(Debug)]
pub(super) struct Tab {
    app: McpWeb,
    user: String,
    tool: Handle,
    connected: watch::Receiver<Option<Instant>>,
}

impl Tab {
    /// Opens a tab that uses this bridge, or a balancer. [`Tab::wait_until_registered`] waits for it.
    pub(super) fn open(bridge: &str, user: &str, session: &str, ledger: &Arc<Ledger>) -> Self {
        let app = McpWeb::builder("Tab")
            .bridge(bridge)
            .token(Token::new(TokenIssuer::token_of(user)))
            .session_id(session)
            // It warns of each connection that is lost.
            .on_warning(|_| {})
            .build()
            .unwrap();
        let ledger = Arc::clone(ledger);
        let tool = app.add_tool(Tool::new(TOOL), move |work: Work, _| {
            let ledger = Arc::clone(&ledger);
            async move {
                let _running = ledger.call_started(work.call);
                delay(Duration::from_millis(work.millis)).await;
                Ok(json!({ "call": work.call }))
            }
        });
        let (since, connected) = watch::channel(None);
        tokio::spawn(observe(app.status(), since));
        let connecting = app.clone();
        tokio::spawn(async move { connecting.connect().await });
        Self {
            app,
            user: user.to_owned(),
            tool,
            connected,
        }
    }

    /// Waits until the tab is connected and has registered its tool.
    pub(super) async fn wait_until_registered(&mut self) {
        let registered = with_deadline("a tab to register its tool", self.tool.registered());
        registered.await.unwrap();
    }

    /// Returns since when the tab is connected. `None` while it is not.
    pub(super) fn connected_since(&self) -> Option<Instant> {
        *self.connected.borrow()
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    pub(super) fn status(&self) -> Status {
        self.app.status().borrow().clone()
    }
}

async fn observe(mut status: watch::Receiver<Status>, since: watch::Sender<Option<Instant>>) {
    loop {
        let is_connected = *status.borrow_and_update() == Status::Connected;
        since.send_replace(is_connected.then(Instant::now));
        if status.changed().await.is_err() {
            return;
        }
    }
}
