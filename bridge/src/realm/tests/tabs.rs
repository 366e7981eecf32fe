//! Many tabs: names, limits, the end of tokens and sessions, suspended pages, what is remembered.

mod resuming;
mod suspended;

use bridge_protocol::{PageState, Visibility, limits};

use super::*;

/// A page of an app, with a name of its own.
fn page(session: &str, name: Option<&str>) -> PageHello {
    PageHello {
        name: name.map(str::to_owned),
        app: Some("board".to_owned()),
        origin: Some("https://board.example".to_owned()),
        ..hello(session)
    }
}

fn connect(scene: &mut Scene, number: u64, hello: PageHello) -> Result<Welcome, Refusal> {
    let connected = scene
        .realm
        .page_connected(ConnectionId(number), hello, scene.now);
    let (welcome, effects) = connected?;
    scene.then(effects);
    Ok(welcome)
}

fn limited(change: impl FnOnce(&mut RealmLimits)) -> Scene {
    let mut scene = Scene::new();
    let mut limits = LIMITS;
    change(&mut limits);
    scene.realm = Realm::new(limits);
    scene
}

fn state(focused: bool, frozen: bool) -> PageState {
    PageState {
        visibility: Visibility::Visible,
        focused,
        frozen,
        page_title: None,
    }
}

fn closes(scene: &Scene) -> Vec<(u64, CloseCode)> {
    let closes = scene.effects.iter().filter_map(|effect| match effect {
        Effect::Close {
            connection, code, ..
        } => Some((connection.0, *code)),
        _ => None,
    });
    closes.collect()
}

fn listed(scene: &Scene) -> Vec<String> {
    let tools = scene.realm.published(Kind::Tool);
    tools.iter().map(|tool| tool.name().to_owned()).collect()
}

#[test]
fn a_name_that_is_taken_is_numbered_and_free_again_later() {
    let mut scene = Scene::new();
    let mut name = |number: u64, session| {
        let welcome = connect(&mut scene, number, page(session, Some("left"))).unwrap();
        welcome.session_name.unwrap()
    };
    assert_eq!(name(1, "a"), "left");
    assert_eq!(name(2, "b"), "left (2)");
    assert_eq!(name(3, "c"), "left (3)");
    // Its own name is not taken for the page that comes back.
    assert_eq!(name(4, "a"), "left");
    let gone = scene
        .realm
        .connection_ended(&"b".into(), ConnectionId(2), Parting::Gone, scene.now);
    scene.then(gone);
    let welcome = connect(&mut scene, 5, page("d", Some("left"))).unwrap();
    assert_eq!(welcome.session_name.as_deref(), Some("left (2)"));
}

#[test]
fn a_name_that_is_taken_is_refused_where_the_operator_wants_that() {
    let mut scene = limited(|limits| limits.duplicate_names = DuplicateNames::Reject);
    connect(&mut scene, 1, page("a", Some("left"))).unwrap();
    let refusal = connect(&mut scene, 2, page("b", Some("left"))).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::SessionNameAlreadyInUse);
    assert!(
        refusal.message.contains("duplicate_names"),
        "{}",
        refusal.message
    );
    connect(&mut scene, 3, page("b", None)).unwrap();
    connect(&mut scene, 4, page("c", None)).unwrap();
}

#[test]
fn the_oldest_page_makes_room_where_the_operator_wants_that() {
    let mut scene = limited(|limits| limits.session_limit_policy = SessionLimitPolicy::CloseOldest);
    for (number, session) in (1..).zip(["a", "b", "c"]) {
        connect(&mut scene, number, page(session, None)).unwrap();
    }
    connect(&mut scene, 4, page("d", None)).unwrap();
    assert_eq!(closes(&scene), [(1, CloseCode::PolicyViolation)]);
    assert_eq!(scene.sent(ConnectionId(1)), ["session-closed"]);
    // One that is known needs no room.
    connect(&mut scene, 5, page("d", None)).unwrap();
    assert_eq!(closes(&scene), [(4, CloseCode::Superseded)]);
    assert_eq!(scene.realm.session_count(), LIMITS.sessions);
}

