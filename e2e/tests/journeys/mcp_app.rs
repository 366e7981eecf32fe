//! The demo's MCP App in a web page that hosts such apps (SEP-1865, revision 2026-01-26), built
//! with the libraries that hosts use: `e2e/host`.

mod sandbox;

use e2e::{Browser, ColorScheme, NodeProject, ProcessGroup, StaticSite, TestBed};
use serde_json::json;

use self::sandbox::Sandbox;
use crate::demo_page::open_demo;
use crate::{vite_preview, vite_url};

const DEMO: &str = "MCP-Web demo";
const HOST: &str = "A host of MCP Apps";

#[tokio::test]
async fn the_app_works_in_a_host_of_2025() {
    check_app("2025-11-25").await;
}

#[tokio::test]
async fn the_app_works_in_a_host_of_2026() {
    check_app("2026-07-28").await;
}

async fn check_app(version: &str) {
    let mut bed = TestBed::demo().await;
    let browser = open_demo(&mut bed).await;
    let host = HostPage::start().await;
    let other_site = StaticSite::start().await;
    browser.open_tab().await;
    browser.goto(&host.url(&bed, version)).await;
    browser.wait_for("host.ready").await;

    assert_app_is_listed(&browser).await;
    assert_type_and_policy(&browser, &bed).await;
    assert_view_shows_result(&browser).await;
    assert_policy_is_enforced(&browser, &other_site).await;
    assert_view_changes_board(&browser).await;
    assert_new_call_refreshes_view(&browser).await;

    browser.switch_to_tab(HOST).await;
    browser.emulate(ColorScheme::Light, 1000, 760).await;
    let screenshot = browser.screenshot(&format!("mcp-app-{version}")).await;
    assert!(std::fs::read(screenshot).unwrap().starts_with(b"\x89PNG"));
}

async fn assert_app_is_listed(browser: &Browser) {
    let uri = "ui://autumn-issue/board_overview";
    assert_eq!(
        browser.eval("return host.apps", json!(null)).await,
        json!([{ "name": "board_overview", "uri": uri }])
    );
    assert_eq!(
        browser.eval("return host.views", json!(null)).await,
        json!([{ "uri": uri, "mimeType": "text/html;profile=mcp-app" }])
    );
}

async fn assert_type_and_policy(browser: &Browser, bed: &TestBed) {
    let open =
        "await host.open('board_overview', 'How does my board stand?'); return host.resource";
    let resource = browser.eval(open, json!(null)).await;
    assert_eq!(resource["mimeType"], "text/html;profile=mcp-app");
    assert!(
        resource["text"]
            .as_str()
            .unwrap()
            .starts_with("<!doctype html>")
    );
    let board = bed.url();
    assert_eq!(
        resource["_meta"]["ui"],
        json!({ "csp": { "resourceDomains": [board] }, "prefersBorder": true }),
    );
    let policy = browser
        .eval(
            "return document.querySelector('#policy').textContent",
            json!(null),
        )
        .await;
    let policy = policy.as_str().unwrap().to_owned();
    for directive in [
        "default-src 'none'",
        "connect-src 'self'",
        "frame-src 'none'",
        &format!("img-src 'self' data: {board}"),
    ] {
        assert!(policy.contains(directive), "{directive} is not in {policy}");
    }
}

async fn assert_view_shows_result(browser: &Browser) {
    let result = browser
        .eval("return host.shown.at(-1).structuredContent", json!(null))
        .await;
    assert_eq!(result["total"], 8, "{result}");
    enter_view(browser).await;
    browser
        .wait_for("document.querySelector('#today').textContent.startsWith('8 cards')")
        .await;
    let overdue =
        "return [...document.querySelectorAll('#cards strong')].map((card) => card.textContent)";
    assert_eq!(
        browser.eval(overdue, json!(null)).await,
        json!(["Proofread the recipe pages", "Redraw the harbour map"])
    );
}

