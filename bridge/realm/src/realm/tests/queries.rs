//! Named behaviours of queries. The module `schedules` checks what holds in every order of events.

mod approvals;
mod attaching;
mod away;
mod calls;

use crate::realm::AgentEffect;
use bridge_protocol::{Query as Asked, QueryId, QueryTool};

use super::*;

pub(super) const QUERY: &str = "q";

pub(super) fn id(text: &str) -> QueryId {
    QueryId::from(text)
}

pub(super) fn query_message(uuid: &str) -> Asked {
    Asked::new(uuid, "what?")
}

pub(super) fn agent_failed(error: &str) -> QueryError {
    QueryError::from_agent(error.to_owned(), None, None)
}

pub(super) fn query_tool(name: &str) -> QueryTool {
    QueryTool {
        name: name.to_owned(),
        description: None,
        input_schema: None,
        output_schema: None,
    }
}

/// A tool call that the agent makes for a query.
pub(super) fn query_call(query: &str, call: &str, tool: SharedDefinition) -> NewCall {
    let mut call = new_call(call, tool);
    call.context.query_id = Some(id(query));
    call
}

impl Harness {
    fn ask_agent(&mut self, asked: Asked) -> &mut Self {
        let effects = self
            .realm
            .query_asked(&TAB.into(), FIRST_CONNECTION, asked, self.now);
        self.apply(effects)
    }

    fn accept(&mut self) -> &mut Self {
        let effects = self.realm.query_accepted(&id(QUERY));
        self.apply(effects)
    }

    /// Creates a page with a query that the agent has accepted.
    fn with_accepted_query() -> Self {
        let mut scene = Self::with_page();
        scene.ask_agent(query_message(QUERY)).accept();
        scene
    }

    fn progress(&mut self, text: &str) -> Result<(), ReportRejected> {
        let content = raw(&format!("\"{text}\""));
        let effects = self.realm.query_progressed(&id(QUERY), content, self.now)?;
        self.apply(effects);
        Ok(())
    }

    fn complete(&mut self) -> Result<(), ReportRejected> {
        self.complete_with(Some(raw("\"done\"")))
    }

    fn complete_with(&mut self, result: impl Into<CompletedQuery>) -> Result<(), ReportRejected> {
        let (outcome, effects) = self.realm.query_completed(&id(QUERY), result, self.now);
        self.apply(effects);
        outcome
    }

    /// The final message that was sent, as JSON.
    fn complete_message(&self) -> serde_json::Value {
        let message = self.effects.iter().find_map(|effect| match effect {
            Effect::Send {
                message: message @ BridgeToPage::QueryComplete(_),
                ..
            } => Some(message.encode()),
            _ => None,
        });
        serde_json::from_str(&message.unwrap()).unwrap()
    }

    fn cancel_by_page(&mut self) {
        let effects =
            self.realm
                .query_cancelled_by_page(&TAB.into(), FIRST_CONNECTION, &id(QUERY), self.now);
        self.apply(effects);
    }

    fn call_for_query(&mut self, call: &str, name: &str) -> Result<(), CallFailure> {
        let call = query_call(QUERY, call, tool(name));
        let effects = self.realm.call_requested(&TAB.into(), call, self.now)?;
        self.apply(effects);
        Ok(())
    }

