//! The page for real clients: `e2e/pages/clients.js`.

use serde_json::json;

use super::{ClientStep, ClientTier};
use crate::{BridgeEndpoint, Browser, ClusterBed, StaticSite, TestBed};

/// How long the page may still see a client that has ended its session before it exited.
const LEAVE_TIMEOUT_MS: u64 = 3_000;

/// The node that serves the page, and the node of the clients, of [`ClientTier::AnotherBridge`].
const PAGE_NODE: usize = 0;
const CLIENT_NODE: usize = 1;

/// The requests that a node has passed on to another one.
const FORWARDS: &str = "mcp_web_cluster_forwards_total{outcome=\"ok\"}";

/// A bridge or several, and a page with a tool for each feature of clients.
#[derive(Debug)]
pub struct ClientsApp {
    bridges: Bridges,
    /// The page.
    pub browser: Browser,
    _site: StaticSite,
}

#[derive(Debug)]
enum Bridges {
    One(Box<TestBed>),
    Several(Box<ClusterBed>),
}

impl ClientsApp {
    /// Starts the bridges of a tier, opens the page and waits until its tools are registered.
    pub async fn open(tier: ClientTier) -> Self {
        let bridges = match tier {
            ClientTier::EachRun | ClientTier::Further => {
                Bridges::One(Box::new(TestBed::bridge().await))
            }
            ClientTier::AnotherBridge => Bridges::Several(Box::new(ClusterBed::start(2).await)),
            ClientTier::RollingDeploy => panic!("a rolling deploy has its own page"),
        };
        let (site, browser) = (StaticSite::start().await, Browser::open().await);
        browser.goto(&site.clients_page(bridges.of_page())).await;
        browser.wait_for("app.ready").await;
        Self {
            bridges,
            browser,
            _site: site,
        }
    }

    /// Returns the bridge that clients connect to.
    pub fn bed(&self) -> &TestBed {
        match &self.bridges {
            Bridges::One(bed) => bed,
            Bridges::Several(cluster) => cluster.node(CLIENT_NODE),
        }
    }

    /// Checks that the bridge of the clients passed their requests on, if it does not serve the page.
    ///
    /// # Panics
    /// Panics if it served them itself, or if the bridge of the page passed any on.
    pub async fn assert_forwarded(&self) {
        let Bridges::Several(cluster) = &self.bridges else {
            return;
        };
        let forwards = cluster.metric(CLIENT_NODE, FORWARDS).await;
        assert!(
            forwards >= ClientStep::BASIC.len() as f64,
            "each basic step sends a request: {forwards}"
        );
        assert_eq!(cluster.metric(PAGE_NODE, FORWARDS).await, 0.0);
        let owner = cluster.owner(cluster.token(), CLIENT_NODE).await;
        assert_eq!(owner, PAGE_NODE);
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

impl Bridges {
    fn of_page(&self) -> &TestBed {
        match self {
            Self::One(bed) => bed,
            Self::Several(cluster) => cluster.node(PAGE_NODE),
        }
    }
}
