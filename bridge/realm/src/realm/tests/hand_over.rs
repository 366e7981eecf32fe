//! Calls that outlive their document.

use bridge_protocol::limits::{
    MAX_ARMED_BYTES, MAX_ARMED_CALLS, MAX_HAND_OVER_BYTES, MAX_HAND_OVERS,
};
use bridge_protocol::{ClientRequest, ClientResponse};

use super::*;

const THIRD_CONNECTION: ConnectionId = ConnectionId(3);

/// A JSON string of this size in bytes.
fn text_of(bytes: usize) -> String {
    format!("{:?}", "s".repeat(bytes - 2))
}

impl Harness {
    /// Creates a realm with a page that runs the armed call `c`.
    fn with_armed_call() -> Self {
        let mut scene = Self::with_page();
        scene.call("c").unwrap();
        scene.receive(FIRST_CONNECTION, "c");
        scene.arm(FIRST_CONNECTION, "c", r#"{"step":1}"#);
        scene
    }

    fn receive(&mut self, connection: ConnectionId, id: &str) {
        self.realm
            .call_received(&TAB.into(), connection, &id.into());
    }

    fn arm(&mut self, connection: ConnectionId, id: &str, state: &str) {
        let request = HandOverRequest::Arm(HandOverState::new(raw(state), None));
        self.realm
            .hand_over_requested(&TAB.into(), connection, &id.into(), request);
        self.realm.check_invariants();
    }

    fn leave(&mut self, connection: ConnectionId, calls: &[&str]) {
        let hands_over = calls.iter().map(|id| CallId::from(*id)).collect();
        self.disconnect(connection, Disconnect::Leaving { hands_over });
    }

    fn awaits_former_document(&self) -> bool {
        let realm = &self.realm;
        realm.awaits_former_document(&TAB.into(), FIRST_CONNECTION)
    }

    /// Connects another document.
    fn connect_document(&mut self, connection: ConnectionId, document: &str) {
        let hello = PageHello {
            document: Some(document.to_owned()),
            page_title: Some("Next".to_owned()),
            ..page_hello(TAB)
        };
        let connected = self.realm.page_connected(connection, hello, self.now);
        let (accepted, effects) = connected.unwrap();
        assert_eq!(accepted.awaited, [], "a call handed over is unreceived");
        self.apply(effects);
    }

    /// The calls that the last event has sent, with their states.
    fn sent_calls(&self) -> Vec<(&str, Option<&str>)> {
        let sent = self.effects.iter().filter_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::ToolCall(call),
                ..
            } => {
                let state = call.context.continuation.as_deref();
                Some((call.request_id.as_str(), state.map(RawValue::get)))
            }
            _ => None,
        });
        sent.collect()
    }

    fn failure(&self) -> &CallFailure {
        let failed = self.effects.iter().find_map(|effect| match effect {
            Effect::CompleteCall {
                outcome: CallOutcome::Failed(failure),
                ..
            } => Some(failure),
            _ => None,
        });
        failed.expect("no call has failed")
    }
}

fn ended_with(code: ErrorCode) -> [(String, Option<ErrorCode>); 1] {
    [("c".to_owned(), Some(code))]
}

