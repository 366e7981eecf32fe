//! Queries by name. Whatever the order, `schedules` says what holds.

mod attaching;
mod away;
mod calls;

use bridge_protocol::{Query as Asked, QueryId, QueryTool};

use super::*;

const QUERY: &str = "q";

pub(super) fn id(text: &str) -> QueryId {
    QueryId::from(text)
}

pub(super) fn asked(uuid: &str) -> Asked {
    Asked {
        uuid: id(uuid),
        prompt: "what?".to_owned(),
        context: Vec::new(),
        response_tool: None,
        tools: None,
        restrict_tools: None,
        timeout: None,
    }
}

pub(super) fn agent_failed(error: &str) -> QueryFailed {
    QueryFailed::of_agent(error.to_owned(), None, None)
}

pub(super) fn named(name: &str) -> QueryTool {
    QueryTool {
        name: name.to_owned(),
        description: None,
        input_schema: None,
        output_schema: None,
    }
}

/// A call that the agent makes.
pub(super) fn call_for(query: &str, call: &str, tool: Definition) -> NewCall {
    let mut call = new_call(call, tool);
    call.context.query_id = Some(id(query));
    call
}

impl Scene {
    fn ask_agent(&mut self, asked: Asked) -> &mut Self {
        let effects = self.realm.query_asked(&TAB.into(), FIRST, asked, self.now);
        self.then(effects)
    }

    fn accept(&mut self) -> &mut Self {
        let effects = self.realm.query_accepted(&id(QUERY));
        self.then(effects)
    }

    /// A page whose query the agent has accepted.
    fn at_work() -> Self {
        let mut scene = Self::with_page();
        scene.ask_agent(asked(QUERY)).accept();
        scene
    }

    fn progress(&mut self, text: &str) -> Result<(), QueryRefusal> {
        let content = raw(&format!("\"{text}\""));
        let effects = self.realm.query_progressed(&id(QUERY), content)?;
        self.then(effects);
        Ok(())
    }

    fn complete(&mut self) -> Result<(), QueryRefusal> {
        let (outcome, effects) =
            self.realm
                .query_completed(&id(QUERY), Some(raw("\"done\"")), self.now);
        self.then(effects);
        outcome
    }

    fn cancel_by_page(&mut self) {
        let effects = self
            .realm
            .query_cancelled_by_page(&TAB.into(), FIRST, &id(QUERY), self.now);
        self.then(effects);
    }

    fn call_for_query(&mut self, call: &str, name: &str) -> Result<(), Failure> {
        let call = call_for(QUERY, call, tool(name));
        let effects = self.realm.call_requested(&TAB.into(), call, self.now)?;
        self.then(effects);
        Ok(())
    }

    /// What happened, in words.
    fn told(&self) -> Vec<String> {
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
            Effect::End { call, .. } => Some(format!("end {call}")),
            Effect::AskAgent {
                query, with_token, ..
            } => Some(format!("ask {} {with_token}", query.uuid)),
            Effect::QueryHasPage { query } => Some(format!("has page {query}")),
            Effect::StopAgent { query } => Some(format!("stop {query}")),
            Effect::QueryEnded { query } => Some(format!("ended {query}")),
            Effect::QueryForgotten { query } => Some(format!("forgotten {query}")),
            _ => None,
        };
        self.effects.iter().filter_map(word).collect()
    }
}

#[test]
fn events_are_held_back_until_the_agent_has_accepted() {
    let mut scene = Scene::with_page();
    assert_eq!(scene.ask_agent(asked(QUERY)).told(), ["ask q true"]);
    scene.progress("one").unwrap();
    scene.progress("two").unwrap();
    assert!(scene.told().is_empty());
    assert_eq!(scene.accept().told(), ["accepted", "\"one\"", "\"two\""]);
    scene.progress("three").unwrap();
    assert_eq!(scene.told(), ["\"three\""]);
    scene.complete().unwrap();
    assert_eq!(
        scene.told(),
        ["complete \"done\" []", "ended q", "forgotten q"]
    );
    assert_eq!(scene.complete(), Err(QueryRefusal::NotFound));
    assert!(scene.told().is_empty() && scene.accept().told().is_empty());
}

#[test]
fn an_agent_that_is_done_before_it_has_answered_has_accepted() {
    let mut scene = Scene::with_page();
    scene.ask_agent(asked(QUERY));
    scene.progress("one").unwrap();
    scene.complete().unwrap();
    let told = ["accepted", "\"one\"", "complete \"done\" []"];
    assert_eq!(scene.told()[..3], told);
    // Its answer comes late.
    let why = QueryFailed::new(ErrorCode::AgentUnavailable, "500", None);
    let effects = scene.realm.query_refused(&id(QUERY), why, scene.now);
    assert!(scene.then(effects).told().is_empty());
}

#[test]
fn a_query_that_nobody_accepts_has_a_failure_only() {
    let mut scene = Scene::with_page();
    scene.ask_agent(asked(QUERY));
    scene.progress("one").unwrap();
    let why = QueryFailed::new(ErrorCode::AgentUnavailable, "500", None);
    let effects = scene.realm.query_refused(&id(QUERY), why, scene.now);
    let told = ["failure AgentUnavailable", "ended q", "forgotten q"];
    assert_eq!(scene.then(effects).told(), told);
}

