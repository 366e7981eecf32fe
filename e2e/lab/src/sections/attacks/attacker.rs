//! An attacker at 127.0.0.2. It expects nothing: what the bridge refuses or closes is tried again.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at}; // sleep: a part of what is measured

use crate::page::{Page, PageAnswer, PageProtocol, registration};
use crate::request::{Endpoint, Request};

/// The address of the attacker.
pub(super) const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// The token of an attacker that has only one.
pub(super) const TOKEN: &str = "the-token-of-the-attacker-0123456789abcdef";

/// The pause after an attempt that failed, so that an attack on a bridge that refuses everything
/// stays what it is, and does not become a flood of connections.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// An attacker. Clones are the same attacker.
#[derive(Clone)]
pub(super) struct Attacker {
    pub(super) address: SocketAddr,
    end: Instant,
    actions: Arc<AtomicU64>,
}

impl Attacker {
    /// Creates an attacker on the bridge at this address, which stops at `end`.
    pub(super) fn new(address: SocketAddr, end: Instant) -> Self {
        Self {
            address,
            end,
            actions: Arc::default(),
        }
    }

    /// Returns how often the attacker did what it does.
    pub(super) fn actions(&self) -> u64 {
        self.actions.load(Ordering::Relaxed)
    }

    /// Counts what the attacker has done.
    pub(super) fn count(&self, actions: usize) {
        self.actions.fetch_add(actions as u64, Ordering::Relaxed);
    }

    /// Lets each of these peers play its part again and again until the attack ends. A peer whose
    /// part ends with an error begins again.
    pub(super) async fn repeat<F>(
        &self,
        peers: usize,
        part: impl Fn(Self, usize) -> F + Clone + Send + 'static,
    ) where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        for peer in 0..peers {
            let (attacker, part) = (self.clone(), part.clone());
            tasks.spawn(async move {
                loop {
                    if part(attacker.clone(), peer).await.is_err() {
                        sleep(RETRY_PAUSE).await; // sleep: a part of what is measured
                    }
                }
            });
        }
        // The connections that are still open end with their tasks.
        let attack = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout_at(self.end, attack).await;
    }

    /// Opens the attacker's page, with a tool `any` that returns `result`. It leaves when the result
    /// of this function is dropped.
    pub(super) async fn open_page(&self, result: &str) -> Result<JoinSet<()>> {
        let mut page = Page::authenticated(SOURCE, self.address, TOKEN, "own-page").await?;
        let tool = json!({ "name": "any", "description": "Returns the same each time" });
        page.register(&registration(&[tool])).await?;
        let answer = PageAnswer::new(PageProtocol::Current, result);
        let mut task = JoinSet::new();
        task.spawn(async move { page.serve(&answer).await });
        Ok(task)
    }

    /// Returns the call of the tool `any`.
    pub(super) fn call(&self) -> Request {
        let body = json!({ "toolName": "any", "toolInput": {} });
        Request::new("POST /tool-call", &self.endpoint(TOKEN), &[], &body)
    }

    /// Returns the bridge with one of the attacker's tokens.
    pub(super) fn endpoint(&self, token: &str) -> Endpoint {
        Endpoint {
            source: SOURCE,
            ..Endpoint::new(self.address, token)
        }
    }
}