/// Checks that declared resources can be loaded and all others are blocked.
async fn assert_policy_is_enforced(browser: &Browser, other_site: &StaticSite) {
    browser
        .wait_for("document.querySelector('#icon').naturalWidth > 0")
        .await;
    let blocked = browser.eval(
        "const blocked = [];
         addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
           blocked.push([effectiveDirective, blockedURI]);
         });
         const outcome = await fetch(`${args}/beacon`, { method: 'POST', mode: 'no-cors', body: 'from the view' })
           .then(() => 'it was sent', () => 'refused');
         const picture = new Image();
         const failed = new Promise((resolve) => { picture.onerror = resolve; });
         picture.src = `${args}/picture.png`;
         await failed;
         return { outcome, blocked }",
        json!(other_site.url()),
    );
    let beacon = format!("{}/beacon", other_site.url());
    let picture = format!("{}/picture.png", other_site.url());
    assert_eq!(
        blocked.await,
        json!({ "outcome": "refused", "blocked": [["connect-src", beacon], ["img-src", picture]] })
    );
    // If the view's beacon had been sent, it would arrive before the host's, which is allowed.
    browser.leave_frames().await;
    let send =
        "await fetch(`${args}/beacon`, { method: 'POST', mode: 'no-cors', body: 'from the host' })";
    browser.eval(send, json!(other_site.url())).await;
    assert_eq!(other_site.beacon().await, "from the host");
}

async fn assert_view_changes_board(browser: &Browser) {
    enter_view(browser).await;
    let finish =
        "document.querySelector('[aria-label=\"Done: Proofread the recipe pages\"]').click()";
    browser.eval(finish, json!(null)).await;
    browser
        .wait_for("!document.body.innerText.includes('Proofread the recipe pages')")
        .await;
    browser.leave_frames().await;
    let calls = browser.eval("return host.asked", json!(null)).await;
    assert_eq!(
        calls,
        json!([
            { "name": "move_card", "arguments": { "id": "c6", "column": "done" } },
            { "name": "board_overview", "arguments": {} },
        ])
    );
    browser.switch_to_tab(DEMO).await;
    browser
        .wait_for("document.querySelector('[data-column=done]').innerText.includes('Proofread the recipe pages')")
        .await;
}

async fn assert_new_call_refreshes_view(browser: &Browser) {
    browser.switch_to_tab(DEMO).await;
    let add = "const form = document.querySelector('[data-column=todo] .add-form');
        document.querySelector('[data-column=todo] .add-open').click();
        form.title.value = 'Fold the paper';
        form.requestSubmit();";
    browser.eval(add, json!(null)).await;
    browser
        .wait_for("document.body.innerText.includes('Fold the paper')")
        .await;
    browser.switch_to_tab(HOST).await;
    browser.eval("await host.callAgain()", json!(null)).await;
    enter_view(browser).await;
    browser
        .wait_for("document.querySelector('#today').textContent.startsWith('9 cards')")
        .await;
    browser.leave_frames().await;
}

/// Enters the view, which is a frame of the sandbox proxy, which is a frame of the host.
async fn enter_view(browser: &Browser) {
    browser.enter_frame(0).await;
    browser.enter_frame(0).await;
}

/// The built host page, and the sandbox proxy on another port.
struct HostPage {
    url: String,
    sandbox: Sandbox,
    _server: ProcessGroup,
    _project: NodeProject,
}

impl HostPage {
    async fn start() -> Self {
        let project = NodeProject::copy_of("host");
        project.link_packages();
        let mut server = vite_preview(&project).await;
        Self {
            url: vite_url(&mut server).await,
            sandbox: Sandbox::start().await,
            _server: server,
            _project: project,
        }
    }

    fn url(&self, bed: &TestBed, version: &str) -> String {
        let parameters = [
            ("mcp", bed.mcp_url()),
            ("token", bed.token().to_owned()),
            ("sandbox", self.sandbox.url().to_owned()),
            ("version", version.to_owned()),
        ];
        let mut url = url::Url::parse(&self.url).unwrap();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }
}
