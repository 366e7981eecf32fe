//! Queries whose page is disconnected or gone.

use super::*;

#[test]
fn a_query_waits_for_a_closed_page_unless_the_page_does_not_resume() {
    let mut scene = Harness::with_accepted_query();
    scene.disconnect(FIRST_CONNECTION, Disconnect::DocumentGone);
    assert!(scene.effect_log().is_empty());
    scene.progress("held").unwrap();
    let gone = scene.call_for_query("c", "echo").unwrap_err();
    assert_eq!(gone.code, ErrorCode::InvalidSession);
    assert!(!scene.realm.is_inactive());
    scene.advance_to(TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert_eq!(scene.effect_log(), ["stop q"]);
    assert_eq!(scene.complete(), Err(ReportRejected::PageGone));
    scene.advance_to(2.0 * TEST_LIMITS.queries.attach_timeout.as_secs_f32());
    assert_eq!(scene.effect_log(), ["forgotten q"]);
    assert!(scene.realm.is_inactive());

    let mut scene = Harness::new();
    let basic = PageHello {
        abilities: BASIC_ABILITIES,
        ..page_hello(TAB)
    };
    let (_, effects) = scene
        .realm
        .page_connected(FIRST_CONNECTION, basic.clone(), scene.now)
        .unwrap();
    scene
        .apply(effects)
        .ask_agent(query_message(QUERY))
        .accept();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    // The agent of a basic page is only notified when the page cancels its query.
    assert_eq!(scene.effect_log(), ["ended q"]);
    assert_eq!(scene.progress("late"), Err(ReportRejected::PageGone));
    // The page reconnects and still waits for an answer.
    let (_, effects) = scene
        .realm
        .page_connected(SECOND_CONNECTION, basic, scene.now)
        .unwrap();
    assert_eq!(scene.apply(effects).effect_log(), ["failure PageGone"]);
}

#[test]
fn a_basic_page_that_repeats_a_running_query_is_sent_nothing() {
    let mut scene = Harness::new();
    let basic = PageHello {
        abilities: BASIC_ABILITIES,
        ..page_hello(TAB)
    };
    let connected = scene
        .realm
        .page_connected(FIRST_CONNECTION, basic, scene.now)
        .unwrap();
    scene
        .apply(connected.1)
        .ask_agent(query_message(QUERY))
        .accept();
    let before = scene.effect_log();
    assert_eq!(before.last().map(String::as_str), Some("accepted"));
    let repeated = scene.ask_agent(query_message(QUERY)).effect_log();
    assert!(repeated.is_empty(), "{repeated:?}");
    scene.complete().unwrap();
    let end = scene.effect_log();
    assert!(
        end.iter().any(|effect| effect.starts_with("complete")),
        "{end:?}"
    );
}

#[test]
fn a_reconnected_page_is_sent_missed_query_messages() {
    let mut scene = Harness::with_accepted_query();
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    scene.progress("one").unwrap();
    assert!(scene.effect_log().is_empty());
    scene.connect(SECOND_CONNECTION);
    assert_eq!(scene.effect_log(), ["\"one\""]);
    scene.disconnect(SECOND_CONNECTION, Disconnect::ConnectionLost);
    scene.progress("two").unwrap();
    scene.complete().unwrap();
    assert_eq!(scene.effect_log(), ["ended q", "forgotten q"]);
    scene.connect(ConnectionId(3));
    assert_eq!(scene.effect_log(), ["\"two\"", "complete \"done\" []"]);
}

#[test]
fn undelivered_messages_of_ended_queries_are_bounded_and_the_newest_is_kept() {
    let mut scene = Harness::with_page();
    let ids = ["q0", "q1"];
    for query in ids {
        scene.ask_agent(query_message(query));
        let effects = scene.realm.query_accepted(&id(query));
        scene.apply(effects);
    }
    scene.disconnect(FIRST_CONNECTION, Disconnect::ConnectionLost);
    for query in ids {
        let result = raw(&format!("\"{query}{}\"", " ".repeat(12 * 1024 * 1024)));
        let effects = scene
            .realm
            .query_completed(&id(query), Some(result), scene.now)
            .1;
        scene.apply(effects);
    }
    scene.connect(SECOND_CONNECTION);
    let log = scene.effect_log();
    let completed: Vec<_> = log.iter().map(|it| &it[10..12]).collect();
    assert_eq!(completed, ["q1"]);
}
