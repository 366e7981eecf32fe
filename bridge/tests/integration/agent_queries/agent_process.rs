//! An agent that the bridge runs as a child process. A shell script, which prints the address of
//! the mock agent, replaces the program.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use bridge::ServerHandle;
use tempfile::TempDir;
use tokio::process::Command;

use super::{query_message, recv_query_event};
use crate::kit::mock_agent::MockAgent;
use crate::kit::*;

/// A bridge with the script that it runs as its agent.
struct AgentScript {
    folder: TempDir,
    bridge: ServerHandle,
    address: String,
}

impl AgentScript {
    async fn start(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        let script = format!("#!/bin/sh\ncd '{}'\n{script}", folder.path().display());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut config = test_config();
        config.agent.run_agent = true;
        config.agent.own_program = Some(path);
        let bridge = start_bridge_with(config).await;
        let address = bridge.local_addr().to_string();
        Self {
            folder,
            bridge,
            address,
        }
    }

    /// Waits until the script was started `count` times, and returns the line that each start has
    /// written.
    async fn starts(&self, count: usize) -> Vec<String> {
        let file = self.folder.path().join("starts");
        let starts = async {
            loop {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let lines: Vec<_> = text.lines().map(str::to_owned).collect();
                if lines.len() >= count && text.ends_with('\n') {
                    return lines;
                }
                poll_pause().await;
            }
        };
        with_deadline("start of the agent", starts).await
    }
}

/// A script that records its arguments, prints the address of the agent, and ends with its stdin.
fn agent_script(address: &str) -> String {
    format!(
        "echo $$ \"$MCP_WEB_AGENT_TOKEN\" \"$@\" >> starts\n\
         echo 'listening on http://{address}/query'\n\
         exec cat > /dev/null\n"
    )
}

async fn wait_for_exit(process: &str) {
    let proc = Path::new("/proc").join(process);
    let exited = async {
        while proc.exists() {
            poll_pause().await;
        }
    };
    with_deadline("end of the agent", exited).await;
}

async fn kill(process: &str) {
    let killed = Command::new("kill").args(["-KILL", process]).status();
    assert!(killed.await.unwrap().success());
}

#[tokio::test]
async fn the_bridge_starts_restarts_and_stops_its_agent() {
    let mut agent = MockAgent::start().await;
    let program = AgentScript::start(&agent_script(&agent.address)).await;
    let start = program.starts(1).await.remove(0);
    let [process, token, arguments] = {
        let mut fields = start.splitn(3, ' ').map(str::to_owned);
        [(); 3].map(|()| fields.next().unwrap())
    };
    let bridge = &program.address;
    let expected = format!("agent --bind 127.0.0.1:0 --bridge-url http://{bridge}");
    assert_eq!((arguments, token.len()), (expected, 64));

    let mut page = Page::connect_to(&program.address, "asks", TOKEN).await;
    page.send_json(query_message("one")).await;
    let request = agent.next_request().await;
    assert_eq!(request.headers["authorization"], format!("Bearer {token}"));
    let events = request.respond_with_stream().await;
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");

    kill(&process).await;
    wait_for_exit(&process).await;
    // The agent's running queries end with their streams.
    drop(events);
    assert_eq!(
        recv_query_event(&mut page).await["code"],
        "AgentUnavailable"
    );
    agent.next_request().await.respond(404);
    let restart = program.starts(2).await.remove(1);
    page.send_json(query_message("two")).await;
    agent.next_request().await.respond(200);
    assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");

    // The request is dropped, so that the bridge does not wait for a response.
    let cancelled = async { agent.next_request().await.method };
    let stopped = async { tokio::join!(program.bridge.shutdown(), cancelled) };
    let ((), method) = with_deadline("end of the bridge", stopped).await;
    assert_eq!(method.as_str(), "DELETE");
    wait_for_exit(restart.split(' ').next().unwrap()).await;
}

#[tokio::test]
async fn an_agent_that_exits_with_invalid_settings_is_not_restarted() {
    let program = AgentScript::start("echo start >> starts\nexit 2\n").await;
    program.starts(1).await;
    let mut page = Page::connect_to(&program.address, "asks", TOKEN).await;
    page.send_json(query_message("one")).await;
    let failure = recv_query_event(&mut page).await;
    let error = "The agent that the bridge runs cannot start";
    assert_eq!(
        (&failure["error"], &failure["code"]),
        (&error.into(), &"AgentUnavailable".into())
    );
    assert_eq!(program.starts(1).await.len(), 1);
}

#[tokio::test]
async fn run_agent_and_agent_url_exclude_each_other() {
    let agent = MockAgent::start().await;
    let mut config = agent.config();
    config.agent.run_agent = true;
    let error = start_error(config).await.to_string();
    assert!(
        error.contains("run_agent") && error.contains("agent_url"),
        "{error}"
    );
}

#[tokio::test]
async fn run_agent_without_a_program_prevents_startup() {
    let mut config = test_config();
    config.agent.run_agent = true;
    let error = start_error(config).await.to_string();
    assert!(error.contains("`own_program`"), "{error}");
}

#[tokio::test]
async fn a_local_agent_is_called_with_the_shared_credential() {
    let mut agent = MockAgent::start().await;
    let home = TempDir::new().unwrap();
    let mut process = bridge_program()
        .args(["--bind", "127.0.0.1:0", "--agent-url", &agent.address])
        .env("XDG_CONFIG_HOME", home.path())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let url = listening_url(&mut process).await;
    let address = url.strip_prefix("http://").unwrap();
    let secret = std::fs::read_to_string(home.path().join("mcp-web/agent-token")).unwrap();
    let mut page = Page::connect_to(address, "asks", TOKEN).await;
    page.send_json(query_message("one")).await;
    let request = agent.next_request().await;
    assert_eq!(
        request.headers["authorization"],
        format!("Bearer {}", secret.trim())
    );
    request.respond(200);
    process.kill().await.unwrap();
}
