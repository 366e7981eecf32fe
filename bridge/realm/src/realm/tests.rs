//! Tests of the realm without a runtime: named behaviours and random schedules.

mod abilities;
mod asking;
mod calls;
mod connections;
mod hand_over;
mod lifecycle;
mod many;
mod queries;
mod schedules;
mod subscriptions;
mod tabs;

use std::sync::{Arc, LazyLock};
use std::time::Duration;
use web_time::Instant;

use bridge_protocol::{
    BridgeToPage, CallContext, CallId, CallingClient, ClientInfo, CloseCode, ConnectedClient,
    Definition as Sent, ErrorCode, Heartbeat, Item, RegistrationFailure, RegistrationId, SessionId,
};
use serde_json::value::RawValue;

use super::*;
use crate::definition::tool::SharedTool;
use crate::definition::{DefinitionLimits, DefinitionRegistry};
use crate::policy::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};

pub(super) const TEST_LIMITS: RealmLimits = RealmLimits {
    sessions: 3,
    session_limit_policy: SessionLimitPolicy::Reject,
    max_session_duration: Duration::ZERO,
    duplicate_names: DuplicateNames::Number,
    ambiguous_calls: AmbiguousCalls::Ask,
    reject_conflicts: false,
    catalogue_ttl: Duration::from_secs(3600),
    catalogue_bytes: 10_000,
    definitions_per_session: 4,
    definition_bytes_per_session: 10_000,
    calls: 6,
    clients: 2,
    subscriptions_per_client: 2,
    receipt_timeout: Duration::from_secs(5),
    input_timeout: Duration::from_secs(600),
    page_grace: Duration::from_secs(5),
    page_return: Duration::from_secs(15),
    heartbeat_interval: Duration::from_secs(20),
    queries: QueryLimits {
        has_agent: true,
        max_queries: 2,
        timeout: Duration::from_secs(600),
        attach_timeout: Duration::from_secs(30),
        cancel_timeout: Duration::from_secs(10),
        max_tool_call_bytes: 1_000,
        query_ids_are_credentials: false,
    },
    notify_every_change: false,
};

/// The abilities of a page that can do little besides answering calls.
const BASIC_ABILITIES: PageAbilities = PageAbilities {
    resumes_sessions: false,
    sends_receipts: false,
    checks_late_calls: false,
    answers_heartbeats: false,
    accepts_other_name: false,
    has_controllable_agent: false,
    validates_arguments: true,
    fails_with_results: true,
    call_timeout: Some(Duration::from_secs(30)),
};

pub(super) fn page_hello(session: &str) -> PageHello {
    PageHello {
        session: SessionId::from(session),
        abilities: PageAbilities::SDK,
        document: Some("document".to_owned()),
        name: None,
        origin: None,
        address: None,
        page_title: None,
        app: None,
        app_description: None,
        expires: None,
        may_query: true,
        subject: None,
        written_ms: None,
        heartbeat_after: None,
        sdk_version: None,
    }
}

static DEFINITIONS: LazyLock<DefinitionRegistry> = LazyLock::new(|| {
    DefinitionRegistry::new(
        |_, _| Ok(()),
        DefinitionLimits {
            max_bytes: 1_000_000,
        },
    )
});

