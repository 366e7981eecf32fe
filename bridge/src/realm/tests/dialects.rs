//! What follows from the dialect of a session.

use std::sync::Arc;

use super::*;

fn v1(session: &str) -> PageHello {
    PageHello {
        dialect: Dialect::V1,
        document: None,
        ..hello(session)
    }
}

impl Scene {
    /// A page of v1 with the tool `echo`.
    fn with_v1_page() -> Self {
        let mut scene = Self::new();
        scene.connect_v1(FIRST);
        scene.register(FIRST, &["echo"]);
        scene
    }

    fn connect_v1(&mut self, connection: ConnectionId) {
        let connected = self.realm.page_connected(connection, v1(TAB), self.now);
        self.then(connected.unwrap().1);
    }
}

#[test]
fn a_v1_page_acknowledges_nothing_and_has_30_seconds_for_a_call_whatever_is_configured() {
    let mut scene = Scene::with_v1_page();
    scene.call("c").unwrap();
    scene.after(29.0);
    assert_eq!(scene.endings(), []);
    scene.after(30.0);
    let ended = [("c".to_owned(), Some(ErrorCode::CallTimeout))];
    assert_eq!(scene.endings(), ended);
    let Some(Effect::End {
        ending: Ending::Failed(failure),
        ..
    }) = scene.effects.last()
    else {
        panic!("{:?}", scene.effects)
    };
    assert!(failure.message.contains("within 30 s"), "{failure:?}");
}

#[test]
fn a_read_of_a_v1_page_ends_after_30_seconds() {
    let mut scene = Scene::with_v1_page();
    let call = NewCall {
        request: Request::Resource {
            uri: "app://1".to_owned(),
            template: None,
        },
        ..new_call("r", tool("echo"))
    };
    let requested = scene.realm.call_requested(&TAB.into(), call, scene.now);
    scene.then(requested.unwrap());
    assert_eq!(
        scene.realm.uri_of(&TAB.into(), &"r".into()),
        Some("app://1")
    );
    assert_eq!(scene.realm.uri_of(&"other".into(), &"r".into()), None);
    scene.after(30.0);
    let ended = [("r".to_owned(), Some(ErrorCode::CallTimeout))];
    assert_eq!(scene.endings(), ended);
}

#[test]
fn a_v1_page_that_is_idle_is_pinged_and_never_ends() {
    let mut scene = Scene::with_v1_page();
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
fn a_v1_session_ends_with_its_connection() {
    for parting in [Parting::Broken, Parting::Gone] {
        let mut scene = Scene::with_v1_page();
        scene.call("c").unwrap();
        scene.end(FIRST, parting);
        let ended = [("c".to_owned(), Some(ErrorCode::PageGone))];
        assert_eq!(scene.endings(), ended);
        assert!(scene.realm.is_only_remembered());
    }
}

#[test]
fn a_newer_connection_of_a_v1_page_has_its_calls_and_an_empty_set() {
    let mut scene = Scene::with_v1_page();
    scene.call("c").unwrap();
    scene.connect_v1(SECOND);
    assert_eq!(scene.endings(), []);
    assert!(scene.tools_changed());
    assert!(scene.realm.published(Kind::Tool).is_empty());
    // The page works on it already, and the late close of the old connection changes nothing.
    assert!(!scene.sent(SECOND).contains(&"tool-call"));
    scene.end(FIRST, Parting::Gone);
    scene.answer(SECOND, "c");
    assert_eq!(scene.endings(), [("c".to_owned(), None)]);
}

#[test]
fn conflicting_schemas_are_refused_where_the_operator_wants_that() {
    let tool = |schema: Option<&str>, description: &str| {
        let schema = schema.map_or(String::new(), |it| format!(r#","inputSchema":{it}"#));
        let definition = format!(r#"{{"name":"t","description":"{description}"{schema}}}"#);
        parse(Kind::Tool, definition).remove(0)
    };
    let object = Some(r#"{"type":"object"}"#);
    for (first, second, conflicts) in [
        (tool(object, "a"), tool(object, "b"), false),
        (tool(None, "a"), tool(Some("{}"), "b"), false),
        (tool(None, "a"), tool(object, "b"), true),
        (tool(object, "a"), tool(Some("{}"), "a"), true),
    ] {
        for refuses_conflicts in [true, false] {
            let mut scene = Scene::new();
            Arc::make_mut(&mut scene.realm.limits).refuses_conflicts = refuses_conflicts;
            for (id, connection, tool) in [("a", FIRST, &first), ("b", SECOND, &second)] {
                let connected = scene.realm.page_connected(connection, v1(id), scene.now);
                scene.then(connected.unwrap().1);
                let tools = vec![tool.clone()];
                let registered =
                    scene
                        .realm
                        .items_registered(&id.into(), connection, "r".into(), tools);
                scene.then(registered);
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