    /// The effects of the last event in a short text form.
    fn effect_log(&self) -> Vec<String> {
        let word = |effect: &Effect| match effect {
            Effect::Send { message, .. } => Some(match message {
                BridgeToPage::QueryAccepted(_) => "accepted".to_owned(),
                BridgeToPage::QueryProgress(it) => it.content.get().to_owned(),
                BridgeToPage::QueryComplete(it) => {
                    let tools = it.tool_calls.iter().map(|it| it.tool.as_str());
                    let result = it.result.as_ref().map_or("nothing", |it| it.get());
                    format!("complete {result} {:?}", tools.collect::<Vec<_>>())
                }
                BridgeToPage::QueryFailure(it) => format!("failure {}", it.code),
                BridgeToPage::QueryCancel(_) => "cancel".to_owned(),
                BridgeToPage::CallCancel(it) => format!("call-cancel {}", it.request_id),
                _ => return None,
            }),
            Effect::CompleteCall { call, .. } => Some(format!("end {call}")),
            Effect::Agent(AgentEffect::Start {
                query, with_token, ..
            }) => Some(format!("ask {} {with_token}", query.uuid)),
            Effect::Agent(AgentEffect::PageAttached { query }) => Some(format!("has page {query}")),
            Effect::Agent(AgentEffect::SendApproval {
                query,
                call,
                approved,
                ..
            }) => Some(format!("approve {query} {call} {approved}")),
            Effect::Agent(AgentEffect::Cancel { query }) => Some(format!("stop {query}")),
            Effect::Agent(AgentEffect::Revoke { query }) => Some(format!("ended {query}")),
            Effect::Agent(AgentEffect::Forget { query }) => Some(format!("forgotten {query}")),
            _ => None,
        };
        self.effects.iter().filter_map(word).collect()
    }
}

#[test]
fn events_are_held_back_until_the_agent_has_accepted() {
    let mut scene = Harness::with_page();
    assert_eq!(
        scene.ask_agent(query_message(QUERY)).effect_log(),
        ["ask q true"]
    );
    scene.progress("one").unwrap();
    scene.progress("two").unwrap();
    assert!(scene.effect_log().is_empty());
    assert_eq!(
        scene.accept().effect_log(),
        ["accepted", "\"one\"", "\"two\""]
    );
    scene.progress("three").unwrap();
    assert_eq!(scene.effect_log(), ["\"three\""]);
    scene.complete().unwrap();
    assert_eq!(
        scene.effect_log(),
        ["complete \"done\" []", "ended q", "forgotten q"]
    );
    assert_eq!(scene.complete(), Err(ReportRejected::NotFound));
    assert!(scene.effect_log().is_empty() && scene.accept().effect_log().is_empty());
}

#[test]
fn completing_before_acceptance_implies_acceptance() {
    let mut scene = Harness::with_page();
    scene.ask_agent(query_message(QUERY));
    scene.progress("one").unwrap();
    scene.complete().unwrap();
    let expected = ["accepted", "\"one\"", "complete \"done\" []"];
    assert_eq!(scene.effect_log()[..3], expected);
    // A refusal that arrives after the end of the query is ignored.
    let why = QueryError::new(ErrorCode::AgentUnavailable, "500", None);
    let effects = scene.realm.query_refused(&id(QUERY), why, scene.now);
    assert!(scene.apply(effects).effect_log().is_empty());
}

#[test]
fn a_query_that_is_not_accepted_has_only_a_failure() {
    let mut scene = Harness::with_page();
    scene.ask_agent(query_message(QUERY));
    scene.progress("one").unwrap();
    let why = QueryError::new(ErrorCode::AgentUnavailable, "500", None);
    let effects = scene.realm.query_refused(&id(QUERY), why, scene.now);
    let expected = ["failure AgentUnavailable", "ended q", "forgotten q"];
    assert_eq!(scene.apply(effects).effect_log(), expected);
}

#[test]
fn progress_before_acceptance_is_bounded_and_the_newest_is_kept() {
    let mut scene = Harness::with_page();
    scene.ask_agent(query_message(QUERY));
    for n in 0..10 {
        let long = format!("{n}{}", "x".repeat(100_000));
        scene.progress(&long).unwrap();
    }
    let log = scene.accept().effect_log();
    assert_eq!(log.len(), 4);
    assert!(log[0] == "accepted" && log[1].contains("not kept any more"));
    assert!(log[2].starts_with("\"8") && log[3].starts_with("\"9"));
}