pub(super) fn tool(name: &str) -> SharedDefinition {
    let definition = format!(r#"{{"name":"{name}"}}"#);
    parse_definition(Kind::Tool, definition).remove(0).unwrap()
}

pub(super) fn parse_definition(
    kind: Kind,
    definition: String,
) -> Vec<Result<SharedDefinition, RegistrationFailure>> {
    let definition = RawValue::from_string(definition).unwrap();
    DEFINITIONS.parse(&[Sent { kind, definition }])
}

fn into_tool(definition: SharedDefinition) -> Arc<SharedTool> {
    match definition {
        SharedDefinition::Tool(tool) => tool,
        other => panic!("not a tool: {other:?}"),
    }
}

pub(super) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

pub(super) fn new_call(id: &str, tool: SharedDefinition) -> NewCall {
    NewCall {
        id: CallId::from(id),
        request: PageRequest::Tool {
            tool: into_tool(tool),
            input: raw("{}"),
        },
        context: CallContext::default(),
        timeout: Duration::from_secs(120),
        client_responses: Vec::new(),
    }
}

pub(super) fn client_with(capabilities: &str) -> CallingClient {
    CallingClient {
        info: ClientInfo {
            name: "client".to_owned(),
            version: None,
            title: None,
        },
        protocol_version: None,
        capabilities: Some(raw(capabilities)),
        limits: None,
    }
}

pub(super) const NO_VALUE: Result<PageAnswer, CallFailure> = Ok(PageAnswer::Value(None));

/// A realm, its clock, and the effects of the last event.
struct Harness {
    realm: Realm,
    start: Instant,
    now: Now,
    effects: Effects,
    /// Whether the browser of the page answers pings.
    browser_answers: bool,
}

const TAB: &str = "tab";
const FIRST_CONNECTION: ConnectionId = ConnectionId(1);
const SECOND_CONNECTION: ConnectionId = ConnectionId(2);

impl Harness {
    fn new() -> Self {
        let start = Instant::now();
        let now = Now {
            instant: start,
            unix_ms: 0,
        };
        Self {
            realm: Realm::new(TEST_LIMITS),
            start,
            now,
            effects: Vec::new(),
            browser_answers: true,
        }
    }

    /// Creates a realm with one page that has the tool `echo`.
    fn with_page() -> Self {
        let mut scene = Self::new();
        scene.connect(FIRST_CONNECTION);
        scene.register(FIRST_CONNECTION, &["echo"]);
        scene.effects.clear();
        scene
    }

    /// Stores the effects, except those for the log.
    fn apply(&mut self, mut effects: Effects) -> &mut Self {
        effects.retain(|effect| !matches!(effect, Effect::Lifecycle(_)));
        self.effects = effects;
        self.realm.check_invariants();
        self
    }

    fn connect(&mut self, connection: ConnectionId) {
        let (_, effects) = self
            .realm
            .page_connected(connection, page_hello(TAB), self.now)
            .unwrap();
        self.apply(effects);
    }

    fn register(&mut self, connection: ConnectionId, names: &[&str]) {
        let tools = names.iter().map(|name| Ok(tool(name))).collect();
        let registration = RegistrationId::from("r");
        let effects =
            self.realm
                .items_registered(&TAB.into(), connection, registration, tools, self.now);
        self.apply(effects);
    }

    fn call(&mut self, id: &str) -> Result<(), CallFailure> {
        let effects =
            self.realm
                .call_requested(&TAB.into(), new_call(id, tool("echo")), self.now)?;
        self.apply(effects);
        Ok(())
    }

    fn answer(&mut self, connection: ConnectionId, id: &str) {
        let effects =
            self.realm
                .call_answered(&TAB.into(), connection, &id.into(), NO_VALUE, self.now);
        self.apply(effects);
    }

    fn disconnect(&mut self, connection: ConnectionId, parting: Disconnect) {
        let effects = self
            .realm
            .connection_ended(&TAB.into(), connection, parting, self.now);
        self.apply(effects);
    }

    fn advance_to(&mut self, seconds: f32) {
        self.now.instant = self.start + Duration::from_secs_f32(seconds);
        let effects = self.realm.deadline_passed(self.now);
        let effects = self.answer_pings(effects);
        self.apply(effects);
    }

    /// Lets the browser answer all pings at once. Returns the effects, in order.
    fn answer_pings(&mut self, effects: Effects) -> Effects {
        let mut all = Effects::new();
        for effect in effects {
            if let Effect::Probe { connection, probe } = effect
                && self.browser_answers
            {
                let answer = ProbeAnswer {
                    probe,
                    data_arrived: false,
                };
                let next = self
                    .realm
                    .probe_answered(&TAB.into(), connection, answer, self.now);
                all.extend(self.answer_pings(next));
            } else {
                all.push(effect);
            }
        }
        all
    }

    fn call_outcomes(&self) -> Vec<(String, Option<ErrorCode>)> {
        let ended = self.effects.iter().filter_map(|effect| match effect {
            Effect::CompleteCall {
                call,
                outcome: CallOutcome::Answered(_),
            } => Some((call.0.clone(), None)),
            Effect::CompleteCall {
                call,
                outcome: CallOutcome::Failed(failure),
            } => Some((call.0.clone(), Some(failure.code))),
            _ => None,
        });
        ended.collect()
    }

    fn sent_types(&self, to: ConnectionId) -> Vec<&'static str> {
        let sent = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send {
                connection,
                message,
            } if *connection == to => Some(match message {
                BridgeToPage::ToolCall(_) => "tool-call",
                BridgeToPage::CallCancel(_) => "call-cancel",
                BridgeToPage::Heartbeat(_) => "heartbeat",
                BridgeToPage::Registered(_) => "registered",
                BridgeToPage::Clients(_) => "clients",
                BridgeToPage::SessionClosed(_) => "session-closed",
                BridgeToPage::ClientResponses(_) => "client-responses",
                BridgeToPage::Subscriptions(_) => "subscriptions",
                _ => "other",
            }),
            _ => None,
        });
        sent.collect()
    }

    fn tool_list_changed(&self) -> bool {
        self.effects
            .iter()
            .any(|effect| matches!(effect, Effect::ListChanged(Kind::Tool)))
    }
}

