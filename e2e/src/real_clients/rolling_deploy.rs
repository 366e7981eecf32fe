//! Several bridges that are replaced one after the other while a client uses them.

use std::collections::BTreeMap;

use serde_json::json;

use super::{ClientRow, ClientStep, ClientTier, StepResult};
use crate::request_tap::RequestTap;
use crate::{BridgeEndpoint, Browser, ClusterBed, StaticSite};

/// How many bridges there are.
const BRIDGES: usize = 3;

/// How long a bridge may take to end. It closes what does nothing in the first third of it.
const DRAIN_TIMEOUT: &str = "6s";

/// How many calls a client makes before and after the deploy.
const CALLS: usize = 10;

/// Three bridges behind a balancer, and the page of the journeys, which has the tool `echo`, in Chromium.
/// Clients reach the balancer through a tap.
#[derive(Debug)]
pub struct RollingDeploy {
    cluster: ClusterBed,
    tap: RequestTap,
    browser: Browser,
    /// How many requests had opened an MCP session when the deploy began.
    opened: usize,
    _site: StaticSite,
}

impl RollingDeploy {
    /// Starts the bridges, opens the page and waits until its tools are registered.
    pub async fn start() -> Self {
        let arguments = ["--drain-timeout", DRAIN_TIMEOUT];
        let cluster = ClusterBed::start_with(BRIDGES, &arguments).await;
        let (site, browser) = (StaticSite::start().await, Browser::open().await);
        browser.goto(&site.app(&cluster)).await;
        browser.wait_for("journey.ready").await;
        Self {
            tap: RequestTap::start(cluster.balancer().address()).await,
            cluster,
            browser,
            opened: 0,
            _site: site,
        }
    }

    /// Waits until the page has run ten more calls of `echo`.
    pub async fn wait_for_calls(&self) {
        let calls = self.echoed().await.len() + CALLS;
        let condition = format!("journey.echoed.length >= {calls}");
        self.browser.wait_for(&condition).await;
    }

    /// Ends each bridge as an operator does, and starts it again.
    pub async fn replace_all(&mut self) {
        self.opened = self.initialize_count();
        for node in 0..BRIDGES {
            self.cluster.drain(node);
            self.cluster.wait_until_ended(node).await;
            self.cluster.restart(node).await;
        }
    }

    /// Saves the row of a client, from the ids of its calls that were answered and the errors of those that
    /// failed.
    ///
    /// # Panics
    /// Panics if a call has failed, has run twice, or was answered without having run, or if the client has
    /// opened another MCP session during the deploy.
    pub async fn finish(self, row: ClientRow, answered: &[u64], failed: &[String], name: &str) {
        let mut runs = BTreeMap::new();
        for id in self.echoed().await {
            *runs.entry(id).or_insert(0) += 1;
        }
        let repeated: Vec<_> = runs.iter().filter(|(_, count)| **count > 1).collect();
        let false_answers: Vec<_> = answered
            .iter()
            .filter(|id| !runs.contains_key(id))
            .collect();
        let reopened = self.initialize_count() - self.opened;
        let is_unnoticed = failed.is_empty()
            && repeated.is_empty()
            && false_answers.is_empty()
            && answered.len() >= 2 * CALLS
            && reopened == 0;
        let result = if is_unnoticed {
            StepResult::Works
        } else {
            StepResult::Failed(format!(
                "{} calls answered, {} failed: {:?}, ran more than once: {repeated:?}, answered without \
                 having run: {false_answers:?}, {reopened} other MCP sessions",
                answered.len(),
                failed.len(),
                &failed[..failed.len().min(3)],
            ))
        };
        let mut row = row.in_tier(ClientTier::RollingDeploy);
        row.set(ClientStep::Call, result);
        row.finish(name);
    }

    fn initialize_count(&self) -> usize {
        self.tap.count("\"initialize\"")
    }

    /// Returns the ids of all calls that the page has run.
    async fn echoed(&self) -> Vec<u64> {
        let echoed = self
            .browser
            .eval("return journey.echoed", json!(null))
            .await;
        serde_json::from_value(echoed).unwrap()
    }
}

impl BridgeEndpoint for RollingDeploy {
    fn url(&self) -> String {
        format!("http://{}", self.tap.address())
    }

    fn token(&self) -> &str {
        self.cluster.token()
    }
}
