//! A query of a page to an agent, either running or ended.

mod approvals;
mod delivery;
mod page;
mod result;
mod tool_calls;

use std::time::Duration;
use web_time::Instant;

use bridge_protocol::{Query, QueryId, QueryTool, SessionId};
use serde_json::value::RawValue;

use super::{CallOutcome, Now, PageAbilities, QueryLimits, RealmCall};

pub(super) use approvals::{AfterSending, Approvals, with_time_left};
pub(super) use delivery::QueryDelivery;
pub use page::QueryPage;
pub use result::CompletedQuery;
pub(super) use tool_calls::ToolCalls;

/// The origin of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryOrigin {
    /// A page, which receives the answer on its socket.
    Page(PageAbilities),
    /// A frontend, which receives the answer from its agent. Nothing is sent on the socket of its
    /// page.
    Frontend,
}

/// Whether the tools of a query's page can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PagePresence {
    /// The document of the query is connected to its session or may still reconnect.
    Attached,
    /// Another document has attached and has not registered its tools yet.
    Reattaching,
    /// The document is gone; another one may attach to the query.
    Detached { until: Instant },
}

/// The tools that a query may call and must call, and how long it may take.
#[derive(Debug)]
pub struct QueryPolicy {
    response_tool: Option<String>,
    /// The only tools that the query may call; `None` means all tools of its session.
    allowed_tools: Option<Vec<String>>,
    timeout: Option<Duration>,
}

impl QueryPolicy {
    /// Builds the policy from the fields of these names in a [`bridge_protocol::Query`].
    pub fn new(
        response_tool: Option<&QueryTool>,
        tools: Option<&[QueryTool]>,
        restrict_tools: Option<bool>,
        timeout: Option<u64>,
    ) -> Self {
        let restricted = restrict_tools.unwrap_or_default();
        let allowed_tools = tools.filter(|_| restricted).map(|tools| {
            let tools = tools.iter().chain(response_tool);
            tools.map(|tool| tool.name.clone()).collect()
        });
        Self {
            response_tool: response_tool.map(|tool| tool.name.clone()),
            allowed_tools,
            timeout: timeout.map(Duration::from_millis),
        }
    }

    pub(in crate::realm) fn from_query(query: &Query) -> Self {
        Self::new(
            query.response_tool.as_ref(),
            query.tools.as_deref(),
            query.restrict_tools,
            query.timeout,
        )
    }

    /// The timeout of the query, which is at most that of the bridge.
    pub(super) fn effective_timeout(&self, max_timeout: Duration) -> Duration {
        self.timeout.map_or(max_timeout, |own| own.min(max_timeout))
    }
}

/// A query that has not ended.
#[derive(Debug)]
pub(super) struct RunningQuery {
    pub(super) session: SessionId,
    pub(super) origin: QueryOrigin,
    policy: QueryPolicy,
    pub(super) page_presence: PagePresence,
    pub(super) delivery: QueryDelivery,
    pub(super) tool_calls: ToolCalls,
    pub(super) approvals: Approvals,
    /// Whether the agent must be sent a cancellation whenever the query ends without it, and not
    /// only when the page cancels the query.
    pub(super) cancel_agent_on_end: bool,
    expires: Instant,
    began: Instant,
    /// Whether the agent answers with a stream of events.
    pub(super) is_streaming: bool,
    /// Whether the response tool was called, so that only the rest of the stream is awaited.
    pub(super) has_response: bool,
}

impl RunningQuery {
    pub(super) fn new(
        policy: QueryPolicy,
        session: SessionId,
        origin: QueryOrigin,
        limits: &QueryLimits,
        now: Now,
    ) -> Self {
        let (is_replayable, cancel_agent_on_end) = match origin {
            QueryOrigin::Page(page) => (page.resumes_sessions, page.has_controllable_agent),
            QueryOrigin::Frontend => (false, true),
        };
        Self {
            session,
            origin,
            page_presence: PagePresence::Attached,
            delivery: QueryDelivery::new(is_replayable && !limits.attach_timeout.is_zero()),
            tool_calls: ToolCalls::new(limits.max_tool_call_bytes),
            approvals: Approvals::default(),
            cancel_agent_on_end,
            expires: now.instant + policy.effective_timeout(limits.timeout),
            began: now.instant,
            policy,
            is_streaming: false,
            has_response: false,
        }
    }

    /// How long the query has been running, in milliseconds.
    pub(super) fn age_ms(&self, now: Now) -> u64 {
        now.ms_since(self.began)
    }

