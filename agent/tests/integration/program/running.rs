//! The program while it runs: its settings are loaded again, and it stops when its queries have ended.

use std::path::{Path, PathBuf};

use tokio::io::Lines;
use tokio::process::ChildStderr;

use super::*;

/// The tools file with one source of this name.
fn tools(source: &str) -> String {
    format!(
        "[sources.{source}]\ntype = 'filesystem'\nroots = {{ {source} = '.' }}\nread_only = true\n"
    )
}

/// The configuration file of an agent with this tools file. It is empty at first.
fn config_file(tools_file: &Path) -> PathBuf {
    tools_file.with_file_name("agent.toml")
}

/// An agent in another process, with its tools file.
struct RunningAgent {
    child: Child,
    url: String,
    log: Lines<BufReader<ChildStderr>>,
}

impl RunningAgent {
    async fn start(tools_file: &Path) -> Self {
        let config = config_file(tools_file);
        std::fs::write(&config, "").unwrap();
        let mut child = scripted_program()
            .env("MCP_WEB_AGENT_CONFIG", config)
            .arg("--tools-file")
            .arg(tools_file)
            .env("MCP_WEB_AGENT_TOKEN", CREDENTIAL)
            .env("MCP_WEB_AGENT_METRICS_TOKEN", METRICS_TOKEN)
            .spawn()
            .unwrap();
        let url = listening_url(&mut child).await.replace("/query", "");
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, url, log }
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(sent.await.unwrap().success());
    }

    async fn recv_log(&mut self, text: &str) -> String {
        let found = async {
            loop {
                let line = self.log.next_line().await.unwrap().unwrap();
                if line.contains(text) {
                    return line;
                }
            }
        };
        with_deadline(text, found).await
    }

    /// Which of the sources the metrics list.
    async fn has_sources(&self, names: [&str; 2]) -> [bool; 2] {
        let request = http_client().get(format!("{}/metrics", self.url));
        let response = with_deadline("metrics", request.bearer_auth(METRICS_TOKEN).send()).await;
        let text = response.unwrap().text().await.unwrap();
        names.map(|name| text.contains(&format!("source_state{{source=\"{name}\"")))
    }
}

#[tokio::test]
async fn tools_are_loaded_again_when_their_file_changes_and_a_wrong_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.toml");
    std::fs::write(&path, tools("notes")).unwrap();
    let mut agent = RunningAgent::start(&path).await;
    let names = ["notes", "papers"];
    assert_eq!(agent.has_sources(names).await, [true, false]);
    std::fs::write(&path, tools("papers")).unwrap();
    agent.recv_log("the settings are loaded again").await;
    assert_eq!(agent.has_sources(names).await, [false, true]);
    std::fs::write(&path, tools("notes").replace("true", "'yes'")).unwrap();
    agent.signal("HUP").await;
    let line = agent.recv_log("the former settings stay in use").await;
    assert!(
        line.contains("`read_only`: it must be true or false"),
        "{line}"
    );
    assert_eq!(agent.has_sources(names).await, [false, true]);
    let ready = http_client().get(format!("{}/readyz", agent.url));
    assert_eq!(status_and_body(ready).await.0, 200);
    std::fs::write(&path, tools("notes")).unwrap();
    agent.signal("HUP").await;
    agent.recv_log("the settings are loaded again").await;
    assert_eq!(agent.has_sources(names).await, [true, false]);
    agent.signal("TERM").await;
    let ended = with_deadline("end", agent.child.wait()).await.unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[tokio::test]
async fn a_log_level_that_was_changed_for_a_while_is_that_of_the_start_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.toml");
    std::fs::write(&path, tools("notes")).unwrap();
    let mut agent = RunningAgent::start(&path).await;
    std::fs::write(config_file(&path), "log = 'error'").unwrap();
    std::fs::write(&path, tools("papers")).unwrap();
    agent.signal("HUP").await;
    let names = ["notes", "papers"];
    let reloaded = async {
        while agent.has_sources(names).await != [false, true] {
            raw_page::poll_pause().await;
        }
    };
    with_deadline("reload", reloaded).await;
    std::fs::write(config_file(&path), "").unwrap();
    agent.signal("HUP").await;
    agent.recv_log("the settings are loaded again").await;
}

#[tokio::test]
async fn a_port_in_use_has_another_exit_code_than_wrong_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.toml");
    std::fs::write(&path, tools("notes")).unwrap();
    let agent = RunningAgent::start(&path).await;
    let used = agent.url.strip_prefix("http://").unwrap();
    let mut program = agent_program();
    let program = program.args(["--provider", "commands", "--bind", used]);
    let program = program.env("MCP_WEB_AGENT_TOKEN", CREDENTIAL);
    let output = with_deadline("end", program.output()).await.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(75), "{error}");
    assert!(error.contains("cannot listen on"), "{error}");
}

#[tokio::test]
async fn a_running_query_ends_before_the_agent_does_and_new_ones_are_refused() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let query = |uuid: &str, text: &str| bed.put(uuid, &prompt(text)).bearer_auth(TOKEN);
    let mut events = EventStream::open(streaming(query(UUID, "/add_card {}"))).await;
    events.next().await.unwrap();
    let call = page.recv_call().await;
    let mut draining = std::pin::pin!(bed.agent.drain());
    tokio::select! {
        biased;
        () = &mut draining => panic!("a query is running"),
        () = std::future::ready(()) => {}
    }
    let ready = http_client().get(format!("http://{}/readyz", bed.agent.local_addr()));
    assert_eq!(status_and_body(ready).await.0, 503);
    let (status, refused) = status_and_body(streaming(query("another", "hello"))).await;
    assert_eq!(
        (status, &refused["code"]),
        (503, &json!("AgentUnavailable"))
    );
    page.respond(&call, json!({ "id": 7 })).await;
    let last = events.last().await;
    assert_eq!(last["type"], "query_complete", "{last}");
    with_deadline("end of the queries", draining).await;
}
