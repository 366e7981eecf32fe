//! Tests with several tabs: names, limits, the end of tokens and sessions, suspended pages, and the
//! catalogue.

mod expiry;
mod overdue;
mod resuming;
mod successor;
mod suspended;

use bridge_protocol::{PageState, Visibility, limits};

use super::*;

/// The hello of a page with an app and an optional session name.
fn app_page(session: &str, name: Option<&str>) -> PageHello {
    PageHello {
        name: name.map(str::to_owned),
        app: Some("board".to_owned()),
        origin: Some("https://board.example".to_owned()),
        ..page_hello(session)
    }
}

fn try_connect(
    scene: &mut Harness,
    number: u64,
    hello: PageHello,
) -> Result<SessionAccepted, Refusal> {
    let connected = scene
        .realm
        .page_connected(ConnectionId(number), hello, scene.now);
    let (welcome, effects) = connected?;
    scene.apply(effects);
    Ok(welcome)
}

fn harness_with_limits(change: impl FnOnce(&mut RealmLimits)) -> Harness {
    let mut scene = Harness::new();
    let mut limits = TEST_LIMITS;
    change(&mut limits);
    scene.realm = Realm::new(limits);
    scene
}

fn page_state(focused: bool, frozen: bool) -> PageState {
    PageState {
        visibility: Visibility::Visible,
        focused,
        frozen,
        page_title: None,
    }
}

fn close_codes(scene: &Harness) -> Vec<(u64, CloseCode)> {
    let closes = scene.effects.iter().filter_map(|effect| match effect {
        Effect::Close {
            connection, code, ..
        } => Some((connection.0, *code)),
        _ => None,
    });
    closes.collect()
}

fn listed_tools(scene: &Harness) -> Vec<String> {
    let tools = scene.realm.published(Kind::Tool);
    tools.iter().map(|tool| tool.name().to_owned()).collect()
}

#[test]
fn a_duplicate_name_is_numbered_and_freed_later() {
    let mut scene = Harness::new();
    let mut name = |number: u64, session| {
        let welcome = try_connect(&mut scene, number, app_page(session, Some("left"))).unwrap();
        welcome.session_name.unwrap()
    };
    assert_eq!(name(1, "a"), "left");
    assert_eq!(name(2, "b"), "left (2)");
    assert_eq!(name(3, "c"), "left (3)");
    // A page that reconnects may use its own name again.
    assert_eq!(name(4, "a"), "left");
    let gone = scene.realm.connection_ended(
        &"b".into(),
        ConnectionId(2),
        Disconnect::DocumentGone,
        scene.now,
    );
    scene.apply(gone);
    let welcome = try_connect(&mut scene, 5, app_page("d", Some("left"))).unwrap();
    assert_eq!(welcome.session_name.as_deref(), Some("left (2)"));
}

#[test]
fn a_duplicate_name_is_rejected_by_policy() {
    let mut scene = harness_with_limits(|limits| limits.duplicate_names = DuplicateNames::Reject);
    try_connect(&mut scene, 1, app_page("a", Some("left"))).unwrap();
    let refusal = try_connect(&mut scene, 2, app_page("b", Some("left"))).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::SessionNameAlreadyInUse);
    assert!(
        refusal.message.contains("duplicate_names"),
        "{}",
        refusal.message
    );
    try_connect(&mut scene, 3, app_page("b", None)).unwrap();
    try_connect(&mut scene, 4, app_page("c", None)).unwrap();
}

#[test]
fn the_oldest_session_is_closed_by_policy() {
    let mut scene =
        harness_with_limits(|limits| limits.session_limit_policy = SessionLimitPolicy::CloseOldest);
    for (number, session) in (1..).zip(["a", "b", "c"]) {
        try_connect(&mut scene, number, app_page(session, None)).unwrap();
    }
    try_connect(&mut scene, 4, app_page("d", None)).unwrap();
    assert_eq!(close_codes(&scene), [(1, CloseCode::PolicyViolation)]);
    assert_eq!(scene.sent_types(ConnectionId(1)), ["session-closed"]);
    // A page that reconnects does not count against the limit.
    try_connect(&mut scene, 5, app_page("d", None)).unwrap();
    assert_eq!(close_codes(&scene), [(4, CloseCode::Superseded)]);
    assert_eq!(scene.realm.session_count(), TEST_LIMITS.sessions);
}

