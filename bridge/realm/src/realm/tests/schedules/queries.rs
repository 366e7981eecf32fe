//! Queries in the schedules: the steps of pages and agents, and the rules for messages to pages.

use crate::realm::AgentEffect;
use std::collections::BTreeMap;

use bridge_protocol::{QueryAnswer, QueryId};
use proptest::prelude::*;

use super::super::queries::{agent_failed, id, query_call, query_message, query_tool};
use super::super::*;
use super::ScheduleRun;

#[derive(Clone, Debug)]
pub(super) enum QueryStep {
    Asked { tab: u8, query: u8 },
    Accepted { query: u8 },
    Refused { query: u8 },
    Progressed { query: u8 },
    Completed { query: u8 },
    Failed { query: u8 },
    AgentLost { query: u8 },
    Cancelled { query: u8 },
    CancelledByPage { tab: u8, query: u8 },
    Attached { tab: u8, query: u8 },
    Opened { tab: u8, query: u8 },
    AgentStopped { query: u8 },
    Called { tab: u8, query: u8 },
    ApprovalRequested { query: u8 },
    ApprovalAnswered { tab: u8, query: u8 },
    ApprovalSent { query: u8, has_arrived: bool },
}

pub(super) fn any_query_step() -> impl Strategy<Value = QueryStep> {
    let tab = 0..3u8;
    let query = 0..8u8;
    prop_oneof![
        6 => (tab.clone(), query.clone()).prop_map(|(tab, query)| QueryStep::Asked { tab, query }),
        4 => query.clone().prop_map(|query| QueryStep::Accepted { query }),
        1 => query.clone().prop_map(|query| QueryStep::Refused { query }),
        4 => query.clone().prop_map(|query| QueryStep::Progressed { query }),
        1 => query.clone().prop_map(|query| QueryStep::Completed { query }),
        1 => query.clone().prop_map(|query| QueryStep::Failed { query }),
        1 => query.clone().prop_map(|query| QueryStep::AgentLost { query }),
        1 => query.clone().prop_map(|query| QueryStep::Cancelled { query }),
        1 => (tab.clone(), query.clone())
            .prop_map(|(tab, query)| QueryStep::CancelledByPage { tab, query }),
        4 => (tab.clone(), query.clone())
            .prop_map(|(tab, query)| QueryStep::Attached { tab, query }),
        1 => (tab.clone(), query.clone()).prop_map(|(tab, query)| QueryStep::Opened { tab, query }),
        1 => query.clone().prop_map(|query| QueryStep::AgentStopped { query }),
        4 => (tab.clone(), query.clone())
            .prop_map(|(tab, query)| QueryStep::Called { tab, query }),
        2 => query.clone().prop_map(|query| QueryStep::ApprovalRequested { query }),
        3 => (tab, query.clone())
            .prop_map(|(tab, query)| QueryStep::ApprovalAnswered { tab, query }),
        2 => (query, any::<bool>())
            .prop_map(|(query, has_arrived)| QueryStep::ApprovalSent { query, has_arrived }),
    ]
}

/// The progress of a query as it can be observed outside its realm.
#[derive(Debug, Default)]
struct ObservedQuery {
    accepted: bool,
    /// Whether the final message was sent to the page.
    final_message_delivered: bool,
    /// Whether the token of the agent was revoked, with or without a cancellation.
    ended: bool,
    cancelled_by_page: bool,
    /// Whether a frontend has started the query, so that nothing is sent to the page.
    silent: bool,
    /// The rounds of the requests for approval whose answers are being sent.
    rounds_in_transit: Vec<u64>,
}

/// All queries that were started. An id may be reused after it was forgotten.
#[derive(Debug, Default)]
pub(super) struct QueryTracker {
    started: u64,
    ended: u64,
    observed: BTreeMap<QueryId, ObservedQuery>,
}

