//! The page that runs the scripts of a guide.

use std::cell::{Cell, RefCell};

use e2e::{Browser, StaticSite, TestBed};
use serde_json::{Value, json};

use super::Section;

/// The import that every guide begins with.
const IMPORT_SDK: &str = r#"
    Object.assign(window, await import("mcp-web-sdk"), await import("mcp-web-sdk/page"), await import("mcp-web-sdk/state"));
"#;

const CONNECT: &str = r#"var mcpWeb = new McpWeb({ name: "Guide" });"#;

/// Returns once everything that was added before has been registered or rejected.
const WAIT_UNTIL_SETTLED: &str = r#"
    const last = mcpWeb.addTool({ name: "guide_is_settled", handler: () => {} });
    await last.registered;
    await last.remove();
"#;

/// A page that imports the SDK from the bridge, like a page without a build step; or the demo.
pub(super) struct GuidePage {
    bed: TestBed,
    site: Option<StaticSite>,
    /// The server of the section's own page.
    section_site: RefCell<Option<StaticSite>>,
    browser: Browser,
    /// Counts the pages: each section, including the first, begins with a fresh one.
    pages: Cell<u32>,
}

impl GuidePage {
    pub(super) async fn open(bed: TestBed) -> Self {
        Self::open_with(&[], bed).await
    }

    /// Opens the page in a browser with these flags.
    pub(super) async fn open_with(flags: &[&str], bed: TestBed) -> Self {
        let index = format!(
            "<!doctype html><html lang=\"en\"><title>Guide</title><link rel=\"icon\" href=\"data:,\">\
             {}<body></body></html>",
            import_map(&bed)
        );
        let site = StaticSite::with_index(index).await;
        Self::new(flags, bed, Some(site)).await
    }

    /// Opens the demo that `bed` serves.
    pub(super) async fn open_demo(bed: TestBed) -> Self {
        Self::new(&[], bed, None).await
    }

    async fn new(flags: &[&str], bed: TestBed, site: Option<StaticSite>) -> Self {
        Self {
            bed,
            site,
            section_site: RefCell::default(),
            browser: Browser::open_with(flags).await,
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
        if let Some(document) = &section.document {
            return self.open_document(document).await;
        }
        let url = format!("{}/?{}", site.url(), self.pages.get());
        self.browser.goto(&url).await;
        self.run(IMPORT_SDK).await;
        if !section.connects_itself() {
            self.run(CONNECT).await;
        }
    }

    /// Opens a page that the guide shows as a whole.
    async fn open_document(&self, document: &str) {
        let import_map = import_map(&self.bed);
        let html = document.replacen("<script", &format!("{import_map}<script"), 1);
        let site = StaticSite::with_index(html).await;
        self.browser.goto(site.url()).await;
        self.section_site.replace(Some(site));
    }

    /// Runs a script as the console would: declarations stay, and `await` is allowed.
    pub(super) async fn run(&self, script: &str) {
        self.evaluate(&without_imports(script)).await;
    }

    /// Waits until everything that was added is registered or rejected.
    pub(super) async fn settle(&self) {
        self.browser
            .wait_for("mcpWeb.status.state === 'connected'")
            .await;
        self.browser.eval(WAIT_UNTIL_SETTLED, json!(null)).await;
    }

    /// Runs the script of a conversation's line. If it returns `false`, waits until it is true.
    pub(super) async fn check(&self, script: &str) {
        if self.evaluate(script).await == Value::Bool(false) {
            self.browser.wait_for(script).await;
        }
    }

    /// Returns the browser, for what the person does.
    pub(super) fn browser(&self) -> &Browser {
        &self.browser
    }

    /// Returns the bridge, for the configuration of an AI client.
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
        if let Some(exception) = answer.get("exceptionDetails") {
            let console = self.browser.console().await.join("\n");
            panic!("{expression}\nthrew {exception:#}\nThe console contains:\n{console}");
        }
        answer["result"]["value"].clone()
    }
}

fn import_map(bed: &TestBed) -> String {
    let sdk = |module: &str| format!("{}/sdk/{module}.js", bed.url());
    let imports = json!({ "imports": {
        "mcp-web-sdk": sdk("mcp-web"),
        "mcp-web-sdk/page": sdk("mcp-web-page"),
        "mcp-web-sdk/state": sdk("mcp-web-state"),
    } });
    format!("<script type=\"importmap\">{imports}</script>")
}

/// Removes the imports of the SDK, because consoles do not support static imports.
fn without_imports(script: &str) -> String {
    let lines = script.lines();
    let lines: Vec<&str> = lines
        .filter(|line| !(line.starts_with("import ") && line.contains("\"mcp-web-sdk")))
        .collect();
    lines.join("\n")
}
