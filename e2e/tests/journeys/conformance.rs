//! The official conformance suites, against tools, prompts and resources of a page in Chromium:
//! over HTTP, and through `mcp-web-stdio` with the adapter of this crate.

use std::io::Write as _;

use e2e::conformance::{Exception, ExceptionEffect, Suite};
use e2e::{Adapter, AuthProxy, Browser, StaticSite, TestBed, Transport, program_paths};
use tokio::process::Command;

#[tokio::test]
async fn suite_0_1_over_http() {
    run_suite(Suite::V0_1, Transport::Http, (32, 45), &[]).await;
}

#[tokio::test]
async fn requirements_of_2025_11_25_over_http() {
    run_suite(Suite::V0_2_OF_2025_11_25, Transport::Http, (33, 69), &[]).await;
}

#[tokio::test]
async fn requirements_of_2026_07_28_over_http() {
    run_suite(
        Suite::V0_2_OF_2026_07_28,
        Transport::Http,
        (50, 120),
        &NO_TASKS,
    )
    .await;
}

#[tokio::test]
async fn suite_0_1_over_stdio() {
    run_suite(
        Suite::V0_1,
        Transport::Stdio,
        (32, 41),
        &[NO_HOST, NO_STREAMS],
    )
    .await;
}

#[tokio::test]
async fn requirements_of_2025_11_25_over_stdio() {
    let exceptions = [NO_HOST, NO_STREAMS, NO_SESSIONS];
    run_suite(
        Suite::V0_2_OF_2025_11_25,
        Transport::Stdio,
        (33, 67),
        &exceptions,
    )
    .await;
}

#[tokio::test]
async fn requirements_of_2026_07_28_over_stdio() {
    let exceptions = [NO_TASKS.as_slice(), &[NO_HOST], &NO_HEADERS].concat();
    run_suite(
        Suite::V0_2_OF_2026_07_28,
        Transport::Stdio,
        (50, 117),
        &exceptions,
    )
    .await;
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

const NO_HOST: Exception = not_applicable(
    "dns-rebinding-protection",
    "*",
    "Host and Origin are headers of HTTP: only the adapter has them, and a page of another site \
     cannot reach a pipe",
);

const NO_STREAMS: Exception = not_applicable(
    "server-sse-polling",
    "*",
    "the adapter makes the event streams: a pipe cannot be lost and resumed",
);

const NO_SESSIONS: Exception = not_applicable(
    "server-session-lifecycle",
    "*",
    "the adapter has the MCP sessions: over stdio the connection is the session",
);

const NO_HEADERS: [Exception; 3] = [
    not_applicable(
        "http-header-validation",
        "*",
        "only the adapter sees headers, and does not look at these",
    ),
    not_applicable(
        "http-custom-header-server-validation",
        "*",
        "only the adapter sees headers, and does not look at these",
    ),
    not_applicable(
        "server-stateless",
        "sep-2575-http-server-header-mismatch-400",
        "only the adapter sees headers: it makes this answer itself",
    ),
];

const fn no_tasks(scenario: &'static str) -> Exception {
    Exception {
        scenario,
        check: "*",
        effect: ExceptionEffect::Fails,
        reason: "the optional extension for tasks is not offered",
    }
}

const fn not_applicable(
    scenario: &'static str,
    check: &'static str,
    reason: &'static str,
) -> Exception {
    Exception {
        scenario,
        check,
        effect: ExceptionEffect::NotApplicable,
        reason,
    }
}

/// A check that only exists if `tools/list` is answered with a stream. The bridge answers with a body once
/// the service of the MCP session has taken `notifications/initialized`, and with a stream before.
const OF_STREAMS: &str = "server-sse-streams-functional";

/// Runs a suite. `expected` is the number of scenarios, and of passed checks in those that are
/// scored, without [`OF_STREAMS`].
async fn run_suite(
    suite: Suite,
    transport: Transport,
    expected: (usize, usize),
    exceptions: &[Exception],
) {
    let bed = TestBed::bridge().await;
    let site = StaticSite::start().await;
    let browser = Browser::open().await;
    browser.goto(&site.conformance(&bed)).await;
    browser.wait_for("conformance.ready").await;

    let report = match transport {
        // The suites cannot send an `Authorization` header, and sometimes drop the query of the
        // URL.
        Transport::Http => {
            let proxy = AuthProxy::start(&bed).await;
            suite.run(&proxy.mcp_url()).await
        }
        Transport::Stdio => {
            let adapter = stdio_adapter(&bed).await;
            suite.run(adapter.url()).await
        }
    };

    // The test harness captures `print!`, but these counts should always be visible.
    let suffix = match transport {
        Transport::Http => "over HTTP",
        Transport::Stdio => "over stdio",
    };
    let summary = report.summary(&format!("{} {suffix}", suite.name()), exceptions);
    std::io::stdout().write_all(summary.as_bytes()).unwrap();
    let problems = report.problems(exceptions);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let passed = report.passed(exceptions) - usize::from(report.has_passed(OF_STREAMS));
    let found = (report.scenarios.len(), passed);
    assert_eq!(found, expected, "no scenario or check is missing");
}

async fn stdio_adapter(bed: &TestBed) -> Adapter {
    let (url, token) = (bed.mcp_url(), bed.token().to_owned());
    Adapter::start(move || {
        let mut command = Command::new(program_paths::built("mcp-web-stdio"));
        command
            .env("MCP_SERVER_URL", &url)
            .env("AUTH_TOKEN", &token);
        command
    })
    .await
}