#[test]
fn a_session_ends_when_it_has_lasted_as_long_as_it_may() {
    let mut scene = limited(|limits| limits.max_session_duration = Duration::from_secs(30));
    scene.connect(FIRST);
    scene.register(FIRST, &["echo"]);
    scene.after(29.0);
    scene.call("c").unwrap();
    scene.realm.call_received(&TAB.into(), FIRST, &"c".into());
    scene.after(30.0);
    assert_eq!(
        scene.endings(),
        [("c".to_owned(), Some(ErrorCode::PageGone))]
    );
    assert_eq!(closes(&scene), [(1, CloseCode::PolicyViolation)]);
    assert!(scene.realm.is_only_remembered());
}

#[test]
fn a_token_that_expires_ends_the_connection_and_not_the_call() {
    let mut scene = Scene::new();
    let expires = Some(scene.start + Duration::from_secs(10));
    let hello_until = |expires| PageHello {
        expires,
        ..hello(TAB)
    };
    let welcome = connect(&mut scene, 1, hello_until(expires)).unwrap();
    assert_eq!(welcome.token_expires_in_ms, Some(10_000));
    scene.register(FIRST, &["echo"]);
    scene.call("c").unwrap();
    scene.realm.call_received(&TAB.into(), FIRST, &"c".into());
    scene.after(10.0);
    assert_eq!(closes(&scene), [(1, CloseCode::TokenExpired)]);
    assert_eq!(scene.endings(), []);
    let welcome = connect(&mut scene, 2, hello_until(None)).unwrap();
    assert_eq!(welcome.awaited, ["c".into()]);
    scene.answer(SECOND, "c");
    assert_eq!(scene.endings(), [("c".to_owned(), None)]);
}

#[test]
fn a_fresh_token_on_the_open_socket_keeps_it_open() {
    let mut scene = Scene::new();
    let expires = Some(scene.start + Duration::from_secs(10));
    let first = PageHello {
        expires,
        ..hello(TAB)
    };
    connect(&mut scene, 1, first).unwrap();
    let fresh = Some(scene.start + Duration::from_secs(25));
    let effects = scene
        .realm
        .page_renewed(&TAB.into(), FIRST, fresh, true, None, scene.now);
    scene.then(effects);
    assert!(matches!(
        &scene.effects[..],
        [Effect::Send { message: BridgeToPage::Renewed(renewed), .. }]
            if renewed.token_expires_in_ms == Some(25_000)
    ));
    scene.after(20.0);
    assert_eq!(closes(&scene), []);
    scene.after(25.0);
    assert_eq!(closes(&scene), [(1, CloseCode::TokenExpired)]);
    // What comes of a former connection changes nothing.
    let late = scene
        .realm
        .page_renewed(&TAB.into(), FIRST, None, true, None, scene.now);
    assert!(late.is_empty());
}

