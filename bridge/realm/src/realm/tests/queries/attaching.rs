//! Another document of a page attaches to its queries.

use super::*;

/// The hello of another document in the same tab.
pub(super) fn reloaded_hello() -> PageHello {
    PageHello {
        document: Some("another".to_owned()),
        ..page_hello(TAB)
    }
}

impl Harness {
    /// The page is reloaded, and its new document connects.
    pub(super) fn reload(&mut self) -> &mut Self {
        self.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
        self.connect_page(SECOND_CONNECTION, reloaded_hello())
    }

    pub(super) fn connect_page(&mut self, connection: ConnectionId, hello: PageHello) -> &mut Self {
        let connected = self.realm.page_connected(connection, hello, self.now);
        self.apply(connected.unwrap().1)
    }

    pub(super) fn attach_to(&mut self, session: &str, connection: ConnectionId) -> Vec<String> {
        let effects = self
            .realm
            .query_attached(&session.into(), connection, &id(QUERY), self.now);
        self.apply(effects).effect_log()
    }

    pub(super) fn attach(&mut self) -> Vec<String> {
        self.attach_to(TAB, SECOND_CONNECTION)
    }

    /// The numbers of the progress messages that were sent.
    fn progress_numbers(&self) -> Vec<Option<u64>> {
        let number = |effect: &Effect| match effect {
            Effect::Send {
                message: BridgeToPage::QueryProgress(it),
                ..
            } => Some(it.number),
            _ => None,
        };
        self.effects.iter().filter_map(number).collect()
    }
}

#[test]
fn an_attached_document_is_sent_past_and_future_progress() {
    let mut scene = Harness::with_accepted_query();
    scene.progress("one").unwrap();
    scene.reload();
    assert!(scene.effect_log().is_empty());
    scene.progress("two").unwrap();
    assert!(scene.effect_log().is_empty());
    let all = ["accepted", "\"one\"", "\"two\"", "has page q"];
    assert_eq!(scene.attach(), all);
    assert_eq!(scene.progress_numbers(), [Some(1), Some(2)]);
    scene.progress("three").unwrap();
    assert_eq!(scene.effect_log(), ["\"three\""]);
    assert_eq!(scene.progress_numbers(), [Some(3)]);
    // The attach timeout no longer applies.
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    scene.complete().unwrap();
    assert_eq!(scene.effect_log()[0], "complete \"done\" []");
}

#[test]
fn the_same_document_may_replay_its_progress() {
    let mut scene = Harness::with_accepted_query();
    scene.progress("one").unwrap();
    let all = ["accepted", "\"one\"", "has page q"];
    assert_eq!(scene.attach_to(TAB, FIRST_CONNECTION), all);
    assert_eq!(scene.progress_numbers(), [Some(1)]);
}

#[test]
fn replayable_progress_is_bounded_and_a_note_marks_the_gap() {
    let mut scene = Harness::with_accepted_query();
    for n in 0..10 {
        let long = format!("{n}{}", "x".repeat(100_000));
        scene.progress(&long).unwrap();
    }
    scene.reload();
    let log = scene.attach();
    assert_eq!((log.len(), &*log[0]), (5, "accepted"));
    assert!(log[1].contains("\"note\"") && log[1].contains("not kept"));
    assert!(log[2].starts_with("\"8") && log[3].starts_with("\"9"));
    assert_eq!(scene.progress_numbers(), [None, Some(9), Some(10)]);
}

#[test]
fn only_a_document_of_the_same_session_can_attach() {
    let mut scene = Harness::with_accepted_query();
    scene.connect_page(SECOND_CONNECTION, page_hello("other"));
    assert_eq!(
        scene.attach_to("other", SECOND_CONNECTION),
        ["failure QueryNotFound"]
    );
    // A connection that does not belong to the session cannot attach either.
    assert!(scene.attach_to(TAB, SECOND_CONNECTION).is_empty());
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert_eq!(
        scene.attach_to("other", SECOND_CONNECTION),
        ["failure QueryNotFound"]
    );
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert_eq!(scene.effect_log(), ["stop q"]);
}

#[test]
fn the_final_message_waits_for_the_new_document_until_the_timeout() {
    let mut scene = Harness::with_accepted_query();
    scene.progress("one").unwrap();
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    scene.complete().unwrap();
    assert_eq!(scene.effect_log(), ["ended q", "forgotten q"]);
    assert!(!scene.realm.is_inactive());
    assert!(
        scene
            .connect_page(SECOND_CONNECTION, reloaded_hello())
            .effect_log()
            .is_empty()
    );
    let all = ["accepted", "\"one\"", "complete \"done\" []"];
    assert_eq!(scene.attach(), all);
    // Attaching twice does no harm.
    assert_eq!(scene.attach(), all);
    scene.disconnect(SECOND_CONNECTION, Disconnect::DocumentGone);
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert!(scene.realm.is_inactive());
    let third = ConnectionId(3);
    scene.connect_page(third, reloaded_hello());
    assert_eq!(scene.attach_to(TAB, third), ["failure QueryNotFound"]);
}

