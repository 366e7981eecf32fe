//! The page that runs a guide's snippets.

use std::cell::Cell;

use e2e::{Browser, StaticSite, TestBed};
use serde_json::{Value, json};

use super::Section;

/// What stands at the beginning of every guide.
const IMPORT_SDK: &str = r#"
    Object.assign(window, await import("mcp-web-sdk"));
"#;

const CONNECT: &str = r#"var mcpWeb = new McpWeb({ name: "Guide" });"#;

/// Fulfilled once everything before it is registered, or refused.
const WAIT_UNTIL_SETTLED: &str = r#"
    const last = mcpWeb.addTool({ name: "guide_is_settled", handler: () => {} });
    await last.registered;
    await last.remove();
"#;

/// A page that imports the SDK from the bridge, as a page without a build step does; or the demo.
pub(super) struct GuidePage {
    bed: TestBed,
    site: Option<StaticSite>,
    browser: Browser,
    /// Sections begin with a fresh page each; the first is no exception.
    pages: Cell<u32>,
}

impl GuidePage {
    pub(super) async fn open(world: TestBed) -> Self {
        let sdk = format!("{}/sdk/mcp-web.js", world.url());
        let imports = json!({ "imports": { "mcp-web-sdk": sdk } });
        let index = format!(
            "<!doctype html><html lang=\"en\"><title>Guide</title><link rel=\"icon\" href=\"data:,\">\
             <script type=\"importmap\">{imports}</script><body></body></html>"
        );
        let site = StaticSite::with_index(index).await;
        Self::new(world, Some(site)).await
    }

    /// The demo that `world` serves.
    pub(super) async fn open_demo(world: TestBed) -> Self {
        Self::new(world, None).await
    }

    async fn new(world: TestBed, site: Option<StaticSite>) -> Self {
        Self {
            bed: world,
            site,
            browser: Browser::open().await,
            pages: Cell::new(0),
        }
    }

    /// Opens a fresh page for `section`.
    pub(super) async fn open_section(&self, section: &Section) {
        self.pages.set(self.pages.get() + 1);
        let Some(site) = &self.site else {
            let url = format!("{}/?storage=none&{}", self.bed.url(), self.pages.get());
            return self.browser.goto(&url).await;
        };
        let url = format!("{}/?{}", site.url(), self.pages.get());
        self.browser.goto(&url).await;
        self.run(IMPORT_SDK).await;
        if !section.connects_itself() {
            self.run(CONNECT).await;
        }
    }

    /// Runs a snippet as the console would: names stay, and `await` is fine.
    pub(super) async fn run(&self, script: &str) {
        self.evaluate(&without_imports(script)).await;
    }

    /// Waits until everything that was added is registered, or refused.
    pub(super) async fn settle(&self) {
        self.browser
            .wait_for("mcpWeb.status.state === 'connected'")
            .await;
        self.browser.eval(WAIT_UNTIL_SETTLED, json!(null)).await;
    }

    /// Runs a line of a conversation in the page. While it is `false`, it is not yet true.
    pub(super) async fn check(&self, script: &str) {
        if self.evaluate(script).await == Value::Bool(false) {
            self.browser.wait_for(script).await;
        }
    }

    /// The bridge, as an AI client's configuration names it.
    pub(super) async fn server(&self) -> Value {
        let token = self.evaluate("mcpWeb.authToken").await;
        let token = token.as_str().expect("the page has a token");
        json!({ "url": self.bed.mcp_url(), "token": token })
    }

    async fn evaluate(&self, expression: &str) -> Value {
        let parameters = json!({
            "expression": expression,
            "replMode": true,
            "awaitPromise": true,
            "userGesture": true,
        });
        let answer = self.browser.devtools("Runtime.evaluate", parameters).await;
        if let Some(thrown) = answer.get("exceptionDetails") {
            let console = self.browser.console().await.join("\n");
            panic!("{expression}\nthrew {thrown:#}\nThe console says:\n{console}");
        }
        answer["result"]["value"].clone()
    }
}

/// The exports of the SDK are there already: consoles know no static imports.
fn without_imports(script: &str) -> String {
    let lines = script.lines();
    let kept: Vec<&str> = lines
        .filter(|line| !(line.starts_with("import ") && line.contains("\"mcp-web-sdk\"")))
        .collect();
    kept.join("\n")
}
