//! Another document of the page takes a query up again.

use super::*;

/// Another document of the tab.
fn reloaded() -> PageHello {
    PageHello {
        document: Some("another".to_owned()),
        ..hello(TAB)
    }
}

impl Scene {
    /// The page is loaded anew; its new document has said who it is.
    fn reload(&mut self) -> &mut Self {
        self.end(FIRST, Parting::Gone);
        self.come(SECOND, reloaded())
    }

    fn come(&mut self, connection: ConnectionId, hello: PageHello) -> &mut Self {
        let connected = self.realm.page_connected(connection, hello, self.now);
        self.then(connected.unwrap().1)
    }

    fn attach_to(&mut self, session: &str, connection: ConnectionId) -> Vec<String> {
        let effects = self
            .realm
            .query_attached(&session.into(), connection, &id(QUERY));
        self.then(effects).told()
    }

    fn attach(&mut self) -> Vec<String> {
        self.attach_to(TAB, SECOND)
    }

    /// The numbers of the progress that was told.
    fn numbers(&self) -> Vec<Option<u64>> {
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
fn a_new_document_hears_all_again_and_what_comes() {
    let mut scene = Scene::at_work();
    scene.progress("one").unwrap();
    scene.reload();
    assert!(scene.told().is_empty());
    scene.progress("two").unwrap();
    assert!(scene.told().is_empty());
    let all = ["accepted", "\"one\"", "\"two\"", "has page q"];
    assert_eq!(scene.attach(), all);
    assert_eq!(scene.numbers(), [Some(1), Some(2)]);
    scene.progress("three").unwrap();
    assert_eq!(scene.told(), ["\"three\""]);
    assert_eq!(scene.numbers(), [Some(3)]);
    // It is not gone any more.
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    scene.complete().unwrap();
    assert_eq!(scene.told()[0], "complete \"done\" []");
}

#[test]
fn the_same_document_may_ask_again_what_it_has_heard() {
    let mut scene = Scene::at_work();
    scene.progress("one").unwrap();
    let all = ["accepted", "\"one\"", "has page q"];
    assert_eq!(scene.attach_to(TAB, FIRST), all);
    assert_eq!(scene.numbers(), [Some(1)]);
}

#[test]
fn what_is_kept_for_a_new_document_is_bounded_and_a_note_says_so() {
    let mut scene = Scene::at_work();
    for n in 0..10 {
        let long = format!("{n}{}", "x".repeat(100_000));
        scene.progress(&long).unwrap();
    }
    scene.reload();
    let told = scene.attach();
    assert_eq!((told.len(), &*told[0]), (5, "accepted"));
    assert!(told[1].contains("\"note\"") && told[1].contains("not kept"));
    assert!(told[2].starts_with("\"8") && told[3].starts_with("\"9"));
    assert_eq!(scene.numbers(), [None, Some(9), Some(10)]);
}

#[test]
fn only_a_document_of_the_same_session_takes_a_query_up() {
    let mut scene = Scene::at_work();
    scene.come(SECOND, hello("other"));
    assert_eq!(scene.attach_to("other", SECOND), ["failure QueryNotFound"]);
    // Nor a connection that is not the session's.
    assert!(scene.attach_to(TAB, SECOND).is_empty());
    scene.end(FIRST, Parting::Gone);
    assert_eq!(scene.attach_to("other", SECOND), ["failure QueryNotFound"]);
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    assert_eq!(scene.told(), ["stop q"]);
}

#[test]
fn the_last_word_waits_for_the_new_document_and_for_so_long() {
    let mut scene = Scene::at_work();
    scene.progress("one").unwrap();
    scene.end(FIRST, Parting::Gone);
    scene.complete().unwrap();
    assert_eq!(scene.told(), ["ended q", "forgotten q"]);
    assert!(!scene.realm.is_only_remembered());
    assert!(scene.come(SECOND, reloaded()).told().is_empty());
    let all = ["accepted", "\"one\"", "complete \"done\" []"];
    assert_eq!(scene.attach(), all);
    // Twice does no harm.
    assert_eq!(scene.attach(), all);
    scene.end(SECOND, Parting::Gone);
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    assert!(scene.realm.is_only_remembered());
    let third = ConnectionId(3);
    scene.come(third, reloaded());
    assert_eq!(scene.attach_to(TAB, third), ["failure QueryNotFound"]);
}

#[test]
fn the_last_word_that_the_former_document_heard_is_told_again() {
    let mut scene = Scene::at_work();
    scene.complete().unwrap();
    scene.reload();
    assert!(scene.told().is_empty());
    assert_eq!(scene.attach(), ["accepted", "complete \"done\" []"]);
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    assert_eq!(scene.attach(), ["failure QueryNotFound"]);
}

#[test]
fn whoever_comes_too_late_hears_that_the_query_has_failed() {
    let mut scene = Scene::at_work();
    scene.end(FIRST, Parting::Gone);
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    assert_eq!(scene.told(), ["stop q"]);
    scene.come(SECOND, reloaded());
    assert_eq!(scene.attach(), ["accepted", "failure PageGone"]);
}

#[test]
fn there_is_nothing_to_hear_of_what_the_page_has_cancelled() {
    let mut scene = Scene::at_work();
    scene.cancel_by_page();
    scene.reload();
    assert_eq!(scene.attach(), ["failure QueryNotFound"]);
}

#[test]
fn calls_wait_until_the_new_document_has_its_tools() {
    let mut scene = Scene::at_work();
    assert!(!scene.realm.query_awaits_page(&id(QUERY)));
    scene.reload();
    assert!(scene.realm.query_awaits_page(&id(QUERY)));
    // Attached before it has registered anything.
    assert_eq!(scene.attach(), ["accepted", "has page q"]);
    assert!(scene.realm.query_awaits_page(&id(QUERY)));
    scene.register(SECOND, &["echo"]);
    assert_eq!(scene.told(), ["has page q"]);
    assert!(!scene.realm.query_awaits_page(&id(QUERY)));
    scene.call_for_query("c", "echo").unwrap();
    // The other way round.
    scene.end(SECOND, Parting::Gone);
    let third = ConnectionId(3);
    scene.come(third, reloaded());
    scene.register(third, &["echo"]);
    assert!(scene.realm.query_awaits_page(&id(QUERY)));
    scene.attach_to(TAB, third);
    assert!(!scene.realm.query_awaits_page(&id(QUERY)));
}

#[test]
fn a_query_of_a_frontend_says_nothing_to_the_page_and_finds_its_new_document_itself() {
    let mut scene = Scene::with_page();
    let terms = Terms::of(&asked(QUERY));
    let opened = scene
        .realm
        .query_opened(&id(QUERY), &TAB.into(), terms, scene.now);
    assert_eq!(opened.unwrap(), LIMITS.queries.timeout);
    scene.accept();
    scene.progress("one").unwrap();
    assert!(scene.told().is_empty());
    assert_eq!(scene.attach_to(TAB, FIRST), ["failure QueryNotFound"]);
    scene.reload();
    assert!(scene.realm.query_awaits_page(&id(QUERY)));
    scene.register(SECOND, &["echo"]);
    assert_eq!(scene.told(), ["has page q"]);
    scene.call_for_query("c", "echo").unwrap();
    scene.complete().unwrap();
    assert_eq!(
        scene.told(),
        ["call-cancel c", "end c", "ended q", "forgotten q"]
    );
}

#[test]
fn a_query_may_take_less_time_than_the_bridge_gives_and_not_more() {
    let limit = LIMITS.queries.timeout.as_secs_f32();
    for (own, seconds, remedy) in [
        (2_000, 2.0, "`timeout`"),
        (u64::MAX, limit, "`query_timeout`"),
    ] {
        let mut scene = Scene::with_page();
        let asked = Asked {
            timeout: Some(own),
            ..asked(QUERY)
        };
        scene.ask_agent(asked).accept();
        scene.after(seconds - 0.5);
        assert!(scene.told().is_empty());
        scene.after(seconds);
        assert_eq!(scene.told(), ["failure QueryTimeout", "stop q"]);
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
