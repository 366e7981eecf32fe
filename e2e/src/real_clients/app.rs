//! The page that clients are driven against: `e2e/pages/clients.js`.

use serde_json::json;

use crate::{Browser, StaticSite, TestBed};

/// A client that says that it leaves has said so before it ended.
const LEAVE_TIMEOUT_MS: u64 = 3_000;

/// A bridge, and a page with a tool for each thing that a client can do.
#[derive(Debug)]
pub struct ClientsApp {
    /// The bridge.
    pub world: TestBed,
    /// The page.
    pub browser: Browser,
    _site: StaticSite,
}

impl ClientsApp {
    /// Starts the bridge, opens the page and waits until its tools are registered.
    pub async fn open() -> Self {
        let (world, site) = (TestBed::bridge().await, StaticSite::start().await);
        let browser = Browser::open().await;
        browser.goto(&site.clients_page(&world)).await;
        browser.wait_for("app.ready").await;
        Self {
            world,
            browser,
            _site: site,
        }
    }

    /// The notes in the page.
    pub async fn notes(&self) -> Vec<String> {
        let notes = self.browser.eval("return app.notes", json!(null)).await;
        serde_json::from_value(notes).unwrap()
    }

    /// Waits until a call of `hang` has begun.
    pub async fn wait_for_hanging_call(&self) {
        self.browser.wait_for("app.started > 0").await;
    }

    /// Waits until the page has heard that a call of `hang` was cancelled.
    pub async fn wait_for_cancel(&self) {
        self.browser.wait_for("app.cancelled > 0").await;
    }

    /// Whether the page sees no client any more, within a few seconds.
    pub async fn is_without_clients(&self) -> bool {
        let look = "const end = performance.now() + args;
            while (app.mcpWeb.clients.length > 0 && performance.now() < end) {
              await new Promise((resolve) => setTimeout(resolve, 15)); // sleep: between two looks at the page
            }
            return app.mcpWeb.clients.length === 0;";
        self.browser.eval(look, json!(LEAVE_TIMEOUT_MS)).await == true
    }
}
