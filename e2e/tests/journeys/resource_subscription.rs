//! A resource of a page in Chromium that changes as long as a client is subscribed to it.

use e2e::{Browser, ClientEvent, Era, FullClient, StaticSite, TestBed, Transport};

use crate::EVERY_WAY;

const WATCHED: &str = "test://watched-resource";

#[tokio::test]
async fn notifies_subscribers_until_they_leave() {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    browser.goto(&site.conformance(&world)).await;
    browser.wait_for("conformance.ready").await;

    for (leg, era) in EVERY_WAY {
        watch(&world, &browser, leg, era).await;
    }
}

async fn watch(world: &TestBed, browser: &Browser, leg: Transport, era: Era) {
    let mut client = FullClient::connect(world, leg, era).await;
    let before = reading(&client).await;

    client.subscribe(WATCHED).await;
    browser.wait_for("conformance.isWatched()").await;
    assert_eq!(
        client.next_event().await,
        ClientEvent::Updated(WATCHED.to_owned())
    );
    let after = reading(&client).await;
    assert!(after > before, "{leg:?}, {era:?}: {before}, then {after}");

    client.unsubscribe(WATCHED).await;
    browser.wait_for("!conformance.isWatched()").await;
}

/// The number in `Reading 7`.
async fn reading(client: &FullClient) -> u64 {
    let result = client.read(WATCHED).await.unwrap();
    let result = serde_json::to_value(result).unwrap();
    let text = result["contents"][0]["text"].as_str().unwrap();
    text.strip_prefix("Reading ").unwrap().parse().unwrap()
}
