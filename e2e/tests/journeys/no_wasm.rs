//! A page whose content security policy forbids WebAssembly is told so.

use e2e::{Browser, StaticSite, TestBed};
use serde_json::json;

#[tokio::test]
async fn the_status_and_every_waiting_call_say_what_is_missing() {
    let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    browser.goto(&site.app_without_wasm(&world)).await;

    browser
        .wait_for("journey.mcpWeb.status.state === 'failed'")
        .await;
    let reason = browser
        .eval("return journey.mcpWeb.status.error.message", json!(null))
        .await;
    assert!(says_what_to_do(&reason), "{reason}");
    let refusal = browser
        .eval(
            "return journey.echo.registered.then(() => null, (error) => error.message)",
            json!(null),
        )
        .await;
    assert!(says_what_to_do(&refusal), "{refusal}");
}

fn says_what_to_do(message: &serde_json::Value) -> bool {
    message
        .as_str()
        .is_some_and(|message| message.contains("wasm-unsafe-eval"))
}
