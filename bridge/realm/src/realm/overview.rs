//! The realm of an operator, who sees and ends its pages and calls.

use bridge_protocol::{CallId, ErrorCode, QueryId, SessionId};
use serde::Serialize;
use web_time::Instant;

use super::closing::CLOSED_BY_OPERATOR;
use super::{Effects, Now, PageOverview, PageRequest, Realm, RealmCall, Receipt, Session};

/// A running call for an operator, without its arguments.
#[derive(Clone, Debug, Serialize)]
pub struct CallOverview {
    pub call: CallId,
    pub subject: Option<String>,
    pub client: Option<String>,
    pub page: SessionId,
    /// `tool`, `prompt`, `resource` or `completion`.
    pub kind: &'static str,
    pub name: String,
    /// `sent`, `received` by the page, `between documents`, or `parked` until its client continues it.
    pub state: &'static str,
    /// The seconds until it times out.
    pub seconds_left: u64,
    pub query: Option<QueryId>,
}

impl Realm {
    /// The subject of the user, if a page has a token with one.
    pub fn subject(&self) -> Option<&str> {
        self.sessions.values().find_map(Session::subject_id)
    }

    /// The pages, in order of connection.
    pub fn page_overviews(&self) -> impl Iterator<Item = PageOverview> {
        let sessions = self.sessions.iter();
        sessions.map(|(id, session)| session.overview(id))
    }

    /// The running calls, in no order.
    pub fn call_overviews(&self, now: Instant) -> impl Iterator<Item = CallOverview> {
        let calls = self.calls.iter();
        calls.map(move |(id, call)| call.overview(id, now))
    }

    /// Whether this call is running.
    pub fn has_call(&self, id: &CallId) -> bool {
        self.calls.contains_key(id)
    }

    /// The operator ends a session. The page does not connect again by itself. Returns `None` if it does
    /// not exist.
    pub fn closed_by_operator(&mut self, id: &SessionId, now: Now) -> Option<Effects> {
        let exists = self.sessions.contains_key(id);
        exists.then(|| self.close_session(id, ErrorCode::AccessDenied, CLOSED_BY_OPERATOR, now))
    }
}

impl RealmCall {
    fn overview(&self, id: &CallId, now: Instant) -> CallOverview {
        let caller = self.context.caller.as_ref();
        let client = self.context.client.as_ref();
        CallOverview {
            call: id.clone(),
            subject: caller.and_then(|caller| caller.sub.clone()),
            client: client.map(|client| client.info.name.clone()),
            page: self.session.clone(),
            kind: match self.request {
                PageRequest::Tool { .. } => "tool",
                PageRequest::Prompt { .. } => "prompt",
                PageRequest::Resource { .. } => "resource",
                PageRequest::Completion { .. } => "completion",
            },
            name: self.request.name().to_owned(),
            state: match self.receipt {
                _ if self.is_parked() => "parked",
                Receipt::Received => "received",
                Receipt::AwaitsDocument { .. } => "between documents",
                Receipt::Awaited { .. } | Receipt::Probed { .. } => "sent",
            },
            seconds_left: self.expires().saturating_duration_since(now).as_secs(),
            query: self.context.query_id.clone(),
        }
    }
}
