//! The lifecycle of a single call.

use bridge_protocol::TraceContext;

use super::*;

#[test]
fn a_call_goes_to_the_page_and_its_answer_to_the_caller_once() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["tool-call"]);
    scene.answer(FIRST_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
    scene.answer(FIRST_CONNECTION, "c");
    assert!(scene.effects.is_empty(), "answered twice");
}

#[test]
fn an_unacknowledged_call_fails_after_five_seconds_and_is_cancelled() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene.advance_to(4.9);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(5.0);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::PageSuspended))]
    );
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["call-cancel"]);
}

#[test]
fn an_acknowledged_call_lives_until_its_own_deadline() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene
        .realm
        .call_received(&TAB.into(), FIRST_CONNECTION, &"c".into());
    scene.advance_to(119.0);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(120.0);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::CallTimeout))]
    );
}

#[test]
fn the_receipt_of_a_call_is_reported_for_its_trace_only() {
    let mut scene = Harness::with_page();
    scene.call("plain").unwrap();
    let mut traced = new_call("traced", tool("t"));
    traced.context.trace = Some(Arc::new(TraceContext {
        traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned(),
        tracestate: None,
        baggage: None,
    }));
    let effects = scene.realm.call_requested(&TAB.into(), traced, scene.now);
    scene.apply(effects.unwrap());
    for (call, expected) in [("plain", 0), ("traced", 1), ("unknown", 0)] {
        let receive = scene
            .realm
            .call_received(&TAB.into(), FIRST_CONNECTION, &call.into());
        assert_eq!(receive.len(), expected, "{call}");
        let is_receipt =
            |it: &Effect| matches!(it, Effect::CallReceived { call: id } if id.as_str() == call);
        assert!(receive.iter().all(is_receipt), "{receive:?}");
    }
}

#[test]
fn a_page_that_is_gone_fails_its_calls_at_once() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::PageGone))]
    );
    assert!(scene.tool_list_changed());
    assert!(scene.realm.is_inactive());
}

#[test]
fn a_cancelled_call_is_cancelled_in_the_page() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    let effects = scene
        .realm
        .call_cancelled(&"c".into(), "the client cancelled", scene.now);
    scene.apply(effects);
    assert_eq!(scene.sent_types(FIRST_CONNECTION), ["call-cancel"]);
    assert_eq!(
        scene.call_outcomes(),
        [("c".to_owned(), Some(ErrorCode::CallCancelled))]
    );
}

#[test]
fn a_call_is_routed_to_the_current_holder_of_the_tool() {
    fn routed(scene: &mut Harness, name: &str) -> Result<String, usize> {
        match scene.realm.route_call(name, &SessionTarget::Any) {
            Ok((id, _)) => Ok(id.0),
            Err(RoutingError::Ambiguous { available, .. }) => Err(available.len()),
            Err(_) => Err(0),
        }
    }
    fn join(scene: &mut Harness, number: u64) {
        let (connection, id) = (ConnectionId(number), format!("page{number}"));
        let hello = page_hello(&id);
        scene
            .realm
            .page_connected(connection, hello, scene.now)
            .unwrap();
        let id: SessionId = id.as_str().into();
        let tools = vec![Ok(tool("echo"))];
        let effects = scene
            .realm
            .items_registered(&id, connection, "r".into(), tools, scene.now);
        scene.apply(effects);
    }
    let mut scene = Harness::with_page();
    assert_eq!(routed(&mut scene, "echo").as_deref(), Ok(TAB));
    assert_eq!(routed(&mut scene, "more"), Err(0));
    scene.register(FIRST_CONNECTION, &["more"]);
    assert_eq!(routed(&mut scene, "more").as_deref(), Ok(TAB));
    // A second page has the tool as well, and is then the only one.
    join(&mut scene, 20);
    assert_eq!(routed(&mut scene, "echo"), Err(2));
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert_eq!(routed(&mut scene, "echo").as_deref(), Ok("page20"));
    assert_eq!(routed(&mut scene, "more"), Err(0));
    let last: SessionId = "page20".into();
    let echo = Item {
        kind: Kind::Tool,
        name: "echo".to_owned(),
    };
    let effects = scene
        .realm
        .items_unregistered(&last, ConnectionId(20), "u".into(), vec![echo]);
    scene.apply(effects);
    assert_eq!(routed(&mut scene, "echo"), Err(0));
}
