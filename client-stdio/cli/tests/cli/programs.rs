//! `bridge`, `agent`, `demo` and `admin`.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::kit::*;

const BRIDGE: [&str; 3] = ["bridge", "--bind", "127.0.0.1:0"];

#[tokio::test]
async fn the_bridge_listens_and_is_healthy() {
    let (child, url) = start(program(&BRIDGE), "listening on ").await;
    let health = get(&format!("{url}/healthz"), "*/*").await;
    assert!(!health.is_empty());
    #[cfg(unix)]
    stop(child).await;
    #[cfg(not(unix))]
    drop(child);
}

#[tokio::test]
async fn the_bridge_runs_this_program_as_its_agent() {
    let mut command = program(&[&BRIDGE[..], &["--run-agent"]].concat());
    command.env("MCP_WEB_AGENT_PROVIDER", "commands");
    let home = tempfile::tempdir().unwrap();
    command
        .env("HOME", home.path())
        .env("USERPROFILE", home.path());
    let mut child = command.spawn().unwrap();
    let log = child.stderr.take().unwrap();
    wait_for_text(log, "the agent listens on http://127.0.0.1:").await;
    #[cfg(target_os = "linux")]
    {
        let agents = children(child.id().unwrap());
        let [agent] = &agents[..] else {
            panic!("{agents:?}");
        };
        let is_this_program = format!("{PROGRAM}\0agent\0--bind\0");
        assert!(agent.starts_with(&is_this_program), "{agent:?}");
    }
    drop(child);
}

/// The command lines of the children of a process.
#[cfg(target_os = "linux")]
fn children(process: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let children = threads.flat_map(|thread| {
        let path = thread.unwrap().path().join("children");
        let ids = std::fs::read_to_string(path).unwrap_or_default();
        ids.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    children
        .map(|id| std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap())
        .collect()
}

#[tokio::test]
async fn the_agent_listens_on_its_own_port() {
    let arguments = ["agent", "--provider", "commands", "--bind", "127.0.0.1:0"];
    let home = tempfile::tempdir().unwrap();
    let mut command = program(&arguments);
    command.env("HOME", home.path()).env("APPDATA", home.path());
    let (child, url) = start(command, "listening on http://127.0.0.1:").await;
    assert!(url.ends_with("/query"), "{url}");
    #[cfg(unix)]
    stop(child).await;
    #[cfg(not(unix))]
    drop(child);
}

#[tokio::test]
async fn the_demo_serves_its_page_and_its_agent() {
    let arguments = [
        "demo",
        "--bind",
        "127.0.0.1:0",
        "--agent-provider",
        "commands",
    ];
    let (child, port) = start(program(&arguments), "open http://localhost:").await;
    let url = format!("http://127.0.0.1:{port}");
    let page = get(&url, "text/html").await;
    assert!(page.contains("</html>"), "{page}");
    let agent: Value =
        serde_json::from_str(&get(&format!("{url}demo/agent"), "*/*").await).unwrap();
    assert_eq!(agent["languageModel"], false);
    #[cfg(unix)]
    stop(child).await;
    #[cfg(not(unix))]
    drop(child);
}

/// The commands that the demo prints are run as they are, but for the token.
#[cfg(unix)]
#[tokio::test]
async fn the_demo_prints_how_to_connect_clients_and_to_call_a_tool() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    use tokio::process::Command;

    let arguments = ["demo", "--bind=127.0.0.1:0", "--agent-provider=commands"];
    let home = tempfile::tempdir().unwrap();
    let mut command = program(&arguments);
    command.env("HOME", home.path()).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || {
        let line = raw_page::with_deadline("line of the demo", lines.next_line()).await;
        line.unwrap().unwrap()
    };
    let opened = next().await;
    let port = opened.strip_prefix("open http://localhost:").unwrap();
    let address = format!("127.0.0.1:{}", port.trim_end_matches('/'));
    let install = next().await;
    let expected = format!("to connect AI clients: {PROGRAM} install --url http://{address}/mcp");
    assert_eq!(install, expected);
    assert!(next().await.starts_with("to call a tool"));
    let curl = next().await.replace("TOKEN", TOKEN);

    let mut page = raw_page::Page::connect_to(&*address, "tab", TOKEN).await;
    page.register(&[add_card()]).await;
    let mut shell = Command::new("sh");
    shell.args(["-c", &curl]).stdout(Stdio::piped());
    let called = shell.kill_on_drop(true).spawn().unwrap();
    let call = page.serve_call(json!({ "id": 7 })).await;
    assert_eq!(raw_page::call_input(&call), json!({ "title": "Buy milk" }));
    let answered = raw_page::with_deadline("end of curl", called.wait_with_output()).await;
    let answer: Value = serde_json::from_slice(&answered.unwrap().stdout).unwrap();
    assert_eq!(answer["structuredContent"]["id"], 7, "{answer}");
    stop(child).await;
}

#[tokio::test]
async fn the_demo_checks_and_prints_the_settings_of_bridge_and_agent() {
    let demo = async |arguments: &[&str]| {
        let home = tempfile::tempdir().unwrap();
        let mut command = program(&[&["demo"], arguments].concat());
        command.env("HOME", home.path());
        let ended = run(command).await;
        (ended.code, ended.stdout)
    };
    for (flag, key, value) in [
        ("--max-calls", "max_calls", "5"),
        ("--agent-max-rounds", "agent_max_rounds", "3"),
    ] {
        let (code, stdout) = demo(&[flag, value, "--print-config"]).await;
        assert_eq!(code, Some(0));
        let expected = format!("{key} = {value} # from {flag}");
        assert!(stdout.contains(&expected), "{stdout}");
    }
    let (code, stdout) = demo(&["--check-config"]).await;
    assert_eq!(code, Some(0));
    assert!(stdout.starts_with("configuration is good\n"), "{stdout}");
    for unusable in [
        ["--bind", "0.0.0.0:3001"],
        ["--agent-provider", "anthropic"],
    ] {
        let checked = demo(&[&unusable[..], &["--check-config"]].concat()).await;
        assert_eq!(checked, (Some(2), String::new()), "{unusable:?}");
    }
}

/// The folder of an installed program cannot be written to.
#[cfg(unix)]
#[tokio::test]
async fn the_demo_keeps_its_state_in_the_folder_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut command = program(&["demo", "--check-config"]);
    command.env("XDG_STATE_HOME", &file);
    let ended = run(command).await;
    let expected = file.join("mcp-web/demo").display().to_string();
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains(&expected), "{ended:?}");
    let mut command = program(&["demo", "--check-config"]);
    command.env("XDG_STATE_HOME", folder.path());
    assert_eq!(run(command).await.code, Some(0));
}