#[test]
fn a_delivered_final_message_is_replayed_to_a_new_document() {
    let mut scene = Harness::with_accepted_query();
    scene.complete().unwrap();
    scene.reload();
    assert!(scene.effect_log().is_empty());
    assert_eq!(scene.attach(), ["accepted", "complete \"done\" []"]);
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert_eq!(scene.attach(), ["failure QueryNotFound"]);
}

#[test]
fn attaching_too_late_fails() {
    let mut scene = Harness::with_accepted_query();
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert_eq!(scene.effect_log(), ["stop q"]);
    scene.connect_page(SECOND_CONNECTION, reloaded_hello());
    assert_eq!(scene.attach(), ["accepted", "failure PageGone"]);
}

#[test]
fn a_query_cancelled_by_its_page_cannot_be_attached() {
    let mut scene = Harness::with_accepted_query();
    scene.cancel_by_page();
    scene.reload();
    assert_eq!(scene.attach(), ["failure QueryNotFound"]);
}

#[test]
fn calls_wait_until_the_new_document_has_its_tools() {
    let mut scene = Harness::with_accepted_query();
    assert!(!scene.realm.is_query_detached(&id(QUERY)));
    scene.reload();
    assert!(scene.realm.is_query_detached(&id(QUERY)));
    // The document attaches before it has registered anything.
    assert_eq!(scene.attach(), ["accepted", "has page q"]);
    assert!(scene.realm.is_query_detached(&id(QUERY)));
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(scene.effect_log(), ["has page q"]);
    assert!(!scene.realm.is_query_detached(&id(QUERY)));
    scene.call_for_query("c", "echo").unwrap();
    // The next document registers before it attaches.
    scene.disconnect(SECOND_CONNECTION, Disconnect::DocumentGone);
    let third = ConnectionId(3);
    scene.connect_page(third, reloaded_hello());
    scene.register(third, &["echo"]);
    assert!(scene.realm.is_query_detached(&id(QUERY)));
    scene.attach_to(TAB, third);
    assert!(!scene.realm.is_query_detached(&id(QUERY)));
}

#[test]
fn a_frontend_query_sends_nothing_to_the_page_and_reattaches_by_itself() {
    let mut scene = Harness::with_page();
    let terms = QueryPolicy::from_query(&query_message(QUERY));
    let opened = scene
        .realm
        .query_opened(&id(QUERY), &TAB.into(), terms, scene.now);
    assert_eq!(opened.unwrap().0, TEST_LIMITS.queries.timeout);
    scene.accept();
    scene.progress("one").unwrap();
    assert!(scene.effect_log().is_empty());
    assert_eq!(
        scene.attach_to(TAB, FIRST_CONNECTION),
        ["failure QueryNotFound"]
    );
    scene.reload();
    assert!(scene.realm.is_query_detached(&id(QUERY)));
    scene.register(SECOND_CONNECTION, &["echo"]);
    assert_eq!(scene.effect_log(), ["has page q"]);
    scene.call_for_query("c", "echo").unwrap();
    scene.complete().unwrap();
    assert_eq!(
        scene.effect_log(),
        ["call-cancel c", "end c", "ended q", "forgotten q"]
    );
}

#[test]
fn a_query_timeout_can_only_be_shortened() {
    let limit = TEST_LIMITS.queries.timeout.as_secs_f32();
    for (own, seconds, remedy) in [
        (2_000, 2.0, "`timeout`"),
        (u64::MAX, limit, "`query_timeout`"),
    ] {
        let mut scene = Harness::with_page();
        let asked = Asked {
            timeout: Some(own),
            ..query_message(QUERY)
        };
        scene.ask_agent(asked).accept();
        scene.advance_to(seconds - 0.5);
        assert!(scene.effect_log().is_empty());
        scene.advance_to(seconds);
        assert_eq!(scene.effect_log(), ["failure QueryTimeout", "stop q"]);
        let reason = scene.effects.iter().find_map(|effect| match effect {
            Effect::Send {
                message: BridgeToPage::QueryFailure(it),
                ..
            } => it.reason.clone(),
            _ => None,
        });
        assert!(reason.unwrap().contains(remedy));
    }
}