#[test]
fn a_session_ends_at_its_maximum_duration() {
    let mut scene =
        harness_with_limits(|limits| limits.max_session_duration = Duration::from_secs(30));
    scene.connect(FIRST_CONNECTION);
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.advance_to(29.0);
    scene.call("c").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"c".into());
    scene.advance_to(30.0);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::PageGone))]
    );
    assert_eq!(close_codes(&scene), [(1, CloseCode::PolicyViolation)]);
    assert!(scene.realm.is_inactive());
}

#[test]
fn an_expired_token_ends_the_connection_and_not_the_call() {
    let mut scene = Harness::new();
    let expires = Some(scene.start + Duration::from_secs(10));
    let hello_until = |expires| PageHello {
        expires,
        ..page_hello(TAB)
    };
    let welcome = try_connect(&mut scene, 1, hello_until(expires)).unwrap();
    assert_eq!(welcome.token_expires_in_ms, Some(10_000));
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.call("c").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"c".into());
    scene.advance_to(10.0);
    assert_eq!(close_codes(&scene), [(1, CloseCode::TokenExpired)]);
    assert_eq!(scene.call_outcomes(), []);
    let welcome = try_connect(&mut scene, 2, hello_until(None)).unwrap();
    assert_eq!(welcome.awaited, ["c".into()]);
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn a_fresh_token_on_the_open_socket_keeps_it_open() {
    let mut scene = Harness::new();
    let expires = Some(scene.start + Duration::from_secs(10));
    let first = PageHello {
        expires,
        ..page_hello(TAB)
    };
    try_connect(&mut scene, 1, first).unwrap();
    let fresh = Some(scene.start + Duration::from_secs(25));
    let effects =
        scene
            .realm
            .token_renewed(&TAB.into(), FIRST_CONNECTION, fresh, true, None, scene.now);
    scene.apply(effects);
    assert!(matches!(
        &scene.effects[..],
        [Effect::Send { message: BridgeToPage::Renewed(renewed), .. }]
            if renewed.token_expires_in_ms == Some(25_000)
    ));
    scene.advance_to(20.0);
    assert_eq!(close_codes(&scene), []);
    scene.advance_to(25.0);
    assert_eq!(close_codes(&scene), [(1, CloseCode::TokenExpired)]);
    // Events of a former connection are ignored.
    let late =
        scene
            .realm
            .token_renewed(&TAB.into(), FIRST_CONNECTION, None, true, None, scene.now);
    assert!(late.is_empty());
}

#[test]
fn the_token_of_another_user_ends_the_session_and_its_calls() {
    let mut scene = Harness::new();
    scene.connect(FIRST_CONNECTION);
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.call("c").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"c".into());
    let change_user = |scene: &mut Harness| {
        let (realm, now) = (&mut scene.realm, scene.now);
        realm.user_changed(&TAB.into(), FIRST_CONNECTION, now)
    };
    let effects = change_user(&mut scene);
    scene.apply(effects);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::PageGone))]
    );
    assert_eq!(close_codes(&scene), [(1, CloseCode::TokenExpired)]);
    assert!(scene.realm.is_inactive());
    assert!(change_user(&mut scene).is_empty());
}

