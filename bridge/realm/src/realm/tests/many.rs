//! Many pages of one token: the events of one page send nothing to the other pages.

use super::*;

const PAGES: u64 = 300;
const TOOLS: usize = 100;

#[test]
fn the_last_of_many_pages_causes_no_more_effects_than_the_first() {
    let mut realm = Realm::new(RealmLimits {
        sessions: 300,
        definitions_per_session: TOOLS,
        ..TEST_LIMITS
    });
    let now = Harness::new().now;
    let mut effect_counts = Vec::new();
    for page in 1..=PAGES {
        let session = format!("tab-{page}");
        let connection = ConnectionId(page);
        let (_, mut effects) = realm
            .page_connected(connection, page_hello(&session), now)
            .unwrap();
        let tools = (0..TOOLS).map(|n| Ok(tool(&format!("t{n}")))).collect();
        let registration = RegistrationId::from("r");
        let session = SessionId::from(session.as_str());
        effects.extend(realm.items_registered(&session, connection, registration, tools, now));
        let receivers = effects.iter().filter_map(|effect| match effect {
            Effect::Send { connection, .. } => Some(*connection),
            _ => None,
        });
        assert!(receivers.into_iter().all(|it| it == connection));
        effect_counts.push(effects.len());
    }
    assert_eq!(realm.session_count() as u64, PAGES);
    assert!(
        effect_counts.iter().all(|it| *it == effect_counts[0]),
        "{effect_counts:?}"
    );
    assert_eq!(realm.published(Kind::Tool).len(), TOOLS);
}

/// The sessions that have a tool: the one that a call is routed to, or those that the error lists.
fn sessions_with_tool(realm: &mut Realm, tool: &str) -> Vec<String> {
    match realm.route_call(tool, &SessionTarget::Any) {
        Ok((session, _)) => vec![session.0],
        Err(RoutingError::Ambiguous { available, .. }) => {
            available.into_iter().map(|it| it.session_id.0).collect()
        }
        Err(_) => Vec::new(),
    }
}

#[test]
fn the_route_index_finds_tools_registered_after_it_was_built() {
    let mut realm = Realm::new(RealmLimits {
        sessions: 300,
        ..TEST_LIMITS
    });
    let now = Harness::new().now;
    let connection = |page: usize| ConnectionId(page as u64);
    let tabs: Vec<String> = (0..60).map(|page| format!("tab-{page}")).collect();
    for (page, tab) in tabs.iter().enumerate() {
        let mut hello = page_hello(tab);
        hello.name = Some(format!("name-{page}"));
        realm.page_connected(connection(page), hello, now).unwrap();
    }
    let register = |realm: &mut Realm, page: usize| {
        let tools = vec![Ok(tool("shared")), Ok(tool(&format!("own-{page}")))];
        let session = SessionId::from(tabs[page].as_str());
        realm.items_registered(
            &session,
            connection(page),
            RegistrationId::from("r"),
            tools,
            now,
        );
        realm.check_invariants();
    };
    // The pages register in reverse order, but are listed in order of connection.
    for page in (0..60).rev() {
        assert_eq!(sessions_with_tool(&mut realm, "shared"), tabs[page + 1..]);
        register(&mut realm, page);
        assert_eq!(
            sessions_with_tool(&mut realm, &format!("own-{page}")),
            tabs[page..=page]
        );
    }
    for page in 0..59 {
        let session = SessionId::from(tabs[page].as_str());
        realm.connection_ended(&session, connection(page), Disconnect::DocumentGone, now);
        register(&mut realm, 59);
        assert_eq!(sessions_with_tool(&mut realm, "shared"), tabs[page + 1..]);
    }
}

#[test]
fn a_session_name_resolves_to_its_current_holder() {
    let mut realm = Realm::new(TEST_LIMITS);
    let now = Harness::new().now;
    for (number, tab) in [(1, "a"), (2, "b")] {
        let mut hello = page_hello(tab);
        hello.name = Some("the name".to_owned());
        realm
            .page_connected(ConnectionId(number), hello, now)
            .unwrap();
        let session = SessionId::from(tab);
        let tools = vec![Ok(tool("t"))];
        let registration = RegistrationId::from("r");
        realm.items_registered(&session, ConnectionId(number), registration, tools, now);
        for _ in 0..2 {
            let by_name = SessionTarget::Session(SessionId::from("the name"));
            let (found, _) = realm.route_call("t", &by_name).unwrap();
            assert_eq!(found, session);
        }
        realm.connection_ended(
            &session,
            ConnectionId(number),
            Disconnect::DocumentGone,
            now,
        );
        let by_name = SessionTarget::Session(SessionId::from("the name"));
        assert!(realm.route_call("t", &by_name).is_err());
        realm.check_invariants();
    }
}
