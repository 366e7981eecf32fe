//! The session of a tab: it stays the same after a reload, and no other tab has it.

use e2e::{Browser, StaticSite, TestBed};
use serde_json::{Value, json};

use crate::open_app;

#[tokio::test]
async fn a_reload_keeps_the_session_and_another_tab_has_its_own() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let first = session(&browser).await;

    browser.reload().await;
    browser.wait_for("journey.ready").await;
    assert_eq!(session(&browser).await, first);

    let copy = copied_tab(&browser).await;
    assert_ne!(copy, first);
    browser.reload().await;
    browser.wait_for("journey.ready").await;
    assert_eq!(session(&browser).await, first);
}

/// A frozen tab may be discarded at any time, so its id is stored in `sessionStorage`, which
/// browsers copy when they duplicate the tab.
#[tokio::test]
async fn a_copy_of_a_frozen_tab_takes_over_the_session_and_the_tab_gets_a_new_one() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open_app(&site, &bed).await;
    let first = session(&browser).await;

    browser
        .eval("document.dispatchEvent(new Event('freeze'))", json!(null))
        .await;
    assert_eq!(copied_tab(&browser).await, first);

    browser
        .wait_for(&format!(
            "journey.mcpWeb.sessionId !== {first} && journey.mcpWeb.status.state === 'connected'"
        ))
        .await;
    browser
        .wait_for("copy.journey.mcpWeb.status.state === 'connected'")
        .await;
    assert_eq!(copied_session(&browser).await, first);
}

/// Opens the page once more from the page, which copies its `sessionStorage` as if the tab were
/// duplicated. Returns the session of the copy once it is connected.
async fn copied_tab(browser: &Browser) -> Value {
    browser
        .eval("globalThis.copy = window.open(location.href)", json!(null))
        .await;
    browser
        .wait_for("copy.journey?.mcpWeb?.status.state === 'connected'")
        .await;
    copied_session(browser).await
}

async fn copied_session(browser: &Browser) -> Value {
    browser
        .eval("return copy.journey.mcpWeb.sessionId", json!(null))
        .await
}

async fn session(browser: &Browser) -> Value {
    browser
        .eval("return journey.mcpWeb.sessionId", json!(null))
        .await
}
