//! Queries whose page is not there.

use super::*;

#[test]
fn a_query_waits_for_a_page_that_is_gone_and_one_of_v1_does_not() {
    let mut scene = Scene::at_work();
    scene.end(FIRST, Parting::Gone);
    assert!(scene.told().is_empty());
    scene.progress("held").unwrap();
    let gone = scene.call_for_query("c", "echo").unwrap_err();
    assert_eq!(gone.code, ErrorCode::InvalidSession);
    assert!(!scene.realm.is_only_remembered());
    scene.after(LIMITS.queries.attach_within.as_secs_f32());
    assert_eq!(scene.told(), ["stop q"]);
    assert_eq!(scene.complete(), Err(QueryRefusal::PageGone));
    scene.after(2.0 * LIMITS.queries.attach_within.as_secs_f32());
    assert_eq!(scene.told(), ["forgotten q"]);
    assert!(scene.realm.is_only_remembered());

    let mut scene = Scene::new();
    let v1 = PageHello {
        dialect: Dialect::V1,
        ..hello(TAB)
    };
    let (_, effects) = scene
        .realm
        .page_connected(FIRST, v1.clone(), scene.now)
        .unwrap();
    scene.then(effects).ask_agent(asked(QUERY)).accept();
    scene.end(FIRST, Parting::Broken);
    // Its agents hear of the page's cancel, and of nothing else.
    assert_eq!(scene.told(), ["ended q"]);
    assert_eq!(scene.progress("late"), Err(QueryRefusal::PageGone));
    // The page comes back on another socket, and waits for an answer.
    let (_, effects) = scene.realm.page_connected(SECOND, v1, scene.now).unwrap();
    assert_eq!(scene.then(effects).told(), ["failure PageGone"]);
}

#[test]
fn a_page_hears_what_it_missed_while_its_connection_was_broken() {
    let mut scene = Scene::at_work();
    scene.end(FIRST, Parting::Broken);
    scene.progress("one").unwrap();
    assert!(scene.told().is_empty());
    scene.connect(SECOND);
    assert_eq!(scene.told(), ["\"one\""]);
    scene.end(SECOND, Parting::Broken);
    scene.progress("two").unwrap();
    scene.complete().unwrap();
    assert_eq!(scene.told(), ["ended q", "forgotten q"]);
    scene.connect(ConnectionId(3));
    assert_eq!(scene.told(), ["\"two\"", "complete \"done\" []"]);
}

#[test]
fn what_pages_have_not_been_told_of_ended_queries_is_bounded_and_the_newest_is_kept() {
    let mut scene = Scene::with_page();
    let ids = ["q0", "q1"];
    for query in ids {
        scene.ask_agent(asked(query));
        let effects = scene.realm.query_accepted(&id(query));
        scene.then(effects);
    }
    scene.end(FIRST, Parting::Broken);
    for query in ids {
        let result = raw(&format!("\"{query}{}\"", " ".repeat(12 * 1024 * 1024)));
        let effects = scene
            .realm
            .query_completed(&id(query), Some(result), scene.now)
            .1;
        scene.then(effects);
    }
    scene.connect(SECOND);
    let told = scene.told();
    let completed: Vec<_> = told.iter().map(|it| &it[10..12]).collect();
    assert_eq!(completed, ["q1"]);
}
