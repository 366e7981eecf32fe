//! The servers and files of all pages, and visits of a page with a browser of its own.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::servers::{Relay, WebMcpServer};
use super::start_page::StartPage;
use crate::{Browser, FolderSite, NodeProject, TestBed, program_paths};

/// How long a page is left alone after its `load` event, until its start is over.
const SETTLING_TIME: Duration = Duration::from_secs(2);

/// Everything that the pages load and connect to.
#[derive(Debug)]
pub struct StartSetup {
    bed: TestBed,
    webmcp: WebMcpServer,
    project: NodeProject,
    site: FolderSite,
}

/// A page that has just started in a browser of its own.
pub(super) struct Visit {
    pub(super) browser: Browser,
    relay: Option<Relay>,
}

impl StartSetup {
    /// Builds what the pages load, and starts the servers.
    pub async fn start() -> Self {
        let project = NodeProject::copy_of("start");
        project.link(&packages());
        let output = project.path().join("output");
        let esbuild = program_paths::sdk_node_modules().join("esbuild/lib/main.js");
        let paths = [pages(), program_paths::sdk_package(), esbuild, output];
        let [pages, sdk, esbuild, output] = paths.map(|path| path.display().to_string());
        let arguments = ["build.mjs", &pages, &sdk, &esbuild, &output];
        let mut build = project.node("build.mjs", &arguments);
        build.wait_for_line("built").await;
        Self {
            bed: TestBed::bridge().await,
            webmcp: WebMcpServer::start(&project).await,
            site: FolderSite::start(output.into()).await,
            project,
        }
    }

    /// Opens a page in a new browser, and waits until its start is over. `script` runs before those
    /// of the page.
    pub(super) async fn visit(&self, page: StartPage, script: Option<&str>) -> Visit {
        let relay = match page {
            StartPage::McpBRelay => Some(Relay::start(&self.project).await),
            _ => None,
        };
        self.write_page(StartPage::Nothing, None).await;
        self.write_page(page, relay.as_ref()).await;
        let browser = Browser::open().await;
        // The browser has started when it shows a page. This one is of another site, and thus in
        // another process.
        let first = self.url("localhost", StartPage::Nothing);
        browser.goto(&first).await;
        browser.devtools("Performance.enable", json!({})).await;
        if let Some(source) = script {
            let command = "Page.addScriptToEvaluateOnNewDocument";
            browser.devtools(command, json!({ "source": source })).await;
        }
        browser.goto(&self.url("127.0.0.1", page)).await;
        tokio::time::sleep(SETTLING_TIME).await; // sleep: it is what is measured
        Visit { browser, relay }
    }

    fn url(&self, host: &str, page: StartPage) -> String {
        self.site.url_of(host, &format!("{}.html", page.name()))
    }

    /// Writes the HTML of a page with the addresses of its servers.
    async fn write_page(&self, page: StartPage, relay: Option<&Relay>) {
        let file = format!("{}.html", page.name());
        let token = match page {
            StartPage::WebMcp => self.webmcp.new_token(&self.project).await,
            _ => self.bed.token().to_owned(),
        };
        let html = fs::read_to_string(pages().join(&file)).unwrap();
        let html = html
            .replace("BRIDGE", &self.bed.url())
            .replace("TOKEN", &token)
            .replace("PORT", relay.map_or("", Relay::port));
        fs::write(self.project.path().join("output").join(file), html).unwrap();
    }
}

impl Visit {
    /// Returns the value of an expression in the page. Unlike [`Browser::eval`], this runs nothing
    /// else there.
    pub(super) async fn evaluate(&self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let mut answer = self.browser.devtools("Runtime.evaluate", parameters).await;
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].take()
    }

    /// Returns when the tool was registered, in milliseconds after the start of the navigation.
    pub(super) async fn registered_ms(&mut self) -> f64 {
        if let Some(relay) = &mut self.relay {
            let registered = relay.wait_for_tool().await;
            let origin = self.evaluate("performance.timeOrigin").await;
            return registered - origin.as_f64().unwrap();
        }
        let registered = self.evaluate("globalThis.registeredAt").await;
        let console = self.browser.console().await;
        registered
            .as_f64()
            .unwrap_or_else(|| panic!("the tool was not registered in time: {console:?}"))
    }
}

fn pages() -> PathBuf {
    program_paths::workspace().join("e2e/start/pages")
}

/// Returns the installed packages of `e2e/start/package.json`.
fn packages() -> PathBuf {
    let path = program_paths::workspace().join("target/tools/e2e-start/node_modules");
    assert!(
        path.exists(),
        "the npm packages of e2e/start are not installed: run `cargo xtask bench --only start`"
    );
    path
}
