//! A resource of a page in Chromium that changes while a client is subscribed to it.

use e2e::{Browser, ClientEvent, Era, FullClient, StaticSite, TestBed, Transport};

use crate::TRANSPORTS_AND_ERAS;

const WATCHED: &str = "test://watched-resource";

#[tokio::test]
async fn subscribers_are_notified_until_they_unsubscribe() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    browser.goto(&site.conformance(&bed)).await;
    browser.wait_for("conformance.ready").await;

    for (transport, era) in TRANSPORTS_AND_ERAS {
        check_subscription(&bed, &browser, transport, era).await;
    }
}

async fn check_subscription(bed: &TestBed, browser: &Browser, transport: Transport, era: Era) {
    let mut client = FullClient::connect(bed, transport, era).await;
    let before = reading(&client).await;

    client.subscribe(WATCHED).await;
    browser.wait_for("conformance.isWatched()").await;
    assert_eq!(
        client.next_event().await,
        ClientEvent::Updated(WATCHED.to_owned())
    );
    let after = reading(&client).await;
    assert!(
        after > before,
        "{transport:?}, {era:?}: {before}, then {after}"
    );

    client.unsubscribe(WATCHED).await;
    browser.wait_for("!conformance.isWatched()").await;
}

/// Returns the number in a text such as `Reading 7`.
async fn reading(client: &FullClient) -> u64 {
    let result = client.read(WATCHED).await.unwrap();
    let result = serde_json::to_value(result).unwrap();
    let text = result["contents"][0]["text"].as_str().unwrap();
    text.strip_prefix("Reading ").unwrap().parse().unwrap()
}
