//! The demo's MCP App in a web page that hosts such apps (SEP-1865, revision 2026-01-26), made of the
//! libraries that hosts use: `e2e/host`.

mod sandbox;

use e2e::{Browser, ColorScheme, NodeProject, ProcessGroup, StaticSite, TestBed, program_paths};
use serde_json::json;

use self::sandbox::Sandbox;
use crate::demo_page::open_demo;

const DEMO: &str = "MCP-Web demo";
const HOST: &str = "A host of MCP Apps";

#[tokio::test]
async fn in_a_host_of_2025() {
    is_rendered_under_its_policy_and_changes_the_board("2025-11-25").await;
}

#[tokio::test]
async fn in_a_host_of_2026() {
    is_rendered_under_its_policy_and_changes_the_board("2026-07-28").await;
}

async fn is_rendered_under_its_policy_and_changes_the_board(version: &str) {
    let mut world = TestBed::demo().await;
    let browser = open_demo(&mut world).await;
    let host = HostPage::start().await;
    let elsewhere = StaticSite::start().await;
    browser.open_tab().await;
    browser.goto(&host.url(&world, version)).await;
    browser.wait_for("host.ready").await;

    finds_the_app(&browser).await;
    the_document_has_its_type_and_policy(&browser, &world).await;
    the_view_shows_the_result(&browser).await;
    the_policy_holds(&browser, &elsewhere).await;
    a_call_of_the_view_changes_the_board(&browser).await;
    another_call_of_the_tool_refreshes_the_view(&browser).await;

    browser.switch_to_tab(HOST).await;
    browser.emulate(ColorScheme::Light, 1000, 760).await;
    let picture = browser.screenshot(&format!("mcp-app-{version}")).await;
    assert!(std::fs::read(picture).unwrap().starts_with(b"\x89PNG"));
}

async fn finds_the_app(browser: &Browser) {
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

async fn the_document_has_its_type_and_policy(browser: &Browser, world: &TestBed) {
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
    let board = world.url();
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

async fn the_view_shows_the_result(browser: &Browser) {
    let shown = browser
        .eval("return host.shown.at(-1).structuredContent", json!(null))
        .await;
    assert_eq!(shown["total"], 8, "{shown}");
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

/// What is declared can be loaded; anything else cannot.
async fn the_policy_holds(browser: &Browser, elsewhere: &StaticSite) {
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
        json!(elsewhere.url()),
    );
    let beacon = format!("{}/beacon", elsewhere.url());
    let picture = format!("{}/picture.png", elsewhere.url());
    assert_eq!(
        blocked.await,
        json!({ "outcome": "refused", "blocked": [["connect-src", beacon], ["img-src", picture]] })
    );
    // Had the view's message been sent, it would come before the one of the host, which is not blocked.
    browser.leave_frames().await;
    let send =
        "await fetch(`${args}/beacon`, { method: 'POST', mode: 'no-cors', body: 'from the host' })";
    browser.eval(send, json!(elsewhere.url())).await;
    assert_eq!(elsewhere.beacon().await, "from the host");
}

async fn a_call_of_the_view_changes_the_board(browser: &Browser) {
    enter_view(browser).await;
    let finish =
        "document.querySelector('[aria-label=\"Done: Proofread the recipe pages\"]').click()";
    browser.eval(finish, json!(null)).await;
    browser
        .wait_for("!document.body.innerText.includes('Proofread the recipe pages')")
        .await;
    browser.leave_frames().await;
    let asked = browser.eval("return host.asked", json!(null)).await;
    assert_eq!(
        asked,
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

async fn another_call_of_the_tool_refreshes_the_view(browser: &Browser) {
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

/// The sandbox proxy is the host's frame, and the view is the proxy's.
async fn enter_view(browser: &Browser) {
    browser.enter_frame(0).await;
    browser.enter_frame(0).await;
}

/// The built host page on one port, the sandbox proxy on another.
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
        vite(&project, &["build"]).wait_for_line("built in").await;
        let mut server = vite(&project, &["preview", "--port", "0", "--host", "127.0.0.1"]);
        let line = server.wait_for_line("http://127.0.0.1:").await;
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        Self {
            url: url.expect("the line has a URL").to_owned(),
            sandbox: Sandbox::start().await,
            _server: server,
            _project: project,
        }
    }

    fn url(&self, world: &TestBed, version: &str) -> String {
        let parameters = [
            ("mcp", world.mcp_url()),
            ("token", world.token().to_owned()),
            ("sandbox", self.sandbox.url().to_owned()),
            ("version", version.to_owned()),
        ];
        let mut url = url::Url::parse(&self.url).unwrap();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }
}

fn vite(project: &NodeProject, arguments: &[&str]) -> ProcessGroup {
    let vite = program_paths::node_modules().join("vite/bin/vite.js");
    let vite = vite.display().to_string();
    project.node("vite", &[&[vite.as_str()], arguments].concat())
}