#[test]
fn an_app_stays_listed_when_its_last_page_leaves_and_calls_say_that_it_is_closed() {
    let mut scene = Scene::new();
    connect(&mut scene, 1, page(TAB, None)).unwrap();
    scene.register(FIRST, &["echo"]);
    scene.end(FIRST, Parting::Gone);
    assert!(!scene.tools_changed());
    assert_eq!(listed(&scene), ["echo"]);
    assert!(scene.realm.is_only_remembered() && !scene.realm.is_empty());
    let Err(RouteError::AppNotOpen { name, app }) =
        scene.realm.route(Kind::Tool, "echo", &Target::Any)
    else {
        panic!("routed")
    };
    assert_eq!((name.as_str(), app.name.as_str()), ("echo", "board"));
    assert_eq!(app.origin.as_deref(), Some("https://board.example"));
    let pinned = Target::Session("gone".into());
    let pinned = scene.realm.route(Kind::Tool, "echo", &pinned);
    assert!(matches!(pinned, Err(RouteError::NoSessions)));

    // The next page's registration replaces what was remembered: the same, and then less.
    connect(&mut scene, 2, page("next", None)).unwrap();
    assert_eq!(listed(&scene), ["echo"]);
    let next: SessionId = "next".into();
    let mut register = |name| {
        let tools = vec![Ok(tool(name))];
        let effects = scene
            .realm
            .items_registered(&next, SECOND, "r".into(), tools);
        scene.then(effects);
        (listed(&scene), scene.tools_changed())
    };
    assert_eq!(register("echo"), (vec!["echo".to_owned()], false));
    let effects = scene
        .realm
        .connection_ended(&next, SECOND, Parting::Gone, scene.now);
    scene.then(effects);
    connect(&mut scene, 3, page(TAB, None)).unwrap();
    let tools = vec![Ok(tool("other"))];
    let effects = scene
        .realm
        .items_registered(&TAB.into(), ConnectionId(3), "r".into(), tools);
    scene.then(effects);
    assert!(scene.tools_changed());
    assert_eq!(listed(&scene), ["other"]);
}

#[test]
fn what_is_remembered_is_forgotten_in_time_and_of_many_apps() {
    let mut scene = Scene::new();
    for number in 0..=catalogue::MAX_APPS as u64 {
        let hello = PageHello {
            app: Some(format!("app{number}")),
            ..hello(TAB)
        };
        connect(&mut scene, number, hello).unwrap();
        scene.register(ConnectionId(number), &[&format!("tool{number}")]);
        scene.end(ConnectionId(number), Parting::Gone);
    }
    assert_eq!(listed(&scene).len(), catalogue::MAX_APPS);
    assert!(!listed(&scene).contains(&"tool0".to_owned()));
    scene.after(3599.0);
    assert_eq!(listed(&scene).len(), catalogue::MAX_APPS);
    scene.after(3600.0);
    assert!(scene.tools_changed());
    assert!(scene.realm.is_empty());
}

#[test]
fn nothing_is_remembered_where_the_operator_wants_that_or_while_a_page_of_the_app_is_open() {
    let mut scene = limited(|limits| limits.catalogue_ttl = Duration::ZERO);
    connect(&mut scene, 1, page(TAB, None)).unwrap();
    scene.register(FIRST, &["echo"]);
    scene.end(FIRST, Parting::Gone);
    assert!(scene.realm.is_only_remembered());

    let mut scene = Scene::new();
    connect(&mut scene, 1, page(TAB, None)).unwrap();
    connect(&mut scene, 2, page("second", None)).unwrap();
    scene.register(FIRST, &["echo"]);
    scene.end(FIRST, Parting::Gone);
    assert!(scene.tools_changed());
    assert_eq!(listed(&scene), Vec::<String>::new());
}

#[test]
fn a_session_is_found_by_its_id_and_by_its_name() {
    let mut scene = Scene::new();
    for (number, session) in (1..).zip(["a", "b"]) {
        connect(&mut scene, number, page(session, Some("left"))).unwrap();
        let tools = vec![Ok(tool("echo"))];
        let id = SessionId::from(session);
        let connection = ConnectionId(number);
        let effects = scene
            .realm
            .items_registered(&id, connection, "r".into(), tools);
        scene.then(effects);
    }
    let routed = |target: &str| {
        let target = Target::Session(target.into());
        let routed = scene.realm.route(Kind::Tool, "echo", &target);
        routed.ok().map(|(id, _)| id.0)
    };
    assert_eq!(routed("b").as_deref(), Some("b"));
    assert_eq!(routed("left").as_deref(), Some("a"));
    assert_eq!(routed("left (2)").as_deref(), Some("b"));
    assert_eq!(routed("right"), None);
    let by_name = scene.realm.published_by(Kind::Tool, &"left (2)".into());
    assert_eq!(by_name.unwrap().len(), 1);
}

