//! A resource of a page in Chromium that changes as long as a client is subscribed to it.

use e2e::{AbleClient, Browser, Era, Heard, Leg, Site, World};

use crate::EVERY_WAY;

const WATCHED: &str = "test://watched-resource";

#[tokio::test]
async fn tells_its_subscribers_until_they_leave() {
    let (world, site) = (World::bridge().await, Site::start().await);
    let browser = Browser::open().await;
    browser.goto(&site.conformance(&world)).await;
    browser.wait_for("conformance.ready").await;

    for (leg, era) in EVERY_WAY {
        watch(&world, &browser, leg, era).await;
    }
}

async fn watch(world: &World, browser: &Browser, leg: Leg, era: Era) {
    let mut client = AbleClient::connect(world, leg, era).await;
    let before = reading(&client).await;

    client.subscribe(WATCHED).await;
    browser.wait_for("conformance.isWatched()").await;
    assert_eq!(client.heard().await, Heard::Updated(WATCHED.to_owned()));
    let after = reading(&client).await;
    assert!(after > before, "{leg:?}, {era:?}: {before}, then {after}");

    client.unsubscribe(WATCHED).await;
    browser.wait_for("!conformance.isWatched()").await;
}

/// The number in `Reading 7`.
async fn reading(client: &AbleClient) -> u64 {
    let result = client.read(WATCHED).await.unwrap();
    let result = serde_json::to_value(result).unwrap();
    let text = result["contents"][0]["text"].as_str().unwrap();
    text.strip_prefix("Reading ").unwrap().parse().unwrap()
}
