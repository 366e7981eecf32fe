//! The callers of a soak.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::time::timeout;

use super::pages::{payload, tool_name};
use super::samples::{Counters, increment};
use crate::load::answers::AnswerChecker;
use crate::load::call_ids::CALL_IDS;
use crate::load::callers::open_session;
use crate::load::connection::Connection;
use crate::load::dialect::Dialect;
use crate::load::route::{Callee, Endpoint, RequestTemplate, Route};
use crate::random::Random;

/// How long an answer may take in any case: longer than a page may be disconnected.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum time before a slow call is cancelled.
const MAX_CANCEL_DELAY_MS: u64 = 300;

/// The maximum number of calls in one conversation.
const MAX_CONVERSATION_CALLS: u64 = 400;

/// The kinds of tools that are called, and their shares in percent.
const CALL_MIX: [(&str, u64); 4] = [("small", 80), ("text", 12), ("slow", 6), ("large", 2)];

/// A caller whose conversations have random lengths and end in every possible way.
pub(super) struct RandomCaller {
    route: Route,
    endpoint: Endpoint,
    staying_pages: Range<usize>,
    moving_pages: Range<usize>,
    checkers: Vec<(&'static str, AnswerChecker)>,
    random: Random,
    counters: Arc<Counters>,
    ids: Range<u64>,
}

/// The percentage of calls to moving pages, each of which may wait for its page's grace period.
const MOVING_PERCENT: u64 = 15;

/// Whether the conversation continues on its connection.
enum ConversationState {
    Continue,
    Ended,
}

impl RandomCaller {
    pub(super) fn new(
        number: usize,
        endpoint: Endpoint,
        staying_pages: Range<usize>,
        moving_pages: Range<usize>,
        random: Random,
        counters: Arc<Counters>,
    ) -> Self {
        let route = [Route::ToolCall, Route::Mcp2025, Route::Mcp2026][number % 3];
        let checker = |kind| (kind, AnswerChecker::new(route, Dialect::V2, payload(kind)));
        Self {
            route,
            endpoint,
            staying_pages,
            moving_pages,
            checkers: ["small", "text", "large"].map(checker).into(),
            random,
            counters,
            ids: CALL_IDS,
        }
    }

    pub(super) async fn run(mut self) -> Result<()> {
        loop {
            let mut connection = Connection::open(self.endpoint.address).await?;
            if self.route == Route::Mcp2025 {
                self.endpoint.mcp_session = None;
                open_session(&mut connection, &mut self.endpoint).await?;
                increment(&self.counters.mcp_sessions);
            }
            for _ in 0..self.random.between(1, MAX_CONVERSATION_CALLS) {
                if let ConversationState::Ended = self.call(&mut connection).await? {
                    connection = Connection::open(self.endpoint.address).await?;
                }
            }
            // One of ten sessions is abandoned, as by clients that crash.
            if self.endpoint.mcp_session.is_some() && !self.random.percent(10) {
                let mut request = RequestTemplate::end_session(&self.endpoint);
                let ended = connection.request(request.with_id(CALL_IDS.start)).await?;
                ensure!(ended.status < 300, "DELETE has status {}", ended.status);
            }
        }
    }

    async fn call(&mut self, connection: &mut Connection) -> Result<ConversationState> {
        let (page, kind) = (self.page(), self.kind());
        let id = self.ids.next().context("no ids are left")?;
        let callee = Callee {
            tool: tool_name(page, kind),
            session: None,
        };
        let mut request = RequestTemplate::call(self.route, &self.endpoint, &callee);
        let response = connection.request(request.with_id(id));
        if kind == "slow" {
            let delay = Duration::from_millis(self.random.below(MAX_CANCEL_DELAY_MS));
            // A slow tool never answers: an answer means that the page is gone.
            if timeout(delay, response).await.is_err() {
                self.cancel(id).await?;
                increment(&self.counters.cancelled);
                return Ok(ConversationState::Ended);
            }
            increment(&self.counters.failed);
            return Ok(ConversationState::Continue);
        }
        let answer = timeout(ANSWER_TIMEOUT, response).await;
        let answer = answer.with_context(|| format!("no answer to {}", callee.tool))??;
        let mut checkers = self.checkers.iter_mut();
        let checker = checkers.find(|(checked_kind, _)| *checked_kind == kind);
        let (_, checker) = checker.context("no checker for this kind")?;
        let is_moving = !self.staying_pages.contains(&page);
        match checker.check(answer.message, id) {
            Ok(()) => increment(&self.counters.answered),
            Err(_) if is_moving && is_failure(answer.message, id, self.route) => {
                increment(&self.counters.failed);
            }
            Err(error) => return Err(error.context(format!("status {}", answer.status))),
        }
        Ok(ConversationState::Continue)
    }

    /// Cancels a call in addition to closing its connection, where the protocol has a message for
    /// it.
    async fn cancel(&mut self, id: u64) -> Result<()> {
        if self.route == Route::Mcp2025 {
            let mut connection = Connection::open(self.endpoint.address).await?;
            let mut request = RequestTemplate::cancelled(&self.endpoint, id);
            let response = connection.request(request.with_id(id)).await?;
            ensure!(
                response.status == 202,
                "`notifications/cancelled` has status {}",
                response.status
            );
        }
        Ok(())
    }

    fn page(&mut self) -> usize {
        let pages = if self.random.percent(MOVING_PERCENT) {
            self.moving_pages.clone()
        } else {
            self.staying_pages.clone()
        };
        pages.start + self.random.below(pages.len() as u64) as usize
    }

    fn kind(&mut self) -> &'static str {
        let mut number = self.random.below(100);
        for (kind, share) in CALL_MIX {
            match number.checked_sub(share) {
                Some(rest) => number = rest,
                None => return kind,
            }
        }
        CALL_MIX[0].0
    }
}

/// Returns whether this is an error response to this call in the format of the route.
fn is_failure(message: &[u8], id: u64, route: Route) -> bool {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let is_error = |result: &Value| result["isError"] == true;
    match route {
        Route::ToolCall => {
            is_error(&message) || message["error"].is_string() || message["error"].is_object()
        }
        _ => message["id"] == id && (is_error(&message["result"]) || message["error"].is_object()),
    }
}
