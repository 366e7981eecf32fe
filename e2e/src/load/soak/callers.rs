use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::time::timeout;

use super::Soak;
use super::pages::{payload, tool_name};
use super::samples::{Counters, increment};
use crate::load::answers::{AnswerChecker, CALL_IDS};
use crate::load::connection::Connection;
use crate::load::route::{Callee, Endpoint, RequestTemplate, Route};
use crate::load::{Dialect, callers};
use crate::random::Random;

/// A call that must be answered is answered within this, whatever else goes on: longer than a page
/// may be away.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A caller gives a slow call up within this.
const MAX_CANCEL_DELAY_MS: u64 = 300;

/// Calls in one conversation, at most.
const MAX_CONVERSATION_CALLS: u64 = 400;

/// What is called, and how often of a hundred times.
const CALL_MIX: [(&str, u64); 4] = [("small", 80), ("text", 12), ("slow", 6), ("large", 2)];

/// A caller whose conversations last for a while and end in every way.
pub(super) struct RandomCaller {
    route: Route,
    peer: Endpoint,
    pages: usize,
    /// Pages from this number on move about.
    staying_pages: usize,
    answers: Vec<(&'static str, AnswerChecker)>,
    random: Random,
    tally: Arc<Counters>,
    ids: std::ops::Range<u64>,
}

/// Of a hundred calls, so many go to pages that move about: each may wait for its page's grace.
const MOVING_PERCENT: u64 = 15;

/// How a conversation goes on.
enum ConversationState {
    Continue,
    Ended,
}

impl RandomCaller {
    pub(super) fn new(
        mixed: &Soak,
        number: usize,
        staying_pages: usize,
        random: Random,
        tally: Arc<Counters>,
    ) -> Self {
        let route = [Route::ToolCall, Route::Mcp2025, Route::Mcp2026][number % 3];
        let answers = |kind| (kind, AnswerChecker::new(route, Dialect::V2, payload(kind)));
        Self {
            route,
            peer: Endpoint {
                address: mixed.address,
                token: mixed.token.clone(),
                mcp_session: None,
            },
            pages: mixed.pages,
            staying_pages,
            answers: ["small", "text", "large"].map(answers).into(),
            random,
            tally,
            ids: CALL_IDS,
        }
    }

    pub(super) async fn run(mut self) -> Result<()> {
        loop {
            let mut connection = Connection::open(self.peer.address).await?;
            if self.route == Route::Mcp2025 {
                self.peer.mcp_session = None;
                callers::open_session(&mut connection, &mut self.peer).await?;
                increment(&self.tally.mcp_sessions);
            }
            for _ in 0..self.random.between(1, MAX_CONVERSATION_CALLS) {
                if let ConversationState::Ended = self.call(&mut connection).await? {
                    connection = Connection::open(self.peer.address).await?;
                }
            }
            // One of ten forgets its session, as clients do that crash.
            if self.peer.mcp_session.is_some() && !self.random.percent(10) {
                let mut request = RequestTemplate::end_session(&self.peer);
                let ended = connection.request(request.with_id(CALL_IDS.start)).await?;
                ensure!(
                    ended.status < 300,
                    "DELETE is answered with {}",
                    ended.status
                );
            }
        }
    }

    async fn call(&mut self, connection: &mut Connection) -> Result<ConversationState> {
        let (page, kind) = (self.page(), self.kind());
        let id = self.ids.next().context("all ids are used up")?;
        let callee = Callee {
            tool: tool_name(page, kind),
            session: None,
        };
        let mut request = RequestTemplate::call(self.route, &self.peer, &callee);
        let asked = connection.request(request.with_id(id));
        if kind == "slow" {
            let patience = Duration::from_millis(self.random.below(MAX_CANCEL_DELAY_MS));
            // An answer says that the page is gone.
            if timeout(patience, asked).await.is_err() {
                self.cancel(id).await?;
                increment(&self.tally.cancelled);
                return Ok(ConversationState::Ended);
            }
            increment(&self.tally.failed);
            return Ok(ConversationState::Continue);
        }
        let answer = timeout(ANSWER_TIMEOUT, asked).await;
        let answer = answer.with_context(|| format!("no answer to {}", callee.tool))??;
        let mut answers = self.answers.iter_mut();
        let (_, answers) = answers.find(|(of, _)| *of == kind).context("a kind")?;
        match answers.check(answer.message, id) {
            Ok(()) => increment(&self.tally.answered),
            Err(_) if page >= self.staying_pages && is_failure(answer.message, id, self.route) => {
                increment(&self.tally.failed);
            }
            Err(error) => return Err(error.context(format!("status {}", answer.status))),
        }
        Ok(ConversationState::Continue)
    }

    /// What a client does beside closing its connection.
    async fn cancel(&mut self, id: u64) -> Result<()> {
        if self.route == Route::Mcp2025 {
            let mut connection = Connection::open(self.peer.address).await?;
            let mut request = RequestTemplate::cancelled(&self.peer, id);
            let heard = connection.request(request.with_id(id)).await?;
            ensure!(
                heard.status == 202,
                "a cancel is answered with {}",
                heard.status
            );
        }
        Ok(())
    }

    fn page(&mut self) -> usize {
        let pages = if self.random.percent(MOVING_PERCENT) {
            self.staying_pages..self.pages
        } else {
            0..self.staying_pages
        };
        pages.start + self.random.below(pages.len() as u64) as usize
    }

    fn kind(&mut self) -> &'static str {
        let mut at = self.random.below(100);
        for (kind, share) in CALL_MIX {
            match at.checked_sub(share) {
                Some(rest) => at = rest,
                None => return kind,
            }
        }
        CALL_MIX[0].0
    }
}

/// Whether it is an honest failure: of this call, in the route's words.
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