#[test]
fn what_waits_for_acceptance_is_bounded_and_the_newest_is_kept() {
    let mut scene = Scene::with_page();
    scene.ask_agent(asked(QUERY));
    for n in 0..10 {
        let long = format!("{n}{}", "x".repeat(100_000));
        scene.progress(&long).unwrap();
    }
    let told = scene.accept().told();
    assert_eq!(told.len(), 4);
    assert!(told[0] == "accepted" && told[1].contains("not kept any more"));
    assert!(told[2].starts_with("\"8") && told[3].starts_with("\"9"));
}

#[test]
fn the_same_id_is_not_asked_twice() {
    let mut scene = Scene::at_work();
    // The page does not know that it was heard, and hears so again.
    let again = ["accepted", "has page q"];
    assert_eq!(scene.ask_agent(asked(QUERY)).told(), again);
    scene.complete().unwrap();
    let again = ["accepted", "complete \"done\" []"];
    assert_eq!(scene.ask_agent(asked(QUERY)).told(), again);
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    assert_eq!(
        scene.ask_agent(asked(QUERY)).told(),
        ["failure QueryCompleted"]
    );
}

#[test]
fn queries_in_flight_are_counted_and_given_back_however_they_end() {
    let mut scene = Scene::with_page();
    for round in 0..4 {
        let query = |n: usize| format!("q{round}-{n}");
        for n in 0..LIMITS.queries.most {
            scene.ask_agent(asked(&query(n)));
            let effects = scene.realm.query_accepted(&id(&query(n)));
            scene.then(effects);
        }
        assert_eq!(
            scene.ask_agent(asked("more")).told(),
            ["failure QueryLimitExceeded"]
        );
        for n in 0..LIMITS.queries.most {
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
                        .query_cancelled_by_page(&page, FIRST, &id, scene.now)
                }
            };
            scene.then(effects);
        }
        assert_eq!(scene.realm.query_count(), 0);
    }
    assert_eq!(scene.ask_agent(asked("more")).told(), ["ask more true"]);
}

#[test]
fn a_page_hears_nothing_after_its_own_cancel_and_the_agent_is_told() {
    let mut scene = Scene::at_work();
    scene.call_for_query("c", "echo").unwrap();
    scene.cancel_by_page();
    assert_eq!(scene.told(), ["call-cancel c", "end c", "stop q"]);
    // The agent does not know yet.
    let session = scene.realm.session_of_query(&id(QUERY)).cloned();
    assert_eq!(session, Err(QueryRefusal::Stopping));
    assert_eq!(scene.progress("late"), Err(QueryRefusal::Stopping));
    assert_eq!(scene.complete(), Err(QueryRefusal::Stopping));
    let late = scene.call_for_query("d", "echo").unwrap_err();
    assert_eq!(late.code, ErrorCode::QueryNotActive);
    let effects = scene.realm.agent_stopped(&id(QUERY));
    assert_eq!(scene.then(effects).told(), ["forgotten q"]);
    assert_eq!(scene.progress("late"), Err(QueryRefusal::NotFound));
}

#[test]
fn an_agent_that_does_not_hear_of_the_end_is_not_waited_for() {
    let mut scene = Scene::at_work();
    scene.cancel_by_page();
    scene.after(LIMITS.queries.stop_within.as_secs_f32());
    assert_eq!(scene.told(), ["forgotten q"]);
    assert_eq!(scene.progress("late"), Err(QueryRefusal::NotFound));
}

#[test]
fn a_query_that_takes_too_long_fails_and_its_agent_is_told() {
    let mut scene = Scene::at_work();
    scene.after(LIMITS.queries.timeout.as_secs_f32() - 1.0);
    assert!(scene.told().is_empty());
    scene.after(LIMITS.queries.timeout.as_secs_f32());
    assert_eq!(scene.told(), ["failure QueryTimeout", "stop q"]);
}

#[test]
fn ids_of_ended_queries_are_remembered_in_bounded_number() {
    let mut scene = Scene::with_page();
    for n in 0..65 {
        let query = format!("q{n}");
        scene.ask_agent(asked(&query));
        let effects = scene
            .realm
            .query_completed(&id(&query), Some(raw("1")), scene.now)
            .1;
        scene.then(effects);
    }
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    assert_eq!(
        scene.ask_agent(asked("q64")).told(),
        ["failure QueryCompleted"]
    );
    assert_eq!(scene.ask_agent(asked("q0")).told(), ["ask q0 true"]);
}

#[test]
fn a_page_may_ask_only_what_its_bridge_and_its_token_allow() {
    let refused = |limits: RealmLimits, may_ask, uuid| {
        let mut scene = Scene::new();
        scene.realm = Realm::new(limits);
        let hello = PageHello {
            may_ask,
            ..hello(TAB)
        };
        let (_, effects) = scene.realm.page_connected(FIRST, hello, scene.now).unwrap();
        scene.then(effects).ask_agent(asked(uuid)).told()
    };
    assert_eq!(refused(LIMITS, true, "q"), ["ask q true"]);
    assert_eq!(refused(LIMITS, false, "q"), ["failure InsufficientScope"]);
    for malformed in ["", "..", "a/b", "a b", "é"] {
        assert_eq!(
            refused(LIMITS, true, malformed),
            ["failure ProtocolViolation"]
        );
    }
    let mut limits = LIMITS;
    limits.queries.agent = false;
    assert_eq!(refused(limits, true, "q"), ["failure AgentNotConfigured"]);
    let mut limits = LIMITS;
    limits.queries.uuids_are_secrets = true;
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
    let mut scene = Scene::at_work();
    let effects = scene.realm.bridge_stopping(scene.now);
    // Its id is not forgotten before the agent has heard.
    let told = ["failure BridgeStopping", "stop q"];
    assert_eq!(scene.then(effects).told(), told);
}
