//! Restrictions of the browser between a page and its bridge: the page's error describes what is
//! wrong and what to do, and its diagnosis names the failed check.

use e2e::{Browser, StaticSite, TestBed, TlsProxy};
use serde_json::{Value, json};

/// The error code of a page that has given up.
const FAILURE_CODE: &str =
    "journey.mcpWeb.status.state === 'failed' && journey.mcpWeb.status.error.code";

/// A content security policy without `connect-src` for the bridge's WebSocket.
#[tokio::test]
async fn a_content_security_policy_without_the_socket() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    browser.goto(&site.app_without_socket(&bed)).await;

    let remedy = fails_with(&browser, "CspBlocked", "content security policy").await;
    let socket = bed.url().replace("http", "ws");
    assert!(
        remedy.contains(&socket) && remedy.contains("connect-src"),
        "{remedy}"
    );
}

/// The module `no_wasm` tests the error; this tests the diagnosis.
#[tokio::test]
async fn a_content_security_policy_without_wasm() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    browser.goto(&site.app_without_wasm(&bed)).await;

    assert_eq!(browser.wait_for(FAILURE_CODE).await, "WasmBlocked");
    let check = check(&browser, "wasm").await;
    assert_eq!(check["status"], "failed");
    assert!(
        check["remedy"]
            .as_str()
            .unwrap()
            .contains("wasm-unsafe-eval")
    );
}

/// A page from the internet may connect to this machine only with its user's permission. A headless
/// browser cannot ask for it and denies it.
#[tokio::test]
async fn a_denied_local_network_which_is_then_allowed() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open_with(&[&public_url(&site)]).await;
    browser.goto(&site.app_at(site.url(), &bed)).await;

    let remedy = fails_with(&browser, "LocalNetworkDenied", "local network access").await;
    assert!(remedy.contains("settings of this site"), "{remedy}");

    let permission = json!({ "name": "loopback-network" });
    browser
        .devtools(
            "Browser.setPermission",
            json!({ "permission": permission, "setting": "granted", "origin": site.url() }),
        )
        .await;
    browser.wait_for("journey.ready").await;
    browser
        .wait_for("journey.mcpWeb.diagnose().then(({ ok }) => ok)")
        .await;
}

/// A plain http page from the internet cannot even ask for the permission.
#[tokio::test]
async fn an_insecure_page_from_the_internet() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open_with(&[&public_url(&site), RESOLVER_RULES]).await;
    let app = format!("http://app.example:{}", port(&site));
    browser.goto(&site.app_at(&app, &bed)).await;

    let remedy = fails_with(&browser, "LocalNetworkRefused", "local network access").await;
    assert!(remedy.contains("https"), "{remedy}");
}

/// An iframe of another site needs the permission from the page that embeds it.
#[tokio::test]
async fn an_iframe_without_the_permission() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let app = format!("http://app.example:{}", port(&site));
    let secure = format!("--unsafely-treat-insecure-origin-as-secure={app}");
    let browser = Browser::open_with(&[&public_url(&site), RESOLVER_RULES, &secure]).await;
    browser
        .goto(&site.framed_app(&bed, site.url(), "", &app))
        .await;
    browser.enter_frame(0).await;

    let remedy = fails_with(&browser, "FrameBlocked", "local network access").await;
    assert!(remedy.contains(r#"allow="loopback-network""#), "{remedy}");
}

/// A sandboxed iframe has an opaque origin, which the bridge rejects.
#[tokio::test]
async fn a_sandboxed_iframe() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open().await;
    let sandbox = r#"sandbox="allow-scripts""#;
    browser
        .goto(&site.framed_app(&bed, site.url(), sandbox, site.url()))
        .await;
    browser.enter_frame(0).await;

    let remedy = fails_with(&browser, "FrameBlocked", "origin").await;
    assert!(remedy.contains("allow-same-origin"), "{remedy}");
}

