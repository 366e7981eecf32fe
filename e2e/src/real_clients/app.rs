//! The page for real clients: `e2e/pages/clients.js`.

use serde_json::json;

use crate::{Browser, StaticSite, TestBed};

/// How long the page may still see a client that has ended its session before it exited.
const LEAVE_TIMEOUT_MS: u64 = 3_000;

/// A bridge, and a page with a tool for each feature of clients.
#[derive(Debug)]
pub struct ClientsApp {
    /// The bridge.
    pub bed: TestBed,
    /// The page.
    pub browser: Browser,
    _site: StaticSite,
}

impl ClientsApp {
    /// Starts the bridge, opens the page and waits until its tools are registered.
    pub async fn open() -> Self {
        let (bed, site) = (TestBed::bridge().await, StaticSite::start().await);
        let browser = Browser::open().await;
        browser.goto(&site.clients_page(&bed)).await;
        browser.wait_for("app.ready").await;
        Self {
            bed,
            browser,
            _site: site,
        }
    }

    /// Returns the notes that the page has.
    pub async fn notes(&self) -> Vec<String> {
        let notes = self.browser.eval("return app.notes", json!(null)).await;
        serde_json::from_value(notes).unwrap()
    }

    /// Waits until a call of `hang` has started.
    pub async fn wait_for_hanging_call(&self) {
        self.browser.wait_for("app.started > 0").await;
    }

    /// Waits until a call of `hang` has been cancelled in the page.
    pub async fn wait_for_cancel(&self) {
        self.browser.wait_for("app.cancelled > 0").await;
    }

    /// Returns whether the page sees no client any more within 3 seconds.
    pub async fn is_without_clients(&self) -> bool {
        let condition = "const end = performance.now() + args;
            while (app.mcpWeb.clients.length > 0 && performance.now() < end) {
await new Promise((resolve) => setTimeout(resolve, 15)); // sleep: between two checks of the page
            }
            return app.mcpWeb.clients.length === 0;";
        self.browser.eval(condition, json!(LEAVE_TIMEOUT_MS)).await == true
    }
}