#[test]
fn a_query_id_cannot_be_reused() {
    let mut scene = Harness::with_accepted_query();
    // A page that repeats its query is sent the acceptance again.
    let again = ["accepted", "has page q"];
    assert_eq!(scene.ask_agent(query_message(QUERY)).effect_log(), again);
    scene.complete().unwrap();
    let again = ["accepted", "complete \"done\" []"];
    assert_eq!(scene.ask_agent(query_message(QUERY)).effect_log(), again);
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert_eq!(
        scene.ask_agent(query_message(QUERY)).effect_log(),
        ["failure QueryCompleted"]
    );
}

#[test]
fn running_queries_are_limited_and_every_end_frees_a_slot() {
    let mut scene = Harness::with_page();
    for round in 0..4 {
        let query = |n: usize| format!("q{round}-{n}");
        for n in 0..TEST_LIMITS.queries.max_queries {
            scene.ask_agent(query_message(&query(n)));
            let effects = scene.realm.query_accepted(&id(&query(n)));
            scene.apply(effects);
        }
        assert_eq!(
            scene.ask_agent(query_message("more")).effect_log(),
            ["failure QueryLimitExceeded"]
        );
        for n in 0..TEST_LIMITS.queries.max_queries {
            let id = id(&query(n));
            let effects = match round {
                0 => {
                    scene
                        .realm
                        .query_completed(&id, Some(raw("1")), scene.now)
                        .1
                }
                1 => {
                    scene
                        .realm
                        .query_failed(&id, agent_failed("no"), scene.now)
                        .1
                }
                2 => scene.realm.query_cancelled(&id, None, scene.now).1,
                _ => {
                    let page = TAB.into();
                    scene
                        .realm
                        .query_cancelled_by_page(&page, FIRST_CONNECTION, &id, scene.now)
                }
            };
            scene.apply(effects);
        }
        assert_eq!(scene.realm.query_count(), 0);
    }
    assert_eq!(
        scene.ask_agent(query_message("more")).effect_log(),
        ["ask more true"]
    );
}

#[test]
fn a_page_cancel_silences_the_query_and_cancels_the_agent() {
    let mut scene = Harness::with_accepted_query();
    scene.call_for_query("c", "echo").unwrap();
    scene.cancel_by_page();
    assert_eq!(scene.effect_log(), ["call-cancel c", "end c", "stop q"]);
    // The query stays in the state `Cancelling` until the agent has confirmed the cancellation.
    let session = scene.realm.query_session(&id(QUERY)).cloned();
    assert_eq!(session, Err(ReportRejected::Cancelling));
    assert_eq!(scene.progress("late"), Err(ReportRejected::Cancelling));
    assert_eq!(scene.complete(), Err(ReportRejected::Cancelling));
    let late = scene.call_for_query("d", "echo").unwrap_err();
    assert_eq!(late.code, ErrorCode::QueryNotActive);
    let effects = scene.realm.agent_cancelled(&id(QUERY));
    assert_eq!(scene.apply(effects).effect_log(), ["forgotten q"]);
    assert_eq!(scene.progress("late"), Err(ReportRejected::NotFound));
}

#[test]
fn a_query_id_is_released_when_the_agent_ignores_the_cancel() {
    let mut scene = Harness::with_accepted_query();
    scene.cancel_by_page();
    scene.advance_to(TEST_LIMITS.queries.cancel_timeout.as_secs_f32());
    assert_eq!(scene.effect_log(), ["forgotten q"]);
    assert_eq!(scene.progress("late"), Err(ReportRejected::NotFound));
}

#[test]
fn a_timed_out_query_fails_and_cancels_its_agent() {
    let mut scene = Harness::with_accepted_query();
    scene.advance_to(TEST_LIMITS.queries.timeout.as_secs_f32() - 1.0);
    assert!(scene.effect_log().is_empty());
    scene.advance_to(TEST_LIMITS.queries.timeout.as_secs_f32());
    assert_eq!(scene.effect_log(), ["failure QueryTimeout", "stop q"]);
}

