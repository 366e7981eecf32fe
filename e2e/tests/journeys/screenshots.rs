//! Screenshots of the demo for people: `target/e2e-screenshots/demo-*.png`.

use e2e::{ColorScheme, PlainHttp, TestBed};
use serde_json::json;

use crate::demo_page::open_demo;

#[tokio::test]
async fn the_demo_in_light_dark_and_on_a_phone() {
    let mut bed = TestBed::demo().await;
    let browser = open_demo(&mut bed).await;
    let script = PlainHttp::new(&bed);
    script.call_when_registered("list_cards", json!({})).await;
    let card = json!({ "title": "Take a picture of this board" });
    let added = script.call_when_registered("add_card", card).await;
    assert!(added.get("error").is_none(), "{added}");
    browser
        .wait_for("document.body.innerText.includes('Take a picture of this board')")
        .await;

    for (name, scheme, width, height) in [
        ("demo-light", ColorScheme::Light, 1280, 900),
        ("demo-dark", ColorScheme::Dark, 1280, 900),
        ("demo-phone", ColorScheme::Light, 390, 844),
        ("demo-phone-dark", ColorScheme::Dark, 390, 844),
    ] {
        browser.emulate(scheme, width, height).await;
        let has_no_overflow = "document.documentElement.scrollWidth <= innerWidth";
        browser.wait_for(has_no_overflow).await;
        browser.screenshot(name).await;
    }
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}
