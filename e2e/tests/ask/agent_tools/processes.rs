//! The processes of MCP servers: killed, and at the end of the agent.

use std::time::Duration;

use e2e::{poll_pause, with_deadline};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{ToolsFolder, calls, descendants, finished, start};
use crate::test_bed::{QueryEvents, QueryTestBed, adding_tool, query};

const ANYONE: &str = "[profiles.anyone]\nself_made = true\nallow = ['mcp-everything-*', 'mcp-time-*']\n\
                      grant = ['read']\n";

async fn start_servers(folder: &ToolsFolder) -> QueryTestBed {
    let script = calls(&[
        (
            "mcp-time-get_current_time",
            json!({ "timezone": "Europe/Berlin" }),
        ),
        ("mcp-everything-echo", json!({ "message": "hello" })),
    ]);
    start(folder, script, &[]).await
}

async fn use_servers(bed: &QueryTestBed, uuid: &str) -> QueryEvents {
    let page = bed.page(vec![adding_tool(1)]).await;
    let events = QueryEvents::run(&page, query(uuid, "Say hello")).await;
    let echo = finished(&events, "mcp-everything-echo");
    assert_eq!(echo["result"], "Echo: hello", "{events:?}");
    events
}

/// Waits until none of these processes runs.
async fn wait_for_end(pids: &[u32]) {
    let runs = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    with_deadline("the end of the servers", async {
        while pids.iter().any(runs) {
            poll_pause().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_killed_server_is_started_again_by_the_next_call() {
    let folder = ToolsFolder::new(ANYONE).await;
    let bed = start_servers(&folder).await;
    use_servers(&bed, "q-1").await;
    let servers = descendants(bed.agent.process_id());
    assert!(
        servers.len() >= 4,
        "two guards and two servers: {servers:?}"
    );
    for pid in &servers {
        let pid = Pid::from_raw(pid.cast_signed()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
    wait_for_end(&servers).await;
    use_servers(&bed, "q-2").await;
}

#[tokio::test]
async fn no_server_is_left_when_the_agent_stops_or_is_killed() {
    for signal in [Signal::TERM, Signal::KILL] {
        let folder = ToolsFolder::new(ANYONE).await;
        let bed = start_servers(&folder).await;
        use_servers(&bed, "q-1").await;
        let agent = bed.agent.process_id();
        let servers = descendants(agent);
        assert!(servers.len() >= 4, "{servers:?}");
        let started = std::time::Instant::now();
        kill_process(Pid::from_raw(agent.cast_signed()).unwrap(), signal).unwrap();
        wait_for_end(&[&servers[..], &[agent]].concat()).await;
        let duration = started.elapsed();
        println!("{signal:?}: nothing is left after {duration:?}");
        assert!(
            duration < Duration::from_secs(5),
            "{signal:?}: {duration:?}"
        );
    }
}