/// An https page must not use an http bridge on another machine.
#[tokio::test]
async fn mixed_content() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let proxy = TlsProxy::start(&site).await;
    let browser = Browser::open_with(&[TlsProxy::CHROMIUM_FLAG, RESOLVER_RULES]).await;
    let app = site.app_at(proxy.url(), &bed);
    browser
        .goto(&app.replace("127.0.0.1", "bridge.example"))
        .await;

    let remedy = fails_with(&browser, "MixedContentBlocked", "mixed content").await;
    assert!(remedy.contains("https address"), "{remedy}");
}

/// An https page may use an http bridge on the user's own machine.
#[tokio::test]
async fn an_https_page_reaches_the_bridge_on_this_machine() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let proxy = TlsProxy::start(&site).await;
    let browser = Browser::open_with(&[TlsProxy::CHROMIUM_FLAG]).await;
    browser.goto(&site.app_at(proxy.url(), &bed)).await;

    browser.wait_for("journey.ready").await;
    let diagnosis = diagnosis(&browser).await;
    assert_eq!(diagnosis["ok"], true, "{}", diagnosis["summary"]);
    let summary = diagnosis["summary"].as_str().unwrap();
    assert!(!summary.contains(bed.token()), "{summary}");
}

/// The error names the setting of the bridge that allows the origin.
#[tokio::test]
async fn a_foreign_origin() {
    let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = Browser::open_with(&[RESOLVER_RULES]).await;
    let app = format!("http://app.example:{}", port(&site));
    browser.goto(&site.app_at(&app, &bed)).await;

    let remedy = fails_with(&browser, "OriginNotAllowed", "origin at the bridge").await;
    assert!(
        remedy.contains(&format!("--allowed-origins loopback,{app}")),
        "{remedy}"
    );
}

/// While no bridge is running, the page keeps trying.
#[tokio::test]
async fn no_bridge() {
    let (mut bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    bed.stop().await;
    let browser = Browser::open().await;
    browser.goto(&site.app_at(site.url(), &bed)).await;

    browser
        .wait_for("journey.mcpWeb.status.state === 'reconnecting'")
        .await;
    let check = check(&browser, "bridge").await;
    assert_eq!(check["status"], "failed");
    assert!(
        check["message"]
            .as_str()
            .unwrap()
            .starts_with("BridgeUnreachable"),
        "{check}"
    );
}

/// Waits until the page has given up with this code, which `connect()` and the check `name` of the
/// diagnosis must have as well. Returns the remedy of the diagnosis.
async fn fails_with(browser: &Browser, code: &str, name: &str) -> String {
    assert_eq!(browser.wait_for(FAILURE_CODE).await, code);
    let rejected = browser
        .eval(
            "const { code, message, remedy } = await journey.mcpWeb.connect().catch((error) => error);
             return { code, message, remedy: remedy ?? '' }",
            json!(null),
        )
        .await;
    assert_eq!(rejected["code"], code, "{rejected}");
    let message = rejected["message"].as_str().unwrap();
    assert!(
        message.ends_with(rejected["remedy"].as_str().unwrap()),
        "{message}"
    );
    let check = check(browser, name).await;
    assert_eq!(check["status"], "failed", "{check}");
    assert!(
        check["message"].as_str().unwrap().starts_with(code),
        "{check}"
    );
    check["remedy"].as_str().unwrap().to_owned()
}

async fn check(browser: &Browser, name: &str) -> Value {
    let diagnosis = diagnosis(browser).await;
    let checks = diagnosis["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    check
        .unwrap_or_else(|| panic!("no {name:?} in {diagnosis}"))
        .clone()
}

async fn diagnosis(browser: &Browser) -> Value {
    browser
        .eval("return journey.mcpWeb.diagnose()", json!(null))
        .await
}

/// Returns the flag that makes Chromium regard the site as one of the internet.
fn public_url(site: &StaticSite) -> String {
    format!("--ip-address-space-overrides={}=public", site.address())
}

/// The flag that makes Chromium resolve foreign names to this machine.
const RESOLVER_RULES: &str = "--host-resolver-rules=MAP *.example 127.0.0.1";

fn port(site: &StaticSite) -> &str {
    site.address().rsplit(':').next().unwrap()
}
