//! Random schedules of events. In every order of events each call ends exactly once, no state is
//! left at the end, and the invariants hold after every step.

mod queries;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::Config as ProptestConfig;

use bridge_protocol::limits::MAX_HAND_OVER_BYTES;
use bridge_protocol::{CallsCheck, ClientRequest, ClientResponse, Item, PageState, Visibility};

use super::*;
use queries::QueryTracker;
use steps::{Step, any_step};

fn tool_item(number: u8) -> Item {
    Item {
        kind: Kind::Tool,
        name: format!("t{number}"),
    }
}

fn resource(number: u8) -> SharedDefinition {
    let definition = format!(r#"{{"uri":"app://{number}","name":"n"}}"#);
    parse_definition(Kind::Resource, definition)
        .remove(0)
        .unwrap()
}

/// A call whose client supports all requests of handlers.
fn client_call(id: &str) -> NewCall {
    let mut call = new_call(id, tool("t0"));
    call.context.client =
        Some(client_with(r#"{"elicitation":{},"sampling":{},"roots":{}}"#).into());
    call
}

fn request(key: u8) -> ClientRequest {
    ClientRequest {
        key: key.to_string(),
        method: "roots/list".to_owned(),
        params: raw("{}"),
    }
}

fn response(key: u8) -> ClientResponse {
    ClientResponse {
        key: key.to_string(),
        result: Some(raw(r#"{"roots":[]}"#)),
        error: None,
    }
}

/// The state outside the realm: the connections, the calls that were made, and those that have
/// ended.
struct ScheduleRun {
    realm: Realm,
    now: Now,
    next: u64,
    connections: BTreeMap<u8, ConnectionId>,
    former: BTreeMap<u8, ConnectionId>,
    calls: Vec<(CallId, u8)>,
    rounds: BTreeMap<CallId, u64>,
    /// The document of each connection.
    documents: BTreeMap<ConnectionId, Option<String>>,
    /// The document to which each call was sent, until the call is handed over.
    sent_to: BTreeMap<CallId, Option<String>>,
    /// How often each call was handed over.
    hand_overs: BTreeMap<CallId, u32>,
    ended: BTreeSet<CallId>,
    queries: QueryTracker,
}

impl ScheduleRun {
    fn run(&mut self, step: Step) {
        let effects = self.apply(step);
        for effect in effects {
            self.queries.observe(&effect);
            if let Effect::ClientRequestsPending { call } | Effect::EmitEvent { call, .. } = &effect
            {
                assert!(
                    !self.ended.contains(call),
                    "{call} has an event after its end"
                );
            }
            self.check_documents(&effect);
            if let Effect::CompleteCall { call, .. } = effect {
                assert!(
                    self.calls.iter().any(|(made, _)| *made == call),
                    "{call} was never made"
                );
                assert!(self.ended.insert(call.clone()), "{call} ended twice");
            }
        }
        self.realm.check_invariants();
    }

    /// Checks that no call is sent to two documents, unless it was handed over between them.
    fn check_documents(&mut self, effect: &Effect) {
        match effect {
            Effect::CallHandedOver { call } => {
                assert!(!self.ended.contains(call));
                assert!(
                    self.sent_to.remove(call).is_some(),
                    "{call} was handed over before it was sent"
                );
                *self.hand_overs.entry(call.clone()).or_default() += 1;
            }
            Effect::Send {
                connection,
                message: BridgeToPage::ToolCall(sent),
            } => {
                let call = &sent.request_id;
                let document = self.documents[connection].clone();
                let former = self.sent_to.insert(call.clone(), document.clone());
                assert!(
                    former.is_none_or(|former| former.is_some() && former == document),
                    "{call} was sent to two documents"
                );
                let is_continued = sent.context.continuation.is_some();
                assert_eq!(is_continued, self.hand_overs.contains_key(call), "{call}");
            }
            _ => {}
        }
    }

    fn connection(&self, tab: u8) -> ConnectionId {
        self.connections
            .get(&tab)
            .copied()
            .unwrap_or(ConnectionId(0))
    }

    fn session(tab: u8) -> SessionId {
        SessionId(format!("tab{tab}"))
    }

    fn connect(&mut self, tab: u8, expires: Option<Instant>) -> Effects {
        let hello = PageHello {
            expires,
            abilities: if tab == 2 {
                BASIC_ABILITIES
            } else {
                PageAbilities::SDK
            },
            app: Some(format!("app{}", tab % 2)),
            // A basic page with a duplicate name would be refused.
            name: (tab != 2).then(|| "tab".to_owned()),
            ..page_hello(Self::session(tab).as_str())
        };
        self.connect_with(tab, hello).unwrap()
    }

    /// Connects a page; `None` if it is refused.
    fn connect_with(&mut self, tab: u8, hello: PageHello) -> Option<Effects> {
        let connection = ConnectionId(self.next);
        self.documents.insert(connection, hello.document.clone());
        let connected = self.realm.page_connected(connection, hello, self.now);
        let (_, effects) = connected.ok()?;
        if let Some(old) = self.connections.insert(tab, connection) {
            self.former.insert(tab, old);
        }
        Some(effects)
    }

    fn register(
        &mut self,
        tab: u8,
        number: u64,
        items: Vec<Result<SharedDefinition, RegistrationFailure>>,
    ) -> Effects {
        let connection = self.connection(tab);
        let registration = RegistrationId(number.to_string());
        self.realm.items_registered(
            &Self::session(tab),
            connection,
            registration,
            items,
            self.now,
        )
    }

    fn pick_call(&self, call: u8) -> Option<(CallId, u8)> {
        let index = usize::from(call).checked_rem(self.calls.len())?;
        Some(self.calls[index].clone())
    }

    fn request_hand_over(&mut self, call: u8, request: HandOverRequest) {
        if let Some((id, tab)) = self.pick_call(call) {
            let connection = self.connection(tab);
            self.realm
                .hand_over_requested(&Self::session(tab), connection, &id, request);
        }
    }

    fn apply(&mut self, step: Step) -> Effects {
        self.next += 1;
        let number = self.next;
        match step {
            Step::Connect { tab } => self.connect(tab, None),
            Step::ConnectBasic { tab, named } => {
                let hello = PageHello {
                    abilities: BASIC_ABILITIES,
                    document: None,
                    name: named.then(|| "tab".to_owned()),
                    ..page_hello(Self::session(tab).as_str())
                };
                self.connect_with(tab, hello).unwrap_or_default()
            }
            Step::ConnectUntil { tab, seconds } => {
                let end = self.now.instant + Duration::from_secs(u64::from(seconds));
                self.connect(tab, Some(end))
            }
            Step::Renew { tab, seconds } => {
                let end = self.now.instant + Duration::from_secs(u64::from(seconds));
                let connection = self.connection(tab);
                self.realm.token_renewed(
                    &Self::session(tab),
                    connection,
                    Some(end),
                    true,
                    None,
                    self.now,
                )
            }
            Step::ChangeUser { tab } => {
                let connection = self.connection(tab);
                self.realm
                    .user_changed(&Self::session(tab), connection, self.now)
            }
            Step::Freeze { tab } => {
                let state = PageState {
                    visibility: Visibility::Hidden,
                    focused: false,
                    frozen: true,
                    page_title: None,
                };
                let connection = self.connection(tab);
                self.realm
                    .page_state_changed(&Self::session(tab), connection, state, self.now)
            }
            Step::SendPart { tab } => {
                let connection = self.connection(tab);
                self.realm
                    .page_message_received(&Self::session(tab), connection);
                self.realm
                    .part_arrived(&Self::session(tab), connection, self.now);
                Vec::new()
            }
            Step::Check { tab, call } => {
                let asked = self.pick_call(call).map(|(id, _)| id).into_iter().collect();
                let connection = self.connection(tab);
                let asked = CallsCheck {
                    check: 1,
                    request_ids: asked,
                };
                self.realm
                    .calls_checked(&Self::session(tab), connection, asked)
            }
            Step::Register { tab, tools } => {
                let resources = tools.iter().take(1).map(|n| Ok(resource(*n)));
                let tools = tools.iter().map(|n| Ok(tool(&format!("t{n}"))));
                self.register(tab, number, tools.chain(resources).collect())
            }
            Step::Unregister { tab, tool } => self.realm.items_unregistered(
                &Self::session(tab),
                self.connection(tab),
                RegistrationId(number.to_string()),
                vec![tool_item(tool)],
            ),
            Step::Call { tab } => {
                let id = CallId(format!("c{number}"));
                let call = client_call(id.as_str());
                match self
                    .realm
                    .call_requested(&Self::session(tab), call, self.now)
                {
                    Ok(effects) => {
                        self.calls.push((id, tab));
                        effects
                    }
                    Err(_) => Vec::new(),
                }
            }
            Step::Receive { call } => {
                if let Some((id, tab)) = self.pick_call(call) {
                    self.realm
                        .call_received(&Self::session(tab), self.connection(tab), &id);
                }
                Vec::new()
            }
            Step::Arm { call, too_large } => {
                let text = "s".repeat(if too_large { MAX_HAND_OVER_BYTES } else { 1 });
                let state = HandOverState::new(raw(&format!("{text:?}")), None);
                self.request_hand_over(call, HandOverRequest::Arm(state));
                Vec::new()
            }
            Step::Disarm { call } => {
                self.request_hand_over(call, HandOverRequest::Disarm);
                Vec::new()
            }
            Step::Leave { tab, hands_over } => {
                let calls = self.calls.iter().enumerate();
                let named =
                    calls.filter(|(index, _)| (usize::from(hands_over) >> (index % 8)) & 1 == 1);
                let hands_over = named.map(|(_, (id, _))| id.clone()).collect();
                let connection = self.connection(tab);
                let leaving = Disconnect::Leaving { hands_over };
                self.realm
                    .connection_ended(&Self::session(tab), connection, leaving, self.now)
            }
            Step::ConnectDocument {
                tab,
                document,
                foreign,
            } => {
                let hello = PageHello {
                    document: Some(format!("document {document}")),
                    origin: foreign.then(|| "https://other.example".to_owned()),
                    name: (tab != 2).then(|| "tab".to_owned()),
                    ..page_hello(Self::session(tab).as_str())
                };
                self.connect_with(tab, hello).unwrap_or_default()
            }
            Step::RegisterChanged { tab } => {
                let definition = r#"{"name":"t0","description":"changed"}"#.to_owned();
                self.register(tab, number, parse_definition(Kind::Tool, definition))
            }
            Step::Validate { call, valid } => {
                let Some((id, _)) = self.pick_call(call) else {
                    return Vec::new();
                };
                let Some((tool, _)) = self.realm.input_to_validate(&id) else {
                    return Vec::new();
                };
                let invalid = || CallFailure::new(ErrorCode::InvalidArguments, String::new());
                let outcome = if valid { Ok(()) } else { Err(invalid()) };
                self.realm.input_validated(&id, &tool, outcome, self.now)
            }
            Step::Answer { call } => match self.pick_call(call) {
                Some((id, tab)) => {
                    let connection = self.connection(tab);
                    self.realm.call_answered(
                        &Self::session(tab),
                        connection,
                        &id,
                        NO_VALUE,
                        self.now,
                    )
                }
                None => Vec::new(),
            },
            Step::AnswerFromOldConnection { call } => {
                let Some((id, tab)) = self.pick_call(call) else {
                    return Vec::new();
                };
                let Some(old) = self.former.get(&tab) else {
                    return Vec::new();
                };
                let effects =
                    self.realm
                        .call_answered(&Self::session(tab), *old, &id, NO_VALUE, self.now);
                assert!(effects.is_empty(), "an old connection ended a call");
                effects
            }
            Step::Cancel { call } => match self.pick_call(call) {
                Some((id, _)) => self.realm.call_cancelled(&id, "cancelled", self.now),
                None => Vec::new(),
            },
            Step::Ask { call, key } => match self.pick_call(call) {
                Some((id, tab)) => self.realm.client_requests_received(
                    &Self::session(tab),
                    self.connection(tab),
                    &id,
                    vec![request(key)],
                    self.now,
                ),
                None => Vec::new(),
            },
            Step::AnswerAsClient { call, key } => match self.pick_call(call) {
                Some((id, _)) => {
                    let _ = self.realm.take_client_requests(&id);
                    self.realm.client_answered(&id, response(key), self.now)
                }
                None => Vec::new(),
            },
            Step::Park { call } => {
                if let Some((id, _)) = self.pick_call(call)
                    && let Some((round, _)) = self.realm.call_parked(&id)
                {
                    self.rounds.insert(id, round);
                }
                Vec::new()
            }
            Step::Resume { call, key } => {
                let Some((id, _)) = self.pick_call(call) else {
                    return Vec::new();
                };
                let Some(round) = self.rounds.remove(&id) else {
                    return Vec::new();
                };
                let answers = vec![response(key)];
                let resumed = self.realm.call_resumed(&id, round, answers, self.now);
                resumed.map(|(_, effects)| effects).unwrap_or_default()
            }
            Step::ConnectClient { id } => {
                let info = ClientInfo {
                    name: "client".to_owned(),
                    version: None,
                    title: None,
                };
                let client = ConnectedClient {
                    id: id.into(),
                    info,
                    protocol_version: String::new(),
                };
                let connected = self.realm.client_connected(ClientId(id.into()), client);
                connected.unwrap_or_default()
            }
            Step::Subscribe { client, uri } => {
                let client = ClientId(client.into());
                let subscribed = self
                    .realm
                    .resource_subscribed(client, format!("app://{uri}"));
                subscribed.unwrap_or_default()
            }
            Step::Update { tab, uri } => {
                let connection = self.connection(tab);
                let uri = format!("app://{uri}");
                self.realm
                    .resource_updated(&Self::session(tab), connection, &uri)
            }
            Step::DisconnectClient { id } => self.realm.client_disconnected(ClientId(id.into())),
            Step::Disconnect { tab, gone } => {
                let parting = if gone {
                    Disconnect::DocumentGone
                } else {
                    Disconnect::ConnectionLost
                };
                let connection = self.connection(tab);
                self.realm
                    .connection_ended(&Self::session(tab), connection, parting, self.now)
            }
            Step::DisconnectOld { tab } => match self.former.get(&tab) {
                Some(old) => {
                    let session = Self::session(tab);
                    self.realm
                        .connection_ended(&session, *old, Disconnect::DocumentGone, self.now)
                }
                None => Vec::new(),
            },
            Step::Query(step) => self.apply_query(step, number),
            Step::Wait { seconds } => {
                self.now.instant += Duration::from_secs(u64::from(seconds));
                self.realm.deadline_passed(self.now)
            }
            Step::Stop => self.realm.bridge_stopping(self.now),
            Step::Close { is_final: true } => {
                let effects = self.realm.closed(RealmEnd::TokenRevoked, self.now);
                assert_eq!(self.realm.session_count(), 0);
                effects
            }
            Step::Close { is_final: false } => {
                self.realm.closed(RealmEnd::ServedElsewhere, self.now)
            }
            Step::ExpireTokens => {
                let effects = self.realm.tokens_expired(self.now);
                assert_eq!(self.realm.connected_session_count(), 0);
                effects
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_call_ends_exactly_once_and_nothing_is_left(
        steps in prop::collection::vec(any_step(), 1..80)
    ) {
        let mut world = ScheduleRun {
            realm: Realm::new(TEST_LIMITS),
            now: Now { instant: Instant::now(), unix_ms: 0 },
            next: 0,
            connections: BTreeMap::new(),
            former: BTreeMap::new(),
            calls: Vec::new(),
            rounds: BTreeMap::new(),
            documents: BTreeMap::new(),
            sent_to: BTreeMap::new(),
            hand_overs: BTreeMap::new(),
            ended: BTreeSet::new(),
            queries: QueryTracker::default(),
        };
        for step in steps {
            world.run(step);
        }
        for tab in 0..3 {
            world.run(Step::Disconnect { tab, gone: false });
        }
        for id in 0..2 {
            world.run(Step::DisconnectClient { id });
        }
        // The waiting time exceeds the input timeout of clients.
        for _ in 0..4 {
            world.run(Step::Wait { seconds: 200 });
        }
        prop_assert!(world.realm.is_inactive());
        world.now.instant += TEST_LIMITS.catalogue_ttl;
        world.run(Step::Wait { seconds: 0 });
        let made: BTreeSet<_> = world.calls.iter().map(|(id, _)| id.clone()).collect();
        prop_assert_eq!(&made, &world.ended);
        world.queries.check_end();
        prop_assert!(world.realm.is_empty());
        prop_assert_eq!(world.realm.next_deadline(), None);
    }
}