impl QueryTracker {
    pub(super) fn observe(&mut self, effect: &Effect) {
        match effect {
            Effect::Agent(AgentEffect::Start { query, .. }) => {
                self.begin(&query.uuid, ObservedQuery::default())
            }
            Effect::Agent(AgentEffect::Cancel { query })
            | Effect::Agent(AgentEffect::Revoke { query }) => {
                self.ended += 1;
                let seen = self.observed.get_mut(query).unwrap();
                assert!(
                    !std::mem::replace(&mut seen.ended, true),
                    "{query} ended twice"
                );
            }
            Effect::Agent(AgentEffect::PageAttached { query }) => {
                assert!(
                    !self.observed[query].ended,
                    "a page attached to {query} after its end"
                );
            }
            Effect::Agent(AgentEffect::SendApproval { query, round, .. }) => {
                let seen = self.observed.get_mut(query).unwrap();
                assert!(!seen.ended, "an approval of {query} is sent after its end");
                assert!(
                    !seen.rounds_in_transit.contains(round),
                    "an approval of {query} is sent twice"
                );
                seen.rounds_in_transit.push(*round);
            }
            Effect::Agent(AgentEffect::Forget { query }) => {
                assert!(self.observed[query].ended, "{query}")
            }
            Effect::Send { message, .. } => self.observe_message(message),
            _ => {}
        }
    }

    fn begin(&mut self, query: &QueryId, seen: ObservedQuery) {
        self.started += 1;
        let former = self.observed.insert(query.clone(), seen);
        assert!(
            former.is_none_or(|it| it.ended),
            "{query} was started while it was running"
        );
    }

    /// The page may receive the same messages again, because it attaches to the query.
    fn reset_delivery(&mut self, query: &QueryId) {
        if let Some(seen) = self.observed.get_mut(query) {
            seen.accepted = false;
            seen.final_message_delivered = false;
        }
    }

    fn observe_message(&mut self, message: &BridgeToPage) {
        let (query, is_end) = match message {
            BridgeToPage::QueryAccepted(it) => (&it.uuid, false),
            BridgeToPage::QueryProgress(it) => (&it.uuid, false),
            BridgeToPage::QueryComplete(it) => (&it.uuid, true),
            BridgeToPage::QueryCancel(it) => (&it.uuid, true),
            // These failures refuse a duplicate id, a query above the limit, or an attachment to an
            // unknown query. They do not end a query.
            BridgeToPage::QueryFailure(it) if is_refusal(it.code) => return,
            BridgeToPage::QueryFailure(it) => (&it.uuid, true),
            _ => return,
        };
        let seen = self.observed.get_mut(query).unwrap();
        assert!(
            !seen.silent,
            "a message of {query} was sent to a page that did not start it"
        );
        assert!(
            !seen.final_message_delivered,
            "a message of {query} was sent after its end"
        );
        assert!(
            !seen.cancelled_by_page,
            "a message of {query} was sent after the page's cancel"
        );
        seen.final_message_delivered = is_end;
        match message {
            BridgeToPage::QueryAccepted(_) => {
                assert!(!std::mem::replace(&mut seen.accepted, true), "{query}");
            }
            BridgeToPage::QueryFailure(_) => {}
            _ => assert!(seen.accepted, "{query} has not been accepted"),
        }
    }

    pub(super) fn check_end(&self) {
        assert_eq!(self.started, self.ended);
    }
}

fn is_refusal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::QueryCompleted | ErrorCode::QueryLimitExceeded | ErrorCode::QueryNotFound
    )
}

impl ScheduleRun {
    fn has_tools(&self, session: &SessionId) -> bool {
        // Those of a former document do not count: the new one has to register its own.
        let open = self.realm.sessions.get(session);
        if open.is_none_or(|session| session.items_are_former()) {
            return false;
        }
        let tools = self.realm.published_by(Kind::Tool, session);
        tools.is_some_and(|tools| !tools.is_empty())
    }

