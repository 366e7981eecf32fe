//! The cost of calls of the agent's own tools, as the agent's metrics have it: with everything that
//! their policy checks and their audit records.

use std::fmt;
use std::path::Path;

use bridge_protocol::{BridgeToPage, Query};
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::json;
use tempfile::TempDir;

use crate::clients::http;
use crate::{
    AgentEndpoint, AgentService, Format, MockProvider, NativePage, Script, Turn, program_paths,
    with_deadline,
};

/// The time of calls of one source.
#[derive(Clone, Debug, Serialize)]
pub struct SourceCallCost {
    /// The name of the source.
    pub source: String,
    /// The number of users who asked at the same time.
    pub users: usize,
    /// The number of calls.
    pub calls: u64,
    /// The lowest bound of the metrics that half of the calls do not exceed, in milliseconds.
    pub p50_below_ms: f64,
    /// The same for 95 of 100 calls, in milliseconds.
    pub p95_below_ms: f64,
    /// The same for all calls, in milliseconds.
    pub max_below_ms: f64,
}

/// Calls files and a tool of an MCP server over stdio, from users who each send this many queries.
pub async fn measure_source_calls(users: usize, queries: usize) -> Vec<SourceCallCost> {
    let folder = tools_folder();
    let script = Script::new([
        Turn::default()
            .call("notes-list_directory", json!({ "path": "notes" }))
            .call("mcp-everything-echo", json!({ "message": "hello" })),
        Turn::from_text("Done."),
    ]);
    let provider = MockProvider::start(script).await;
    let endpoint = AgentEndpoint::reserve();
    let mut bridge = endpoint.start_bridge(&[]).await;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (tools, audit) = (path("tools.toml"), path("audit.jsonl"));
    let arguments = ["--tools-file", &tools, "--audit-file", &audit];
    let agent =
        AgentService::start(&endpoint, &bridge, &provider, Format::OpenAi, &arguments).await;
    let mut pages = Vec::new();
    for user in 0..users {
        bridge.set_token(format!("the-token-of-user-{user}-0123456789"));
        pages.push(NativePage::open(&bridge, "board", Vec::new()).await);
    }
    // The first query starts the server, and is not measured.
    ask(&pages[0], "first".to_owned()).await;
    let before = durations(&endpoint).await;
    let asking = pages.iter().enumerate().map(|(user, page)| async move {
        for number in 0..queries {
            ask(page, format!("q-{user}-{number}")).await;
        }
    });
    join_all(asking).await;
    agent.wait_until_idle().await;
    let after = durations(&endpoint).await;
    let cost = |source: &str| cost(source, users, &before, &after);
    vec![cost("notes"), cost("mcp-everything")]
}

fn tools_folder() -> TempDir {
    let folder = TempDir::with_prefix("mcp-web-tools-").unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    write("notes/plan.md", "Buy milk".to_owned());
    let tools = "[sources.notes]\ntype = 'filesystem'\nroots = { notes = 'notes' }\n\n\
                 [mcp]\nfile = 'mcp-servers.json'\n\n[profiles.all]\nself_made = true\n\
                 allow = ['*']\ngrant = ['read']\nrate = { read = '1000000/s' }\n";
    write("tools.toml", tools.to_owned());
    let command = program_paths::mcp_server("mcp-server-everything");
    let servers = json!({ "mcpServers": { "everything": { "command": command } } });
    write("mcp-servers.json", servers.to_string());
    pin(folder.path());
    folder
}

/// Pins the tools of the server, so that the first query has them.
fn pin(folder: &Path) {
    let mut command = std::process::Command::new(program_paths::built("mcp-web-agent"));
    let file = folder.join("mcp-servers.json");
    let output = command.args(["mcp", "sync", "--file"]).arg(file).output();
    assert!(output.unwrap().status.success(), "the tools can be pinned");
}

/// Sends a query, and waits for its end.
async fn ask(page: &NativePage, uuid: String) {
    page.send_query(Query::new(uuid, "Look".to_owned())).await;
    loop {
        match page.next_query_message().await.1 {
            BridgeToPage::QueryAccepted(_) | BridgeToPage::QueryProgress(_) => {}
            BridgeToPage::QueryComplete(complete) => {
                assert_eq!(complete.tool_calls.len(), 2);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the metrics of the agent.
async fn durations(endpoint: &AgentEndpoint) -> String {
    let request = http()
        .get(format!("{}/metrics", endpoint.url()))
        .bearer_auth(endpoint.token());
    let answer = async { request.send().await?.text().await };
    with_deadline("the metrics of the agent", answer)
        .await
        .unwrap()
}

/// Returns how many calls of a source took at most how many seconds.
fn buckets(source: &str, metrics: &str) -> Vec<(f64, u64)> {
    let name = "mcp_web_agent_tool_call_duration_seconds_bucket{le=\"";
    let lines = metrics.lines().filter_map(|line| line.strip_prefix(name));
    let parse = |line: &str| {
        let (bound, rest) = line.split_once('"')?;
        let (labels, count) = rest.split_once("} ")?;
        let is_of_source = labels.contains(&format!("source=\"{source}\""));
        let bound = bound.parse().unwrap_or(f64::INFINITY);
        is_of_source.then(|| (bound, count.trim().parse().unwrap_or(0)))
    };
    lines.filter_map(parse).collect()
}

fn cost(source: &str, users: usize, before: &str, after: &str) -> SourceCallCost {
    let (before, after) = (buckets(source, before), buckets(source, after));
    let earlier = |bound: f64| before.iter().find(|it| it.0 == bound).map_or(0, |it| it.1);
    let counts = after
        .iter()
        .map(|(bound, count)| (*bound, count - earlier(*bound)));
    let counts: Vec<_> = counts.collect();
    let calls = counts.last().map_or(0, |(_, count)| *count);
    let below = |share: f64| {
        let needed = (calls as f64 * share).ceil() as u64;
        let bound = counts.iter().find(|(_, count)| *count >= needed);
        bound.map_or(f64::INFINITY, |(bound, _)| bound * 1000.0)
    };
    SourceCallCost {
        source: source.to_owned(),
        users,
        calls,
        p50_below_ms: below(0.5),
        p95_below_ms: below(0.95),
        max_below_ms: below(1.0),
    }
}

impl fmt::Display for SourceCallCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} calls of {} users: half within {} ms, 95 % within {} ms, all within {} ms",
            self.source,
            self.calls,
            self.users,
            self.p50_below_ms,
            self.p95_below_ms,
            self.max_below_ms
        )
    }
}