#[test]
fn a_page_that_registers_nothing_for_a_heartbeat_has_nothing() {
    let mut scene = Scene::new();
    connect(&mut scene, 1, page(TAB, None)).unwrap();
    scene.register(FIRST, &["echo"]);
    scene.end(FIRST, Parting::Gone);
    connect(&mut scene, 2, page(TAB, None)).unwrap();
    assert_eq!(listed(&scene), ["echo"]);
    scene.after(20.0);
    assert!(scene.tools_changed());
    assert_eq!(listed(&scene), Vec::<String>::new());

    scene.register(SECOND, &["echo"]);
    scene.end(SECOND, Parting::Broken);
    connect(&mut scene, 3, page(TAB, None)).unwrap();
    assert_eq!(listed(&scene), ["echo"]);
    scene.after(40.0);
    assert!(scene.tools_changed());
    assert_eq!(listed(&scene), Vec::<String>::new());
    scene.after(60.0);
    assert!(!scene.tools_changed());
}

#[test]
fn an_ambiguous_call_goes_where_the_operator_says() {
    let routed = |policy: AmbiguousCalls, focused: &[&str]| {
        let mut scene = limited(|limits| limits.ambiguous_calls = policy);
        for (number, session) in (1..).zip(["a", "b"]) {
            connect(&mut scene, number, page(session, None)).unwrap();
            let tools = vec![Ok(tool("echo"))];
            let id = SessionId::from(session);
            let connection = ConnectionId(number);
            let effects = scene
                .realm
                .items_registered(&id, connection, "r".into(), tools);
            scene.then(effects);
            scene.now.unix_ms += 1;
            let is_focused = focused.contains(&session);
            let _ = scene.realm.page_state_changed(
                &id,
                connection,
                state(is_focused, false),
                scene.now,
            );
        }
        match scene.realm.route(Kind::Tool, "echo", &Target::Any) {
            Ok((id, _)) => Some(id.0),
            Err(RouteError::Ambiguous { available, .. }) => {
                assert_eq!(available.len(), 2);
                None
            }
            Err(other) => panic!("{other:?}"),
        }
    };
    use AmbiguousCalls::{Ask, Focused, LastActive};
    assert_eq!(routed(Ask, &["a"]), None);
    assert_eq!(routed(Focused, &["a"]).as_deref(), Some("a"));
    assert_eq!(routed(Focused, &[]), None);
    assert_eq!(routed(Focused, &["a", "b"]), None);
    assert_eq!(routed(LastActive, &["a"]).as_deref(), Some("a"));
    assert_eq!(routed(LastActive, &[]).as_deref(), Some("b"));
}

#[test]
fn sessions_that_have_ended_are_known_for_a_time_in_bounded_number() {
    let mut scene = limited(|limits| limits.catalogue_ttl = Duration::ZERO);
    let end = |scene: &mut Scene, number: u64, session: &str, name: Option<&str>| {
        connect(scene, number, page(session, name)).unwrap();
        let effects = scene.realm.connection_ended(
            &session.into(),
            ConnectionId(number),
            Parting::Gone,
            scene.now,
        );
        scene.then(effects);
    };
    assert!(!scene.realm.knows_session(&"first".into()));
    end(&mut scene, 1, "first", Some("board"));
    for called in ["first", "board"] {
        assert!(scene.realm.knows_session(&called.into()), "{called}");
    }
    for number in 0..600 {
        end(&mut scene, number + 2, &format!("s{number}"), None);
    }
    assert!(!scene.realm.knows_session(&"first".into()));
    assert!(scene.realm.knows_session(&"s599".into()));
    assert!(!scene.realm.is_empty());
    scene.now.instant += Duration::from_secs(3600);
    let effects = scene.realm.deadline_passed(scene.now);
    scene.then(effects);
    assert!(!scene.realm.knows_session(&"s599".into()));
    assert!(scene.realm.is_empty());
}