    pub(super) fn apply_query(&mut self, step: QueryStep, number: u64) -> Effects {
        let name = |query: u8| id(&format!("q{query}"));
        let realm = &mut self.realm;
        match step {
            QueryStep::Asked { tab, query } => {
                let connection = self.connection(tab);
                let mut asked = query_message(name(query).as_str());
                // All calls in these schedules use the tool `t0`.
                asked.response_tool = (query % 2 == 1).then(|| query_tool("t0"));
                let session = Self::session(tab);
                let page = self.realm.session_on(&session, connection);
                // The realm ignores a basic page that repeats a running query.
                let attaches = page.is_some_and(|page| page.abilities().resumes_sessions)
                    && self.realm.can_attach_query(&session, &asked.uuid);
                if attaches {
                    self.queries.reset_delivery(&asked.uuid);
                }
                self.realm
                    .query_asked(&session, connection, asked, self.now)
            }
            QueryStep::Attached { tab, query } => {
                let (session, connection) = (Self::session(tab), self.connection(tab));
                let query = name(query);
                if self.realm.can_attach_query(&session, &query) {
                    self.queries.reset_delivery(&query);
                }
                let effects = self
                    .realm
                    .query_attached(&session, connection, &query, self.now);
                let awaits = self.realm.is_query_detached(&query);
                let is_back =
                    |it: &Effect| matches!(it, Effect::Agent(AgentEffect::PageAttached { .. }));
                assert!(!effects.iter().any(is_back) || !awaits || !self.has_tools(&session));
                effects
            }
            QueryStep::Opened { tab, query } => {
                let terms = QueryPolicy::from_query(&query_message(name(query).as_str()));
                let session = Self::session(tab);
                let opened = self
                    .realm
                    .query_opened(&name(query), &session, terms, self.now);
                if opened.is_ok() {
                    let silent = ObservedQuery {
                        silent: true,
                        ..ObservedQuery::default()
                    };
                    self.queries.begin(&name(query), silent);
                }
                Vec::new()
            }
            QueryStep::Accepted { query } if query % 4 == 1 => {
                realm.query_stream_opened(&name(query))
            }
            QueryStep::Accepted { query } => realm.query_accepted(&name(query)),
            QueryStep::Refused { query } => {
                let why = QueryError::new(ErrorCode::AgentUnavailable, "no", None);
                realm.query_refused(&name(query), why, self.now)
            }
            QueryStep::Progressed { query } => realm
                .query_progressed(&name(query), raw("\"p\""), self.now)
                .unwrap_or_default(),
            QueryStep::Completed { query } => {
                let result = Some(raw("1"));
                realm.query_completed(&name(query), result, self.now).1
            }
            QueryStep::Failed { query } => {
                let why = agent_failed("no");
                realm.query_failed(&name(query), why, self.now).1
            }
            QueryStep::AgentLost { query } => {
                // A stream can only be lost after the agent has accepted.
                let mut effects = realm.query_stream_opened(&name(query));
                let why = agent_failed("cut");
                effects.extend(realm.agent_lost(&name(query), why, self.now));
                effects
            }
            QueryStep::Cancelled { query } => realm.query_cancelled(&name(query), None, self.now).1,
            QueryStep::CancelledByPage { tab, query } => {
                let (session, connection) = (Self::session(tab), self.connection(tab));
                let query = name(query);
                let effects = self
                    .realm
                    .query_cancelled_by_page(&session, connection, &query, self.now);
                if !effects.is_empty() {
                    self.queries
                        .observed
                        .get_mut(&query)
                        .unwrap()
                        .cancelled_by_page = true;
                }
                effects
            }
            QueryStep::AgentStopped { query } => realm.agent_cancelled(&name(query)),
            QueryStep::ApprovalRequested { query } => {
                let content = raw(r#"{"type":"approval-requested","id":"a"}"#);
                realm
                    .query_progressed(&name(query), content, self.now)
                    .unwrap_or_default()
            }
            QueryStep::ApprovalAnswered { tab, query } => {
                let (session, connection) = (Self::session(tab), self.connection(tab));
                let answer = QueryAnswer {
                    uuid: name(query),
                    id: "a".to_owned(),
                    approved: true,
                };
                self.realm.approval_answered(&session, connection, answer)
            }
            QueryStep::ApprovalSent { query, has_arrived } => {
                // The outcome of an earlier request may come after a newer request.
                let seen = self.queries.observed.get_mut(&name(query));
                let rounds = seen.map(|seen| &mut seen.rounds_in_transit);
                let rounds = rounds.filter(|rounds| !rounds.is_empty());
                let round = rounds.map_or(0, |rounds| rounds.remove(0));
                let outcome = if has_arrived {
                    Ok(())
                } else {
                    Err(agent_failed("no"))
                };
                realm.approval_sent(&name(query), "a", round, outcome)
            }
            QueryStep::Called { tab, query } => {
                let call = CallId(format!("c{number}"));
                let new = query_call(name(query).as_str(), call.as_str(), tool("t0"));
                let session = Self::session(tab);
                let Ok(effects) = self.realm.call_requested(&session, new, self.now) else {
                    return Vec::new();
                };
                let running = &self.queries.observed[&name(query)];
                assert!(!running.ended, "a tool runs after the end of its query");
                self.calls.push((call, tab));
                effects
            }
        }
    }
}
