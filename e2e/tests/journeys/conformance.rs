//! The official conformance suites, against tools, prompts and resources that live in a tab of
//! Chromium: over HTTP, and through `mcp-web-stdio` behind the kit's adapter.

use std::io::Write as _;

use e2e::conformance::{Exception, Judgement, Suite};
use e2e::{Adapter, Browser, Leg, Site, TokenProxy, World, tools};
use tokio::process::Command;

#[tokio::test]
async fn suite_0_1_over_http() {
    passes(Suite::V0_1, Leg::Http, 32, &[]).await;
}

#[tokio::test]
async fn requirements_of_2025_11_25_over_http() {
    passes(Suite::V0_2_OF_2025_11_25, Leg::Http, 33, &[]).await;
}

#[tokio::test]
async fn requirements_of_2026_07_28_over_http() {
    passes(Suite::V0_2_OF_2026_07_28, Leg::Http, 50, &NO_TASKS).await;
}

#[tokio::test]
async fn suite_0_1_over_stdio() {
    passes(Suite::V0_1, Leg::Stdio, 32, &[]).await;
}

#[tokio::test]
async fn requirements_of_2025_11_25_over_stdio() {
    passes(Suite::V0_2_OF_2025_11_25, Leg::Stdio, 33, &[]).await;
}

#[tokio::test]
async fn requirements_of_2026_07_28_over_stdio() {
    passes(Suite::V0_2_OF_2026_07_28, Leg::Stdio, 50, &NO_TASKS).await;
}

/// The extension `io.modelcontextprotocol/tasks` is not offered. Its scenarios are not scored.
const NO_TASKS: [Exception; 10] = [
    no_tasks("tasks-lifecycle"),
    no_tasks("tasks-capability-negotiation"),
    no_tasks("tasks-wire-fields"),
    no_tasks("tasks-request-state-removal"),
    no_tasks("tasks-mrtr-input"),
    no_tasks("tasks-request-headers"),
    no_tasks("tasks-dispatch-and-envelope"),
    no_tasks("tasks-status-notifications"),
    no_tasks("tasks-required-task-error"),
    no_tasks("tasks-mrtr-composition"),
];

const fn no_tasks(scenario: &'static str) -> Exception {
    Exception {
        scenario,
        check: "*",
        judgement: Judgement::Fails,
        reason: "the optional extension for tasks is not offered",
    }
}

/// `scenarios` is how many there are in the suite: with none of them gone unnoticed.
async fn passes(suite: Suite, leg: Leg, scenarios: usize, exceptions: &[Exception]) {
    let world = World::bridge().await;
    let site = Site::start().await;
    let browser = Browser::open().await;
    browser.goto(&site.conformance(&world)).await;
    browser.wait_for("conformance.ready").await;

    let report = match leg {
        // The suites cannot send a header of ours, and drop the query of the URL at times.
        Leg::Http => {
            let proxy = TokenProxy::start(&world).await;
            suite.run(&proxy.mcp_url()).await
        }
        Leg::Stdio => {
            let adapter = stdio(&world).await;
            suite.run(adapter.url()).await
        }
    };

    // `print!` is held back by the test harness, and the counts are to be seen.
    let summary = report.summary(&format!("{}, {leg:?}", suite.name()), exceptions);
    std::io::stdout().write_all(summary.as_bytes()).unwrap();
    let complaints = report.complaints(exceptions);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert_eq!(report.scenarios.len(), scenarios, "every scenario ran");
}

async fn stdio(world: &World) -> Adapter {
    let (url, token) = (world.mcp_url(), world.token().to_owned());
    Adapter::start(move || {
        let mut command = Command::new(tools::built("mcp-web-stdio"));
        command
            .env("MCP_SERVER_URL", &url)
            .env("AUTH_TOKEN", &token);
        command
    })
    .await
}
