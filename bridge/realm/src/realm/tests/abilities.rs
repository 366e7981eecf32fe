//! Sessions of pages that have few abilities.

use std::sync::Arc;

use super::*;

fn basic_hello(session: &str) -> PageHello {
    PageHello {
        abilities: BASIC_ABILITIES,
        document: None,
        ..page_hello(session)
    }
}

impl Harness {
    /// Creates a realm with one basic page that has the tool `echo`.
    fn with_basic_page() -> Self {
        let mut scene = Self::new();
        scene.connect_basic(FIRST_CONNECTION);
        scene.register(FIRST_CONNECTION, &["echo"]);
        scene
    }

    fn connect_basic(&mut self, connection: ConnectionId) {
        let connected = self
            .realm
            .page_connected(connection, basic_hello(TAB), self.now);
        self.apply(connected.unwrap().1);
    }
}

#[test]
fn a_page_without_receipts_has_its_own_call_timeout() {
    let mut scene = Harness::with_basic_page();
    scene.call("c").unwrap();
    scene.advance_to(29.0);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(30.0);
    let ended = [("c".to_owned(), Some(ErrorCode::CallTimeout))];
    assert_eq!(scene.call_outcomes(), ended);
    let Some(Effect::CompleteCall {
        outcome: CallOutcome::Failed(failure),
        ..
    }) = scene.effects.last()
    else {
        panic!("{:?}", scene.effects)
    };
    assert!(failure.message.contains("within 30 s"), "{failure:?}");
}

#[test]
fn a_resource_read_has_the_call_timeout_of_the_page() {
    let mut scene = Harness::with_basic_page();
    let call = NewCall {
        request: PageRequest::Resource {
            uri: "app://1".to_owned(),
            template: None,
        },
        ..new_call("r", tool("echo"))
    };
    let requested = scene.realm.call_requested(&TAB.into(), call, scene.now);
    scene.apply(requested.unwrap());
    assert_eq!(
        scene.realm.call_resource_uri(&TAB.into(), &"r".into()),
        Some("app://1")
    );
    assert_eq!(
        scene.realm.call_resource_uri(&"other".into(), &"r".into()),
        None
    );
    scene.advance_to(30.0);
    let ended = [("r".to_owned(), Some(ErrorCode::CallTimeout))];
    assert_eq!(scene.call_outcomes(), ended);
}

#[test]
fn an_idle_page_without_heartbeats_is_pinged_and_never_ends() {
    let mut scene = Harness::with_basic_page();
    for _ in 0..1_000 {
        let due = scene.realm.next_deadline().unwrap();
        scene.now.instant = due;
        let effects = scene.realm.deadline_passed(scene.now);
        let pings = |effect: &Effect| matches!(effect, Effect::Ping { .. });
        assert!(effects.iter().all(pings), "{effects:?}");
    }
    assert_eq!(scene.realm.session_count(), 1);
}

#[test]
fn a_page_that_does_not_resume_ends_with_its_connection() {
    for parting in [Disconnect::ConnectionLost, Disconnect::DocumentGone] {
        let mut scene = Harness::with_basic_page();
        scene.call("c").unwrap();
        scene.disconnect(FIRST_CONNECTION, parting);
        let ended = [("c".to_owned(), Some(ErrorCode::PageGone))];
        assert_eq!(scene.call_outcomes(), ended);
        assert!(scene.realm.is_inactive());
    }
}

#[test]
fn a_newer_connection_of_a_page_that_does_not_resume_keeps_calls_and_drops_items() {
    let mut scene = Harness::with_basic_page();
    scene.call("c").unwrap();
    scene.connect_basic(SECOND_CONNECTION);
    assert_eq!(scene.call_outcomes(), []);
    assert!(scene.tool_list_changed());
    assert!(scene.realm.published(Kind::Tool).is_empty());
    // The page is already running the call, and the late close of the old connection is ignored.
    assert!(!scene.sent_types(SECOND_CONNECTION).contains(&"tool-call"));
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn conflicting_schemas_are_rejected_by_policy() {
    let tool = |schema: Option<&str>, description: &str| {
        let schema = schema.map_or(String::new(), |it| format!(r#","inputSchema":{it}"#));
        let definition = format!(r#"{{"name":"t","description":"{description}"{schema}}}"#);
        parse_definition(Kind::Tool, definition).remove(0)
    };
    let object = Some(r#"{"type":"object"}"#);
    for (first, second, conflicts) in [
        (tool(object, "a"), tool(object, "b"), false),
        (tool(None, "a"), tool(Some("{}"), "b"), false),
        (tool(None, "a"), tool(object, "b"), true),
        (tool(object, "a"), tool(Some("{}"), "a"), true),
    ] {
        for refuses_conflicts in [true, false] {
            let mut scene = Harness::new();
            Arc::make_mut(&mut scene.realm.limits).reject_conflicts = refuses_conflicts;
            for (id, connection, tool) in [
                ("a", FIRST_CONNECTION, &first),
                ("b", SECOND_CONNECTION, &second),
            ] {
                let connected = scene
                    .realm
                    .page_connected(connection, basic_hello(id), scene.now);
                scene.apply(connected.unwrap().1);
                let tools = vec![tool.clone()];
                let registered = scene.realm.items_registered(
                    &id.into(),
                    connection,
                    "r".into(),
                    tools,
                    scene.now,
                );
                scene.apply(registered);
            }
            let errors = scene.effects.iter().find_map(|effect| match effect {
                Effect::Send {
                    message: BridgeToPage::Registered(answer),
                    ..
                } => Some(&answer.errors),
                _ => None,
            });
            let errors = errors.unwrap();
            assert_eq!(!errors.is_empty(), conflicts && refuses_conflicts);
            if let Some(error) = errors.first() {
                assert_eq!(error.code, ErrorCode::ToolSchemaConflict);
                assert!(error.message.contains("different schema"), "{error:?}");
            }
        }
    }
}
