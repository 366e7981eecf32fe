//! Calls that name no session while a page is away that died, was reloaded, or lost its network.

use std::collections::{BTreeMap, BTreeSet};

use bridge_protocol::CallId;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const SESSIONS: [&str; 3] = ["a", "b", "c"];

/// An event of a page with the tool `echo`.
#[derive(Clone, Copy, Debug)]
enum PageEvent {
    /// The page connects, as a new session or again.
    Connects,
    /// Its connection breaks: the process was killed, or the network is gone.
    IsLost,
    /// Its document is replaced by another one, for which calls wait.
    IsReloaded,
    /// The tab is closed.
    IsClosed,
}

/// The pages of a realm, and what an observer has seen of them.
struct Tabs {
    scene: Harness,
    seconds: f32,
    connections: BTreeMap<&'static str, ConnectionId>,
    next_connection: u64,
    next_call: u64,
    /// The pairs of sessions that were connected at the same time, or of which one was connected while
    /// another one was between two documents.
    beside: BTreeSet<[&'static str; 2]>,
    between_documents: BTreeSet<&'static str>,
    /// Each page that was lost and has not come back, with a page that was opened after that.
    opened_after: BTreeSet<[&'static str; 2]>,
}

impl Tabs {
    fn new() -> Self {
        Self {
            scene: Harness::new(),
            seconds: 0.0,
            connections: BTreeMap::new(),
            next_connection: 1,
            next_call: 0,
            beside: BTreeSet::new(),
            between_documents: BTreeSet::new(),
            opened_after: BTreeSet::new(),
        }
    }

    fn apply(&mut self, session: &'static str, event: PageEvent) {
        // No two events happen at the same time, and no grace period ends.
        self.seconds += 0.001;
        self.scene.advance_to(self.seconds);
        match event {
            PageEvent::Connects => self.connect(session),
            PageEvent::IsLost => self.end(session, Disconnect::ConnectionLost),
            PageEvent::IsReloaded => {
                let hands_over = self.arm_call(session).into_iter().collect();
                self.end(session, Disconnect::Leaving { hands_over });
            }
            PageEvent::IsClosed => self.end(session, Disconnect::DocumentGone),
        }
        self.observe();
    }

    fn connect(&mut self, session: &'static str) {
        let connection = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let hello = PageHello {
            document: Some(connection.0.to_string()),
            ..page_hello(session)
        };
        let others = self.sessions();
        try_connect(&mut self.scene, connection.0, hello).unwrap();
        self.opened_after.retain(|[lost, _]| *lost != session);
        if !others.contains(&session) {
            let is_lost = |it: &&str| {
                !self.connections.contains_key(*it) && !self.between_documents.contains(*it)
            };
            let lost = others.into_iter().filter(is_lost);
            self.opened_after.extend(lost.map(|it| [it, session]));
        }
        self.connections.insert(session, connection);
        self.between_documents.remove(session);
        let tools = vec![Ok(tool("echo"))];
        let registered = self.scene.realm.items_registered(
            &session.into(),
            connection,
            RegistrationId::from("r"),
            tools,
            self.scene.now,
        );
        self.scene.apply(registered);
    }

    /// Sends a call to a page, which is prepared to hand it over.
    fn arm_call(&mut self, session: &'static str) -> Option<CallId> {
        let connection = *self.connections.get(session)?;
        let id = CallId(format!("call-{}", self.next_call));
        self.next_call += 1;
        let (realm, now) = (&mut self.scene.realm, self.scene.now);
        let call = new_call(id.0.as_str(), tool("echo"));
        let effects = realm.call_requested(&session.into(), call, now).ok()?;
        realm.call_received(&session.into(), connection, &id);
        let request = HandOverRequest::Arm(HandOverState::new(raw("1"), None));
        realm.hand_over_requested(&session.into(), connection, &id, request);
        self.scene.apply(effects);
        Some(id)
    }

    fn end(&mut self, session: &'static str, how: Disconnect) {
        let Some(connection) = self.connections.remove(session) else {
            return;
        };
        let is_lost = matches!(how, Disconnect::ConnectionLost);
        let now = self.scene.now;
        let realm = &mut self.scene.realm;
        let ended = realm.connection_ended(&session.into(), connection, how, now);
        self.scene.apply(ended);
        // Then calls wait for its next document.
        if !is_lost && self.scene.realm.session(&session.into()).is_some() {
            self.between_documents.insert(session);
        }
    }

    /// Records which sessions are there beside each other.
    fn observe(&mut self) {
        let sessions = self.sessions();
        for pairs in [&mut self.beside, &mut self.opened_after] {
            pairs.retain(|pair| pair.iter().all(|it| sessions.contains(it)));
        }
        self.between_documents.retain(|it| sessions.contains(it));
        let is_there =
            |it: &&str| self.connections.contains_key(*it) || self.between_documents.contains(*it);
        let there: Vec<_> = sessions.into_iter().filter(is_there).collect();
        for (index, one) in there.iter().enumerate() {
            for other in &there[index + 1..] {
                self.beside.insert([*one, *other]);
            }
        }
    }

    fn sessions(&self) -> Vec<&'static str> {
        let exists = |it: &&str| self.scene.realm.session(&SessionId::from(*it)).is_some();
        SESSIONS.into_iter().filter(exists).collect()
    }

    /// Returns the session of a call that names none. `None` if the call is ambiguous.
    fn route(&mut self) -> Option<String> {
        let by_index = self.scene.realm.route_call("echo", &SessionTarget::Any);
        let by_index = by_index.map(|(session, _)| session).ok();
        let routed = self
            .scene
            .realm
            .route(Kind::Tool, "echo", &SessionTarget::Any);
        let routed = routed.map(|(session, _)| session).ok();
        assert_eq!(routed, by_index);
        assert_eq!(routed.as_ref(), self.scene.realm.only_session());
        routed.map(|session| session.0)
    }
}

#[test]
fn a_page_that_was_opened_after_another_one_died_gets_unnamed_calls() {
    let mut tabs = Tabs::new();
    tabs.apply("a", PageEvent::Connects);
    tabs.apply("a", PageEvent::IsLost);
    assert_eq!(tabs.route().as_deref(), Some("a"), "it may come back");
    tabs.apply("b", PageEvent::Connects);
    assert_eq!(tabs.route().as_deref(), Some("b"));
    // It was alive after all: now there are two.
    tabs.apply("a", PageEvent::Connects);
    assert_eq!(tabs.route(), None);
    tabs.apply("a", PageEvent::IsLost);
    assert_eq!(tabs.route(), None);
}

#[test]
fn a_tab_beside_another_one_gets_no_calls_of_a_tab_that_is_away() {
    for away in [PageEvent::IsLost, PageEvent::IsReloaded] {
        let mut tabs = Tabs::new();
        tabs.apply("a", PageEvent::Connects);
        tabs.apply("b", PageEvent::Connects);
        tabs.apply("a", away);
        assert_eq!(tabs.route(), None, "{away:?}");
        tabs.apply("a", PageEvent::Connects);
        assert_eq!(tabs.route(), None, "{away:?}");
    }
}

#[test]
fn a_tab_that_is_reloaded_is_waited_for() {
    let mut tabs = Tabs::new();
    tabs.apply("a", PageEvent::Connects);
    tabs.apply("a", PageEvent::IsReloaded);
    assert_eq!(tabs.sessions(), ["a"]);
    tabs.apply("b", PageEvent::Connects);
    assert_eq!(tabs.route(), None);
}

proptest! {
    /// A call that names no session goes to a page only if all others were gone before that page was
    /// there: pages that were there beside each other are never exchanged.
    #[test]
    fn an_unnamed_call_goes_only_to_a_page_that_was_alone(
        steps in vec((0..SESSIONS.len(), 0..4_u8), 1..60),
    ) {
        let mut tabs = Tabs::new();
        for (session, event) in steps {
            let event = match event {
                0 => PageEvent::IsLost,
                1 => PageEvent::IsReloaded,
                2 => PageEvent::IsClosed,
                _ => PageEvent::Connects,
            };
            tabs.apply(SESSIONS[session], event);
            let sessions = tabs.sessions();
            let connected: Vec<_> = tabs.connections.keys().copied().collect();
            let is_successor = |it: &&'static str| {
                let mut others = sessions.iter().filter(|other| *other != it);
                others.all(|other| tabs.opened_after.contains(&[*other, *it]))
            };
            let expected = match (&sessions[..], &connected[..]) {
                ([only], _) => Some((*only).to_owned()),
                (_, [only]) if is_successor(only) => {
                    let is_beside = tabs.beside.iter().any(|pair| pair.contains(only));
                    prop_assert!(!is_beside, "{:?}", tabs.beside);
                    Some((*only).to_owned())
                }
                _ => None,
            };
            prop_assert_eq!(tabs.route(), expected, "{:?}", sessions);
        }
    }
}
