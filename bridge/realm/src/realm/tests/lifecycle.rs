//! The events of sessions and queries that a realm reports for the log.

use bridge_protocol::TokenUsage;

use super::queries::{QUERY, query_message};
use super::*;
use crate::realm::LifecycleEvent;

/// The reports among these effects.
fn reports(effects: Effects) -> Vec<LifecycleEvent> {
    let events = effects.into_iter().filter_map(|effect| match effect {
        Effect::Lifecycle(lifecycle) => {
            assert_eq!(lifecycle.session, TAB.into());
            assert_eq!(
                lifecycle.address,
                Some(std::net::IpAddr::from([192, 0, 2, 1]))
            );
            Some(lifecycle.event)
        }
        _ => None,
    });
    events.collect()
}

fn hello() -> PageHello {
    PageHello {
        address: Some([192, 0, 2, 1].into()),
        ..page_hello(TAB)
    }
}

impl Harness {
    /// Lets this time pass, while the clock that people see stands still: it may be set back.
    fn pass_ms(&mut self, ms: u64) {
        self.now.instant += Duration::from_millis(ms);
    }

    fn connect_reported(&mut self, connection: ConnectionId) -> Vec<LifecycleEvent> {
        let connected = self.realm.page_connected(connection, hello(), self.now);
        reports(connected.unwrap().1)
    }

    fn disconnect_reported(
        &mut self,
        connection: ConnectionId,
        disconnect: Disconnect,
    ) -> Vec<LifecycleEvent> {
        let ended = self
            .realm
            .connection_ended(&TAB.into(), connection, disconnect, self.now);
        reports(ended)
    }
}

#[test]
fn a_session_is_reported_once_for_each_change() {
    let mut scene = Harness::new();
    assert_eq!(
        scene.connect_reported(FIRST_CONNECTION),
        [LifecycleEvent::PageConnected {
            app: None,
            origin: None
        }]
    );
    scene.pass_ms(50);
    // A newer connection takes over, and the end of the former one changes nothing.
    assert_eq!(
        scene.connect_reported(SECOND_CONNECTION),
        [LifecycleEvent::PageReconnected { away_ms: None }]
    );
    let lost = Disconnect::ConnectionLost;
    let former = scene.disconnect_reported(FIRST_CONNECTION, lost.clone());
    assert!(former.is_empty(), "{former:?}");
    scene.pass_ms(7);
    assert_eq!(
        scene.disconnect_reported(SECOND_CONNECTION, lost.clone()),
        [LifecycleEvent::PageAway {
            reason: "the page lost its connection",
            connected_ms: 7
        }]
    );
    let again = scene.disconnect_reported(SECOND_CONNECTION, lost);
    assert!(again.is_empty(), "{again:?}");
    scene.pass_ms(3);
    let third = ConnectionId(3);
    assert_eq!(
        scene.connect_reported(third),
        [LifecycleEvent::PageReconnected { away_ms: Some(3) }]
    );
    assert_eq!(
        scene.disconnect_reported(third, Disconnect::DocumentGone),
        [LifecycleEvent::PageGone {
            reason: "the page was closed or left",
            ms: 60
        }]
    );
}

#[test]
fn a_query_is_reported_with_the_tokens_of_its_agent() {
    let mut scene = Harness::new();
    scene.connect_reported(FIRST_CONNECTION);
    let query = query_message(QUERY);
    let id = query.uuid.clone();
    let begun = scene
        .realm
        .query_asked(&TAB.into(), FIRST_CONNECTION, query, scene.now);
    assert_eq!(
        reports(begun),
        [LifecycleEvent::QueryBegun { query: id.clone() }]
    );
    scene.pass_ms(9);
    let usage =
        r#"{"models":{"a":{"input":1,"output":2,"cached":0,"thinking":0}},"milliseconds":1}"#;
    let result = CompletedQuery {
        usage: Some(raw(usage)),
        ..CompletedQuery::default()
    };
    let (completed, effects) = scene.realm.query_completed(&id, result, scene.now);
    completed.unwrap();
    assert_eq!(
        reports(effects),
        [LifecycleEvent::QueryEnded {
            query: id,
            outcome: "ok",
            code: None,
            ms: 9,
            tokens: Some(TokenUsage {
                input: 1,
                output: 2,
                ..TokenUsage::default()
            }),
        }]
    );
}