#[test]
fn limits_reject_and_name_the_setting() {
    let mut scene = Harness::with_page();
    for n in 0..TEST_LIMITS.calls {
        scene.call(&format!("c{n}")).unwrap();
    }
    let failure = scene.call("one too many").unwrap_err();
    assert_eq!(failure.code, ErrorCode::CallLimitExceeded);
    assert!(failure.message.contains("max_calls"));

    for n in 1..TEST_LIMITS.sessions {
        let connection = ConnectionId(10 + n as u64);
        scene
            .realm
            .page_connected(connection, page_hello(&format!("t{n}")), scene.now)
            .unwrap();
    }
    let refusal = scene
        .realm
        .page_connected(ConnectionId(99), page_hello("t99"), scene.now)
        .unwrap_err();
    assert_eq!(refusal.code, ErrorCode::SessionLimitExceeded);
    assert!(refusal.message.contains("max_sessions"));

    scene.register(FIRST_CONNECTION, &["a", "b", "c", "d"]);
    let Some(Effect::Send {
        message: BridgeToPage::Registered(answer),
        ..
    }) = scene.effects.first()
    else {
        panic!("no answer: {:?}", scene.effects)
    };
    assert_eq!(answer.items.len(), 3);
    assert_eq!(answer.errors[0].code, ErrorCode::DefinitionLimitExceeded);
    assert_eq!(answer.errors[0].index, 3);
    assert!(answer.errors[0].message.contains("max_definitions"));

    let text = "x".repeat(TEST_LIMITS.definition_bytes_per_session);
    let large = parse_definition(
        Kind::Tool,
        format!(r#"{{"name":"a","description":"{text}"}}"#),
    );
    let effects =
        scene
            .realm
            .items_registered(&TAB.into(), FIRST_CONNECTION, "r".into(), large, scene.now);
    scene.apply(effects);
    let Some(Effect::Send {
        message: BridgeToPage::Registered(answer),
        ..
    }) = scene.effects.first()
    else {
        panic!("no answer: {:?}", scene.effects)
    };
    assert!(answer.errors[0].message.contains("max_definition_bytes"));
}

#[test]
fn pages_are_sent_the_connected_clients() {
    let mut scene = Harness::with_page();
    let info = ClientInfo {
        name: "claude-code".to_owned(),
        version: None,
        title: None,
    };
    let client = ConnectedClient {
        id: 7,
        info,
        protocol_version: "2025-06-18".to_owned(),
    };
    let effects = scene.realm.client_connected(ClientId(7), client).unwrap();
    scene.apply(effects);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["clients"]);
    let effects = scene.realm.client_disconnected(ClientId(7));
    scene.apply(effects);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["clients"]);
    assert_eq!(scene.realm.client_count(), 0);
}

#[test]
fn the_newer_of_two_same_named_tools_is_listed_and_calls_are_ambiguous() {
    let mut scene = Harness::with_page();
    scene
        .realm
        .page_connected(SECOND_CONNECTION, page_hello("other"), scene.now)
        .unwrap();
    let newer = parse_definition(
        Kind::Tool,
        r#"{"name":"echo","description":"newer"}"#.to_owned(),
    );
    scene.realm.items_registered(
        &"other".into(),
        SECOND_CONNECTION,
        "r".into(),
        newer,
        scene.now,
    );
    let tools = scene.realm.published(Kind::Tool);
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].published()["description"], "newer");

    let error = scene
        .realm
        .route(Kind::Tool, "echo", &SessionTarget::Any)
        .unwrap_err();
    assert!(matches!(error, RoutingError::Ambiguous { available, .. } if available.len() == 2));
    let (session, _) = scene
        .realm
        .route(Kind::Tool, "echo", &SessionTarget::Session(TAB.into()))
        .unwrap();
    assert_eq!(session.as_str(), TAB);
    let error = scene
        .realm
        .route(Kind::Tool, "echo", &SessionTarget::Session("none".into()))
        .unwrap_err();
    assert!(matches!(error, RoutingError::SessionNotFound { .. }));
    let error = scene
        .realm
        .route(Kind::Tool, "nope", &SessionTarget::Any)
        .unwrap_err();
    assert!(matches!(error, RoutingError::NotFound { available, .. } if available == ["echo"]));
}

#[test]
fn a_stopping_bridge_ends_every_call_and_closes_every_page() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    let effects = scene.realm.bridge_stopping(scene.now);
    scene.apply(effects);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::BridgeStopping))]
    );
    assert!(scene.effects.iter().any(|effect| matches!(
        effect,
        Effect::Close {
            connection: FIRST_CONNECTION,
            code: CloseCode::ServiceRestart,
            ..
        }
    )));
}
