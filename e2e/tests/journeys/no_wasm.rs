//! A page whose content security policy forbids WebAssembly reports it.

use e2e::{Browser, StaticSite, TestBed};
use serde_json::json;

#[tokio::test]
async fn status_and_registrations_name_the_missing_permission() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    browser.goto(&site.app_without_wasm(&bed)).await;

    browser
        .wait_for("journey.mcpWeb.status.state === 'failed'")
        .await;
    let reason = browser
        .eval("return journey.mcpWeb.status.error.message", json!(null))
        .await;
    assert!(names_permission(&reason), "{reason}");
    let failure = browser
        .eval(
            "return journey.echo.registered.then(() => null, (error) => error.message)",
            json!(null),
        )
        .await;
    assert!(names_permission(&failure), "{failure}");
}

fn names_permission(message: &serde_json::Value) -> bool {
    message
        .as_str()
        .is_some_and(|message| message.contains("wasm-unsafe-eval"))
}