#[test]
fn an_offline_app_stays_listed_and_calls_say_that_it_is_not_open() {
    let mut scene = Harness::new();
    try_connect(&mut scene, 1, app_page(TAB, None)).unwrap();
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert!(!scene.tool_list_changed());
    assert_eq!(listed_tools(&scene), ["echo"]);
    assert!(scene.realm.is_inactive() && !scene.realm.is_empty());
    let Err(RoutingError::AppNotOpen { name, app }) =
        scene.realm.route(Kind::Tool, "echo", &SessionTarget::Any)
    else {
        panic!("the call was routed")
    };
    assert_eq!((name.as_str(), app.name.as_str()), ("echo", "board"));
    assert_eq!(app.origin.as_deref(), Some("https://board.example"));
    let pinned = SessionTarget::Session("gone".into());
    let pinned = scene.realm.route(Kind::Tool, "echo", &pinned);
    assert!(matches!(pinned, Err(RoutingError::NoSessions)));

    // The next page's registration replaces the catalogue entry, first with equal and then with
    // fewer definitions.
    try_connect(&mut scene, 2, app_page("next", None)).unwrap();
    assert_eq!(listed_tools(&scene), ["echo"]);
    let next: SessionId = "next".into();
    let mut register = |name| {
        let tools = vec![Ok(tool(name))];
        let effects =
            scene
                .realm
                .items_registered(&next, SECOND_CONNECTION, "r".into(), tools, scene.now);
        scene.apply(effects);
        (listed_tools(&scene), scene.tool_list_changed())
    };
    assert_eq!(register("echo"), (vec!["echo".to_owned()], false));
    let effects = scene.realm.connection_ended(
        &next,
        SECOND_CONNECTION,
        Disconnect::DocumentGone,
        scene.now,
    );
    scene.apply(effects);
    try_connect(&mut scene, 3, app_page(TAB, None)).unwrap();
    let tools = vec![Ok(tool("other"))];
    let effects =
        scene
            .realm
            .items_registered(&TAB.into(), ConnectionId(3), "r".into(), tools, scene.now);
    scene.apply(effects);
    assert!(scene.tool_list_changed());
    assert_eq!(listed_tools(&scene), ["other"]);
}

#[test]
fn catalogue_bytes_are_bounded_and_the_oldest_app_is_removed_first() {
    let bytes = tool("echo").bytes();
    let mut scene = harness_with_limits(|limits| limits.catalogue_bytes = 3 * bytes);
    for (number, name) in (1..).zip(["aaaa", "bbbb", "cccc"]) {
        close_app(&mut scene, number, name);
        assert!(!scene.tool_list_changed());
    }
    assert_eq!(scene.realm.catalogue_bytes(), 3 * bytes);
    close_app(&mut scene, 4, "dddd");
    assert!(scene.tool_list_changed());
    assert_eq!(listed_tools(&scene), ["bbbb", "cccc", "dddd"]);
    // The definitions of an app that exceed the limit alone are not listed.
    let huge = "e".repeat(3 * bytes);
    close_app(&mut scene, 5, &huge);
    assert!(scene.tool_list_changed());
    assert_eq!(listed_tools(&scene), ["bbbb", "cccc", "dddd"]);

    let effects = scene.realm.oldest_app_evicted();
    scene.apply(effects);
    assert!(scene.tool_list_changed());
    assert_eq!(listed_tools(&scene), ["cccc", "dddd"]);
}

/// Opens a page of an app with a tool of the same name, and closes it.
fn close_app(scene: &mut Harness, number: u64, name: &str) {
    let hello = PageHello {
        app: Some(name.to_owned()),
        ..app_page(TAB, None)
    };
    try_connect(scene, number, hello).unwrap();
    scene.register(ConnectionId(number), &[name]);
    scene.disconnect(ConnectionId(number), Disconnect::DocumentGone);
}

