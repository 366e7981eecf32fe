//! Page tools over the whole way: pages in Chromium, the bridge, and MCP clients that use only these
//! tools.

mod at_rest;
mod big_pages;
mod hand_over;
mod hidden_tab;
mod libraries;
mod options;
mod rules;
mod truth;
mod walks;

use e2e::{Browser, Era, McpClient, PageToolsSite, TestBed, Transport};
use serde_json::{Value, json};

/// A page with page tools, and a client.
struct ToolsPage {
    client: McpClient,
    browser: Browser,
    site: PageToolsSite,
    _bed: TestBed,
}

impl ToolsPage {
    /// Opens a page. `options` is the JavaScript of the options of `enablePageTools`.
    async fn open_with(path: &str, options: &str) -> Self {
        let bed = TestBed::bridge().await;
        let site = PageToolsSite::start(&bed, options).await;
        let browser = Browser::open().await;
        browser.goto(&site.page(path)).await;
        browser.wait_for("window.pageToolsReady").await;
        let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
        Self {
            client,
            browser,
            site,
            _bed: bed,
        }
    }

    async fn open(path: &str) -> Self {
        Self::open_with(path, "").await
    }

    /// Opens another page in the tab.
    async fn goto(&self, path: &str) {
        self.browser.goto(&self.site.page(path)).await;
        self.browser.wait_for("window.pageToolsReady").await;
    }

    async fn call(&self, tool: &str, arguments: Value) -> Answer {
        call(&self.client, tool, arguments).await
    }

    async fn interact(&self, actions: Value) -> Answer {
        self.call("interact", json!({ "actions": actions })).await
    }

    /// Does all actions, also after one that failed.
    async fn interact_all(&self, actions: Value) -> Answer {
        let arguments = json!({ "actions": actions, "onError": "continue" });
        self.call("interact", arguments).await
    }

    async fn snapshot(&self) -> String {
        self.call("page_snapshot", json!({})).await.text()
    }
}

/// The answer of a tool.
#[derive(Debug, Clone)]
struct Answer(Value);

async fn call(client: &McpClient, tool: &str, arguments: Value) -> Answer {
    let result = client.call(tool, arguments).await.unwrap();
    Answer(serde_json::to_value(result).unwrap())
}

impl Answer {
    /// Returns all texts, one after the other.
    fn text(&self) -> String {
        let blocks = self.0["content"].as_array().into_iter().flatten();
        let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
        texts.join("\n")
    }

    /// Returns the facts for programs.
    fn facts(&self) -> &Value {
        &self.0["_meta"]["mcp-web/page"]
    }

    /// Returns the code of an action that failed, and null of one that did not.
    fn code(&self, action: usize) -> &Value {
        &self.facts()["log"][action]["code"]
    }

    fn is_error(&self) -> bool {
        self.0["isError"] == true
    }
}

/// Returns the handle of the element that a line of a page's text shows.
fn ref_of(text: &str, start: &str) -> String {
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with(start));
    let line = line.unwrap_or_else(|| panic!("no line starts with {start:?}:\n{text}"));
    let handle = line
        .split("[ref=")
        .nth(1)
        .and_then(|rest| rest.split(']').next());
    handle
        .unwrap_or_else(|| panic!("no handle: {line}"))
        .to_owned()
}