#[cfg(unix)]
#[tokio::test]
async fn admin_lists_the_pages_of_the_bridge_that_the_settings_name() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("admin.sock").display().to_string();
    let bridge = program(&[&BRIDGE[..], &["--admin-socket", &socket]].concat());
    let (child, url) = start(bridge, "listening on ").await;
    let address = url.strip_prefix("http://").unwrap();
    let page = raw_page::Page::connect_to(address, "tab", TOKEN).await;
    let config = folder.path().join("bridge.toml");
    std::fs::write(
        &config,
        format!("admin_socket = {socket:?}\nmax_calls = 7\n"),
    )
    .unwrap();
    let config = config.display().to_string();
    for arguments in [
        &["admin", "--admin-socket", &socket, "pages", "--json"][..],
        &["admin", "--socket", &socket, "pages", "--json"],
        &["admin", "--config", &config, "--json", "pages"],
    ] {
        let ended = run(program(arguments)).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let listed: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(listed.to_string().contains("\"tab\""), "{listed}");
    }
    page.close().await;
    stop(child).await;
    let ended = run(program(&["admin", "pages"])).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("admin_socket"), "{ended:?}");
}

#[tokio::test]
async fn a_bridge_that_cannot_start_has_the_exit_code_of_its_reason() {
    let (child, url) = start(program(&BRIDGE), "listening on ").await;
    let address = url.strip_prefix("http://").unwrap();
    let ended = run(program(&["bridge", "--bind", address])).await;
    assert_eq!(ended.code, Some(75), "{ended:?}");
    let mut command = program(&["bridge", "--bind", "0.0.0.0:0"]);
    let ended = run({
        command.stdin(Stdio::null());
        command
    })
    .await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    drop(child);
}