    /// Stores progress of the agent for the page.
    pub(super) fn record_progress(&mut self, content: Box<RawValue>, now: Instant) {
        let number = self.delivery.progress_count() + 1;
        self.approvals.record_request(&content, number, now);
        self.delivery.push_progress(content);
    }

    /// Writes the times that are left now into the open requests for approval, because a page is about
    /// to receive them later than they came.
    pub(super) fn update_approval_times(&mut self, now: Instant) {
        for (number, left_ms) in self.approvals.times_left(now) {
            self.delivery
                .update_progress(number, |request| with_time_left(request, left_ms));
        }
    }

    /// Records that the response tool was called. The agent may finish its stream until `until`.
    pub(super) fn record_response(&mut self, until: Instant) {
        self.has_response = true;
        self.expires = self.expires.min(until);
    }

    pub(super) fn deadline(&self) -> Instant {
        match self.page_presence {
            PagePresence::Detached { until } => until.min(self.expires),
            PagePresence::Attached | PagePresence::Reattaching => self.expires,
        }
    }

    /// Extends the timeouts by a time in which the bridge itself did not run.
    pub(super) fn extend(&mut self, by: Duration) {
        self.expires += by;
        if let PagePresence::Detached { until } = &mut self.page_presence {
            *until += by;
        }
    }

    /// Whether the query itself has timed out, and not only the wait for its page.
    pub(super) fn has_expired(&self, now: Instant) -> bool {
        self.expires <= now
    }

    /// Whether the query has a timeout that is shorter than that of the bridge.
    pub(super) fn has_own_timeout(&self, max_timeout: Duration) -> bool {
        self.policy.timeout.is_some_and(|own| own < max_timeout)
    }

    /// The tool that the agent must call to answer.
    pub(super) fn response_tool(&self) -> Option<&str> {
        self.policy.response_tool.as_deref()
    }

    /// Whether the query may call a tool of this name.
    pub(super) fn allows_tool(&self, tool: &str) -> bool {
        let allowed = self.allowed_tools();
        allowed.is_none_or(|allowed| allowed.iter().any(|name| name == tool))
    }

    /// The only tools that the query may call; `None` means all.
    pub(super) fn allowed_tools(&self) -> Option<&[String]> {
        self.policy.allowed_tools.as_deref()
    }

    /// Whether this is a successful call of the response tool.
    pub(super) fn is_response(&self, call: &RealmCall, outcome: &CallOutcome) -> bool {
        matches!(outcome, CallOutcome::Answered(_))
            && self.response_tool() == Some(call.request.name())
    }
}

/// A query that has ended and is still recorded.
#[derive(Debug)]
pub(super) struct EndedQuery {
    pub(super) session: SessionId,
    /// The messages that the page has not received yet, or that another document may request again.
    pub(super) delivery: QueryDelivery,
    /// Whether another document must attach before anything is sent, because the document that sent
    /// the query is gone.
    pub(super) must_attach: bool,
    /// Until when another document may attach; `None` when it can no longer attach.
    pub(super) attachable_until: Option<Instant>,
    pub(super) state: EndedQueryState,
}

/// How the bridge answers requests about an ended query from anybody but its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndedQueryState {
    /// The query is unknown, because its id is no longer valid for the agent.
    Released,
    /// The agent is being sent a cancellation. The id is released at `until` at the latest.
    CancellingAgent { until: Instant },
    /// The page is gone. The id is released at `until`.
    PageGone { until: Instant },
}

impl EndedQueryState {
    /// When the id of the query is released; `None` if it is released already.
    pub(super) fn until(self) -> Option<Instant> {
        match self {
            EndedQueryState::Released => None,
            EndedQueryState::CancellingAgent { until } | EndedQueryState::PageGone { until } => {
                Some(until)
            }
        }
    }
}

impl EndedQuery {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.state
            .until()
            .into_iter()
            .chain(self.attachable_until)
            .min()
    }
}

/// Whether the id can be part of a URL path. It may contain letters, digits, `-`, `_` and `.`, and
/// must begin with a letter or digit.
pub(super) fn is_valid_id(id: &QueryId) -> bool {
    let text = id.as_str().as_bytes();
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    text.first().is_some_and(u8::is_ascii_alphanumeric) && text.iter().all(is_allowed)
}

/// Whether the id cannot be guessed: a UUID of version 4 has 122 random bits (RFC 9562 section
/// 5.4).
pub fn is_unguessable_id(id: &QueryId) -> bool {
    let uuid = uuid::Uuid::try_parse(id.as_str());
    let is_random = |uuid: uuid::Uuid| {
        uuid.get_version_num() == 4 && uuid.get_variant() == uuid::Variant::RFC4122
    };
    id.as_str().len() == 36 && uuid.is_ok_and(is_random)
}
