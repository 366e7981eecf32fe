//! Many pages of one token: what one of them does, the others do not hear.

use super::*;

const PAGES: u64 = 300;
const TOOLS: usize = 100;

#[test]
fn the_last_of_many_pages_makes_no_more_news_than_the_first() {
    let mut realm = Realm::new(RealmLimits {
        sessions: 300,
        definitions_per_session: TOOLS,
        ..LIMITS
    });
    let now = Scene::new().now;
    let mut news = Vec::new();
    for page in 1..=PAGES {
        let session = format!("tab-{page}");
        let connection = ConnectionId(page);
        let (_, mut effects) = realm
            .page_connected(connection, hello(&session), now)
            .unwrap();
        let tools = (0..TOOLS).map(|n| Ok(tool(&format!("t{n}")))).collect();
        let registration = RegistrationId::from("r");
        let session = SessionId::from(session.as_str());
        effects.extend(realm.items_registered(&session, connection, registration, tools));
        let told = effects.iter().filter_map(|effect| match effect {
            Effect::Send { connection, .. } => Some(*connection),
            _ => None,
        });
        assert!(told.into_iter().all(|to| to == connection));
        news.push(effects.len());
    }
    assert_eq!(realm.session_count() as u64, PAGES);
    assert!(news.iter().all(|it| *it == news[0]), "{news:?}");
    assert_eq!(realm.published(Kind::Tool).len(), TOOLS);
}