#[test]
fn closed_apps_that_are_handed_over_are_listed_within_the_limits_of_their_new_bridge() {
    let mut former = Harness::new();
    for (number, name) in (1..).zip(["aaaa", "bbbb", "cccc"]) {
        close_app(&mut former, number, name);
    }
    let apps = former.realm.closed_apps(former.now);
    let hand_over = |scene: &mut Harness| {
        for app in &apps {
            let effects = scene.realm.closed_app_handed_over(app.clone(), scene.now);
            scene.apply(effects);
        }
        listed_tools(scene)
    };
    let mut scene = Harness::new();
    assert_eq!(hand_over(&mut scene), ["aaaa", "bbbb", "cccc"]);
    assert!(scene.tool_list_changed());
    // Once more changes nothing, nor does an app that has a page here.
    assert_eq!(hand_over(&mut scene).len(), 3);
    assert!(!scene.tool_list_changed());
    scene.advance_to(3600.0);
    assert_eq!(listed_tools(&scene), Vec::<String>::new());
    let hello = PageHello {
        app: Some("aaaa".to_owned()),
        ..app_page(TAB, None)
    };
    try_connect(&mut scene, 1, hello).unwrap();
    assert_eq!(hand_over(&mut scene), ["bbbb", "cccc"]);

    let bytes = tool("aaaa").bytes();
    let limits: [fn(&mut RealmLimits, usize); 4] = [
        |limits, bytes| limits.catalogue_bytes = 2 * bytes,
        |limits, bytes| limits.catalogue_bytes = bytes - 1,
        |limits, _| limits.definitions_per_session = 0,
        |limits, _| limits.catalogue_ttl = Duration::ZERO,
    ];
    for (limit, listed) in limits.iter().zip([2, 0, 0, 0]) {
        let mut scene = harness_with_limits(|limits| limit(limits, bytes));
        assert_eq!(hand_over(&mut scene).len(), listed);
    }
}

#[test]
fn no_catalogue_entry_without_ttl_or_while_the_app_is_open() {
    let mut scene = harness_with_limits(|limits| limits.catalogue_ttl = Duration::ZERO);
    try_connect(&mut scene, 1, app_page(TAB, None)).unwrap();
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert!(scene.realm.is_inactive());

    let mut scene = Harness::new();
    try_connect(&mut scene, 1, app_page(TAB, None)).unwrap();
    try_connect(&mut scene, 2, app_page("second", None)).unwrap();
    scene.register(FIRST_CONNECTION, &["echo"]);
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert!(scene.tool_list_changed());
    assert_eq!(listed_tools(&scene), Vec::<String>::new());
}

#[test]
fn a_session_is_found_by_its_id_and_by_its_name() {
    let mut scene = Harness::new();
    for (number, session) in (1..).zip(["a", "b"]) {
        try_connect(&mut scene, number, app_page(session, Some("left"))).unwrap();
        let tools = vec![Ok(tool("echo"))];
        let id = SessionId::from(session);
        let connection = ConnectionId(number);
        let effects = scene
            .realm
            .items_registered(&id, connection, "r".into(), tools, scene.now);
        scene.apply(effects);
    }
    let routed = |target: &str| {
        let target = SessionTarget::Session(target.into());
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
fn an_ambiguous_call_is_routed_by_policy() {
    let routed = |policy: AmbiguousCalls, focused: &[&str]| {
        let mut scene = harness_with_limits(|limits| limits.ambiguous_calls = policy);
        for (number, session) in (1..).zip(["a", "b"]) {
            try_connect(&mut scene, number, app_page(session, None)).unwrap();
            let tools = vec![Ok(tool("echo"))];
            let id = SessionId::from(session);
            let connection = ConnectionId(number);
            let effects =
                scene
                    .realm
                    .items_registered(&id, connection, "r".into(), tools, scene.now);
            scene.apply(effects);
            scene.now.unix_ms += 1;
            let is_focused = focused.contains(&session);
            let _ = scene.realm.page_state_changed(
                &id,
                connection,
                page_state(is_focused, false),
                scene.now,
            );
        }
        match scene.realm.route(Kind::Tool, "echo", &SessionTarget::Any) {
            Ok((id, _)) => Some(id.0),
            Err(RoutingError::Ambiguous { available, .. }) => {
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