#[test]
fn the_next_document_continues_an_armed_call() {
    let mut scene = Harness::with_armed_call();
    scene.advance_to(1.0);
    scene.leave(FIRST_CONNECTION, &["c"]);
    assert!(matches!(
        scene.effects.first(),
        Some(Effect::CallHandedOver { .. })
    ));
    assert_eq!(scene.call_outcomes(), []);
    assert_eq!(scene.realm.published(Kind::Tool).len(), 1);
    scene.advance_to(15.9);
    scene.connect_document(SECOND_CONNECTION, "next");
    assert_eq!(scene.sent_calls(), []);
    scene.register(SECOND_CONNECTION, &["other"]);
    assert_eq!(scene.sent_calls(), []);
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(
        scene.sent_types(SECOND_CONNECTION),
        ["registered", "tool-call"]
    );
    assert_eq!(scene.sent_calls(), [("c", Some(r#"{"step":1}"#))]);
    let timeout = scene.effects.iter().find_map(|effect| match effect {
        Effect::Send {
            message: BridgeToPage::ToolCall(call),
            ..
        } => call.context.timeout_ms,
        _ => None,
    });
    assert_eq!(timeout, Some(120_000 - 15_900));
    scene.receive(SECOND_CONNECTION, "c");
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
    assert_eq!(scene.realm.call_count(), 0);
}

#[test]
fn calls_that_are_not_armed_or_not_confirmed_end_at_once() {
    let mut scene = Harness::with_page();
    scene.call("c").unwrap();
    scene.leave(FIRST_CONNECTION, &["c"]);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
    assert!(scene.realm.is_inactive());

    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &[]);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
    assert!(scene.realm.is_inactive());

    let mut scene = Harness::with_armed_call();
    scene.realm.hand_over_requested(
        &TAB.into(),
        FIRST_CONNECTION,
        &"c".into(),
        HandOverRequest::Disarm,
    );
    scene.leave(FIRST_CONNECTION, &["c"]);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
}

#[test]
fn a_page_that_is_killed_hands_nothing_over() {
    let mut scene = Harness::with_armed_call();
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
    assert!(scene.realm.is_inactive());
}

#[test]
fn a_broken_connection_hands_nothing_over() {
    let mut scene = Harness::with_armed_call();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.connect(SECOND_CONNECTION);
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(scene.sent_calls(), []);
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);

    let mut scene = Harness::with_armed_call();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.advance_to(5.0);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
}

#[test]
fn a_document_whose_socket_overtakes_leaving_continues_from_the_last_state() {
    for registers_first in [false, true] {
        let mut scene = Harness::with_armed_call();
        scene.call("other").unwrap();
        scene.connect_document(SECOND_CONNECTION, "next");
        let other = [("other".to_owned(), Some(ErrorCode::PageGone))];
        assert_eq!(scene.call_outcomes(), other);
        assert!(scene.awaits_former_document());
        if registers_first {
            scene.register(SECOND_CONNECTION, &["echo"]);
            assert_eq!(scene.sent_calls(), []);
        }
        // A message that the former document has sent before arrives late.
        scene.arm(FIRST_CONNECTION, "c", r#"{"step":2}"#);
        scene.leave(FIRST_CONNECTION, &["c"]);
        assert!(!scene.awaits_former_document());
        if !registers_first {
            assert_eq!(scene.sent_calls(), []);
            scene.register(SECOND_CONNECTION, &["echo"]);
        }
        assert_eq!(scene.sent_calls(), [("c", Some(r#"{"step":2}"#))]);
    }
}

#[test]
fn a_call_ends_when_its_last_state_has_not_arrived() {
    let ends: [fn(&mut Harness); 5] = [
        |scene| scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost),
        |scene| scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone),
        |scene| scene.leave(FIRST_CONNECTION, &["other"]),
        |scene| scene.advance_to(15.0),
        |scene| {
            let disarm = HandOverRequest::Disarm;
            let realm = &mut scene.realm;
            realm.hand_over_requested(&TAB.into(), FIRST_CONNECTION, &"c".into(), disarm);
            scene.leave(FIRST_CONNECTION, &["c"]);
        },
    ];
    for end in ends {
        let mut scene = Harness::with_armed_call();
        scene.connect_document(SECOND_CONNECTION, "next");
        scene.register(SECOND_CONNECTION, &["echo"]);
        assert_eq!(scene.call_outcomes(), []);
        end(&mut scene);
        assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
        let message = scene.failure().message.clone();
        assert!(message.contains("it may have run"), "{message}");
    }
}

#[test]
fn a_call_ends_when_its_connection_was_lost_before_the_next_document() {
    let mut scene = Harness::with_armed_call();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.connect_document(SECOND_CONNECTION, "next");
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
}

#[test]
fn a_call_ends_when_no_document_comes_back_with_its_tool() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    scene.advance_to(14.9);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(15.0);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
    let expected = "the page of `echo` went elsewhere and has not come back within 15 s: \
                    list_active_sessions shows what is open; it may have run, so check its effect \
                    before calling it again";
    assert_eq!(scene.failure().message, expected);
    assert!(scene.realm.is_inactive());

    // Too late is another session.
    scene.connect_document(SECOND_CONNECTION, "next");
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(scene.sent_calls(), []);
}

#[test]
fn a_document_without_the_tool_ends_the_call_and_stays_open() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    scene.connect_document(SECOND_CONNECTION, "next");
    scene.register(SECOND_CONNECTION, &["other"]);
    scene.advance_to(15.0);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
    let message = &scene.failure().message;
    let expected = r#"the page went to "Next", which has not registered `echo` within 15 s"#;
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(scene.realm.session_count(), 1);
}

#[test]
fn a_document_between_two_others_does_not_end_the_call() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    scene.advance_to(1.0);
    scene.connect_document(SECOND_CONNECTION, "redirect");
    scene.register(SECOND_CONNECTION, &["other"]);
    scene.disconnect(SECOND_CONNECTION, Disconnect::DocumentGone);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(2.0);
    scene.connect_document(THIRD_CONNECTION, "next");
    scene.register(THIRD_CONNECTION, &["echo"]);
    assert_eq!(scene.sent_calls(), [("c", Some(r#"{"step":1}"#))]);
}

#[test]
fn a_call_is_handed_over_a_limited_number_of_times() {
    let mut scene = Harness::with_armed_call();
    for number in 0..MAX_HAND_OVERS {
        let [former, next] = [1, 2].map(|n| ConnectionId(u64::from(number) + n));
        scene.leave(former, &["c"]);
        assert_eq!(scene.call_outcomes(), []);
        scene.connect_document(next, &format!("document {number}"));
        scene.register(next, &["echo"]);
        assert_eq!(scene.sent_calls().len(), 1);
        scene.receive(next, "c");
        scene.arm(next, "c", "1");
    }
    scene.leave(ConnectionId(u64::from(MAX_HAND_OVERS) + 1), &["c"]);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
    let message = &scene.failure().message;
    assert!(message.contains("handed over 5 times"), "{message}");
}

#[test]
fn a_document_that_has_not_armed_the_call_again_ends_it() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    scene.connect_document(SECOND_CONNECTION, "next");
    scene.register(SECOND_CONNECTION, &["echo"]);
    scene.receive(SECOND_CONNECTION, "c");
    scene.leave(SECOND_CONNECTION, &["c"]);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
}

#[test]
fn a_page_of_another_origin_gets_no_call() {
    for leaves_first in [true, false] {
        let mut scene = Harness::with_armed_call();
        if leaves_first {
            scene.leave(FIRST_CONNECTION, &["c"]);
        }
        let hello = PageHello {
            document: Some("next".to_owned()),
            origin: Some("https://other.example".to_owned()),
            ..page_hello(TAB)
        };
        let connected = scene
            .realm
            .page_connected(SECOND_CONNECTION, hello, scene.now);
        scene.apply(connected.unwrap().1);
        assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
    }
}

#[test]
fn a_waiting_call_can_be_cancelled_and_times_out() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    let effects = scene.realm.call_cancelled(&"c".into(), "gone", scene.now);
    scene.apply(effects);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::CallCancelled));
    scene.connect_document(SECOND_CONNECTION, "next");
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(scene.sent_calls(), []);

    let mut scene = Harness::with_armed_call();
    scene.advance_to(110.0);
    scene.leave(FIRST_CONNECTION, &["c"]);
    scene.advance_to(120.0);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::CallTimeout));
}