#[test]
fn ids_of_ended_queries_are_remembered_in_bounded_number() {
    let mut scene = Harness::with_page();
    for n in 0..65 {
        let query = format!("q{n}");
        scene.ask_agent(query_message(&query));
        let effects = scene
            .realm
            .query_completed(&id(&query), Some(raw("1")), scene.now)
            .1;
        scene.apply(effects);
    }
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert_eq!(
        scene.ask_agent(query_message("q64")).effect_log(),
        ["failure QueryCompleted"]
    );
    assert_eq!(
        scene.ask_agent(query_message("q0")).effect_log(),
        ["ask q0 true"]
    );
}

#[test]
fn a_page_may_send_only_queries_that_its_bridge_and_its_token_allow() {
    let refused = |limits: RealmLimits, may_ask, uuid| {
        let mut scene = Harness::new();
        scene.realm = Realm::new(limits);
        let hello = PageHello {
            may_query: may_ask,
            ..page_hello(TAB)
        };
        let (_, effects) = scene
            .realm
            .page_connected(FIRST_CONNECTION, hello, scene.now)
            .unwrap();
        scene
            .apply(effects)
            .ask_agent(query_message(uuid))
            .effect_log()
    };
    assert_eq!(refused(TEST_LIMITS, true, "q"), ["ask q true"]);
    assert_eq!(
        refused(TEST_LIMITS, false, "q"),
        ["failure InsufficientScope"]
    );
    for malformed in ["", "..", "a/b", "a b", "é"] {
        assert_eq!(
            refused(TEST_LIMITS, true, malformed),
            ["failure ProtocolViolation"]
        );
    }
    let mut limits = TEST_LIMITS;
    limits.queries.has_agent = false;
    assert_eq!(refused(limits, true, "q"), ["failure AgentNotConfigured"]);
    let mut limits = TEST_LIMITS;
    limits.queries.query_ids_are_credentials = true;
    for guessable in ["q", "00000000-0000-1000-8000-000000000000"] {
        assert_eq!(
            refused(limits, true, guessable),
            ["failure ProtocolViolation"]
        );
    }
    let random = "5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11";
    assert_eq!(
        refused(limits, true, random),
        [format!("ask {random} true")]
    );
}

#[test]
fn queries_end_with_the_bridge() {
    let mut scene = Harness::with_accepted_query();
    let effects = scene.realm.bridge_stopping(scene.now);
    // The id of the query is not released before the agent has confirmed the cancellation.
    let expected = ["failure BridgeStopping", "stop q"];
    assert_eq!(scene.apply(effects).effect_log(), expected);
}

#[test]
fn the_agent_receives_the_page_with_bounded_texts() {
    let mut scene = Harness::new();
    let subject = Arc::new(bridge_protocol::Subject {
        sub: Some("ada".to_owned()),
        roles: vec!["editor".to_owned()],
    });
    let hello = PageHello {
        app: Some("todo".to_owned()),
        app_description: Some("d".repeat(1_000)),
        origin: Some("https://todo.example".to_owned()),
        subject: Some(Arc::clone(&subject)),
        ..page_hello(TAB)
    };
    let connected = scene
        .realm
        .page_connected(FIRST_CONNECTION, hello, scene.now);
    let effects = connected.unwrap().1;
    scene.apply(effects).ask_agent(query_message(QUERY));
    let page = scene.effects.iter().find_map(|effect| match effect {
        Effect::Agent(AgentEffect::Start { page, .. }) => Some((**page).clone()),
        _ => None,
    });
    let expected = QueryPage {
        session: TAB.into(),
        subject: Some(subject),
        app: Some("todo".to_owned()),
        app_description: Some(format!("{}…", "d".repeat(768))),
        origin: Some("https://todo.example".to_owned()),
    };
    assert_eq!(page.as_ref(), Some(&expected));
    assert_eq!(scene.realm.query_page(&TAB.into()), Some(expected));
    assert_eq!(scene.realm.query_page(&"other".into()), None);
}