#[test]
fn new_calls_wait_for_the_next_document() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    scene.call("new").unwrap();
    assert!(scene.effects.is_empty());
    scene.advance_to(10.0);
    assert_eq!(scene.call_outcomes(), []);
    scene.connect_document(SECOND_CONNECTION, "next");
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(
        scene.sent_calls(),
        [("c", Some(r#"{"step":1}"#)), ("new", None)]
    );
}

#[test]
fn late_messages_of_the_former_document_are_dropped() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    // The same document comes back from the back/forward cache.
    scene.connect(SECOND_CONNECTION);
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), []);
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(scene.sent_calls(), [("c", Some(r#"{"step":1}"#))]);
    scene.answer(SECOND_CONNECTION, "c");
    assert_eq!(scene.call_outcomes(), [("c".to_owned(), None)]);
}

#[test]
fn the_sizes_and_the_number_of_states_are_limited() {
    for (bytes, fits) in [
        (MAX_HAND_OVER_BYTES, true),
        (MAX_HAND_OVER_BYTES + 1, false),
    ] {
        let mut scene = Harness::with_armed_call();
        scene.arm(FIRST_CONNECTION, "c", &text_of(bytes));
        scene.leave(FIRST_CONNECTION, &["c"]);
        assert_eq!(scene.call_outcomes().is_empty(), fits);
        if !fits {
            let message = &scene.failure().message;
            assert!(message.contains("65536 is the limit"), "{message}");
        }
    }
    // The first case has the number of states that is allowed, the second one the size.
    for (calls, bytes) in [
        (MAX_ARMED_CALLS, 3),
        (MAX_ARMED_BYTES / MAX_HAND_OVER_BYTES, MAX_HAND_OVER_BYTES),
    ] {
        let mut scene = Harness::with_page();
        let limits = RealmLimits {
            calls: 20,
            ..TEST_LIMITS
        };
        scene.realm.limits = Arc::new(limits);
        let ids: Vec<_> = (0..=calls).map(|n| format!("c{n}")).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        for id in &ids {
            scene.call(id).unwrap();
            scene.arm(FIRST_CONNECTION, id, &text_of(bytes));
        }
        // A state can be replaced by another one.
        scene.arm(FIRST_CONNECTION, ids[0], &text_of(bytes));
        scene.leave(FIRST_CONNECTION, &ids);
        let last = (ids[calls].to_owned(), Some(ErrorCode::PageGone));
        assert_eq!(scene.call_outcomes(), [last]);
        let message = &scene.failure().message;
        assert!(message.contains("is the limit"), "{message}");
    }
}

#[test]
fn the_requests_of_the_former_handler_to_its_client_end() {
    let mut scene = Harness::with_page();
    let mut call = new_call("c", tool("echo"));
    call.context.client = Some(client_with(r#"{"roots":{}}"#).into());
    let effects = scene.realm.call_requested(&TAB.into(), call, scene.now);
    scene.apply(effects.unwrap());
    scene.receive(FIRST_CONNECTION, "c");
    scene.arm(FIRST_CONNECTION, "c", "1");
    let ask = |scene: &mut Harness, connection| {
        let request = ClientRequest {
            key: "roots-1".to_owned(),
            method: "roots/list".to_owned(),
            params: raw("{}"),
        };
        let effects = scene.realm.client_requests_received(
            &TAB.into(),
            connection,
            &"c".into(),
            vec![request],
            scene.now,
        );
        scene.apply(effects);
    };
    ask(&mut scene, FIRST_CONNECTION);
    scene.advance_to(100.0);
    scene.leave(FIRST_CONNECTION, &["c"]);
    assert_eq!(scene.call_outcomes(), []);
    let answer = ClientResponse {
        key: "roots-1".to_owned(),
        result: Some(raw(r#"{"roots":[]}"#)),
        error: None,
    };
    let effects = scene.realm.client_answered(&"c".into(), answer, scene.now);
    assert!(effects.is_empty());
    scene.connect_document(SECOND_CONNECTION, "next");
    scene.register(SECOND_CONNECTION, &["echo"]);
    scene.receive(SECOND_CONNECTION, "c");
    // The same key is another request, which the client must answer.
    ask(&mut scene, SECOND_CONNECTION);
    assert!(matches!(
        scene.effects[..],
        [Effect::ClientRequestsPending { .. }]
    ));
}

#[test]
fn a_parked_call_is_not_handed_over() {
    let mut scene = Harness::with_page();
    let mut call = new_call("c", tool("echo"));
    call.context.client = Some(client_with(r#"{"roots":{}}"#).into());
    let effects = scene.realm.call_requested(&TAB.into(), call, scene.now);
    scene.apply(effects.unwrap());
    scene.arm(FIRST_CONNECTION, "c", "1");
    let request = ClientRequest {
        key: "roots-1".to_owned(),
        method: "roots/list".to_owned(),
        params: raw("{}"),
    };
    let _ = scene.realm.client_requests_received(
        &TAB.into(),
        FIRST_CONNECTION,
        &"c".into(),
        vec![request],
        scene.now,
    );
    assert!(scene.realm.call_parked(&"c".into()).is_some());
    scene.leave(FIRST_CONNECTION, &["c"]);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
}

#[test]
fn arguments_are_validated_again_if_the_tool_has_changed() {
    let changed = |description: &str| {
        let definition = format!(r#"{{"name":"echo","description":{description:?}}}"#);
        parse_definition(Kind::Tool, definition)
    };
    let register = |scene: &mut Harness, items| {
        let registration = RegistrationId::from("r");
        let effects = scene.realm.items_registered(
            &TAB.into(),
            SECOND_CONNECTION,
            registration,
            items,
            scene.now,
        );
        scene.apply(effects);
    };
    let must_validate = |scene: &Harness| {
        let mut effects = scene.effects.iter();
        effects.any(|effect| matches!(effect, Effect::ValidateInput { .. }))
    };
    for valid in [true, false] {
        let mut scene = Harness::with_armed_call();
        scene.leave(FIRST_CONNECTION, &["c"]);
        scene.connect_document(SECOND_CONNECTION, "next");
        register(&mut scene, changed("first"));
        assert!(must_validate(&scene) && scene.sent_calls().is_empty());
        let (first, _) = scene.realm.input_to_validate(&"c".into()).unwrap();
        register(&mut scene, changed("second"));
        let id = CallId::from("c");
        let effects = scene.realm.input_validated(&id, &first, Ok(()), scene.now);
        scene.apply(effects);
        assert!(must_validate(&scene) && scene.sent_calls().is_empty());
        let (second, input) = scene.realm.input_to_validate(&id).unwrap();
        assert_eq!(input.get(), "{}");
        let invalid = || CallFailure::new(ErrorCode::InvalidArguments, String::new());
        let outcome = if valid { Ok(()) } else { Err(invalid()) };
        let effects = scene
            .realm
            .input_validated(&id, &second, outcome, scene.now);
        scene.apply(effects);
        if valid {
            assert_eq!(scene.sent_calls(), [("c", Some(r#"{"step":1}"#))]);
            assert!(scene.realm.input_to_validate(&id).is_none());
        } else {
            let expected = ended_with(ErrorCode::InvalidArguments);
            assert_eq!(scene.call_outcomes(), expected);
        }
    }
}

#[test]
fn without_a_time_to_return_nothing_is_handed_over() {
    let mut scene = Harness::with_armed_call();
    scene.realm.limits = Arc::new(RealmLimits {
        page_return: Duration::ZERO,
        ..TEST_LIMITS
    });
    scene.leave(FIRST_CONNECTION, &["c"]);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
}

#[test]
fn a_stall_of_the_bridge_extends_the_time_to_return() {
    let mut scene = Harness::with_armed_call();
    scene.leave(FIRST_CONNECTION, &["c"]);
    scene.realm.bridge_stalled(Duration::from_secs(10));
    scene.realm.check_invariants();
    scene.advance_to(24.0);
    assert_eq!(scene.call_outcomes(), []);
    scene.advance_to(25.0);
    assert_eq!(scene.call_outcomes(), ended_with(ErrorCode::PageGone));
}
