//! Tools of the agent beside those of the page: files, and MCP servers that others have written.

mod processes;
mod real_servers;
mod users;
mod web_search;

use std::path::Path;
use std::process::Stdio;

use e2e::{
    AGENT_METRICS_TOKEN, AgentEndpoint, Script, Turn, poll_pause, program_paths, with_deadline,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::direct_client::client;
use crate::test_bed::{QueryEvents, QueryTestBed};

/// A secret that only one server is given.
const SECRET: &str = "s3cret-for-one-server-0123456789";

/// A folder with the files of `tools_file`, a repository, and notes.
struct ToolsFolder(TempDir);

impl ToolsFolder {
    /// Writes the files. `profiles` are the tables of profiles.
    async fn new(profiles: &str) -> Self {
        let folder = Self(TempDir::with_prefix("mcp-web-tools-").unwrap());
        let path = folder.0.path();
        std::fs::create_dir(path.join("notes")).unwrap();
        std::fs::write(path.join("notes/plan.md"), "Buy milk on Friday").unwrap();
        let sources = "[sources.notes]\ntype = 'filesystem'\nroots = { notes = 'notes' }\n\n\
                       [mcp]\nfile = 'mcp-servers.json'\n\n";
        std::fs::write(path.join("tools.toml"), format!("{sources}{profiles}")).unwrap();
        folder.create_repository().await;
        folder.write_servers();
        // A pinned tool is offered before its server has started.
        folder.run_mcp(&["sync"]).await;
        folder
    }

    async fn create_repository(&self) {
        let script = "git init -q repo && cd repo && git config user.email a@example.com && \
                      git config user.name Ada && echo hi > a && git add a && \
                      git commit -qm 'Add the first file'";
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).current_dir(self.0.path());
        assert!(shell.status().await.unwrap().success());
    }

    fn write_servers(&self) {
        let program = |name: &str| program_paths::mcp_server(name);
        let servers = json!({ "mcpServers": {
            "everything": { "command": program("mcp-server-everything"), "args": ["stdio"],
                "env": { "DECLARED": SECRET } },
            "files": { "command": program("mcp-server-filesystem"), "args": [self.path("notes")] },
            "time": { "command": program("mcp-server-time") },
            "git": { "command": program("mcp-server-git"), "args": ["--repository", self.path("repo")] },
            "sqlite": { "command": program("mcp-server-sqlite"), "args": ["--db-path", self.path("x.db")] },
            "unset": { "command": program("mcp-server-time"), "env": { "A": "${NOT_SET_ANYWHERE}" } },
        } });
        std::fs::write(self.path("mcp-servers.json"), servers.to_string()).unwrap();
    }

    /// Runs a command for the file with the servers. Returns its exit code and what it has printed.
    async fn run_mcp(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(program_paths::mcp_web());
        let command = command
            .args(["agent", "mcp", "--file"])
            .arg(self.path("mcp-servers.json"));
        let output = command.args(arguments).output().await.unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }

    /// Changes the entry of a server in the file.
    fn change_server(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let path = self.path("mcp-servers.json");
        let mut file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        change(&mut file["mcpServers"][name]);
        std::fs::write(path, file.to_string()).unwrap();
    }

    /// Creates the key of the stored secrets, which the agent uses from then on.
    async fn create_master_key(&self) {
        self.run_secrets(&["generate-key", "master.key"], "").await;
    }

    /// Stores a secret of a user.
    async fn set_secret(&self, name: &str, user: &str, secret: &str) {
        let files = [
            "--secrets-file",
            "secrets.json",
            "--master-key-file",
            "master.key",
        ];
        let arguments = [&["set", name, "--user", user][..], &files].concat();
        self.run_secrets(&arguments, secret).await;
    }

    async fn run_secrets(&self, arguments: &[&str], stdin: &str) {
        let mut command = Command::new(program_paths::mcp_web());
        let command = command
            .args(["agent", "secrets"])
            .args(arguments)
            .current_dir(self.0.path());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(stdin.as_bytes()).await.unwrap();
        drop(input);
        assert!(child.wait().await.unwrap().success(), "{arguments:?}");
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Returns the arguments with which an agent uses the files.
    fn arguments(&self) -> Vec<String> {
        let path = |name| self.path(name).display().to_string();
        let mut arguments = vec![
            ("--tools-file", path("tools.toml")),
            ("--audit-file", path("audit.jsonl")),
        ];
        if self.path("master.key").exists() {
            arguments.push(("--secrets-file", path("secrets.json")));
            arguments.push(("--master-key-file", path("master.key")));
        }
        let arguments = arguments.into_iter();
        arguments
            .flat_map(|(flag, path)| [flag.to_owned(), path])
            .collect()
    }

    /// Returns the lines of the audit file when there are this many.
    async fn audit(&self, lines: usize) -> Vec<Value> {
        let text = with_deadline("the lines of the audit file", async {
            loop {
                let text = std::fs::read_to_string(self.path("audit.jsonl")).unwrap_or_default();
                if text.lines().count() >= lines && text.ends_with('\n') {
                    return text;
                }
                poll_pause().await;
            }
        })
        .await;
        let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let parsed: Vec<Value> = parsed.collect();
        assert_eq!(parsed.len(), lines, "{parsed:?}");
        parsed
    }
}

/// Creates a script whose first turn has these calls, and whose second one answers.
fn calls(calls: &[(&str, Value)]) -> Script {
    let turn = calls
        .iter()
        .fold(Turn::default(), |turn, (tool, arguments)| {
            turn.call(tool, arguments.clone())
        });
    Script::new([turn, Turn::from_text("Done.")])
}

/// Starts a bridge, and an agent with the tools of a folder.
async fn start(folder: &ToolsFolder, script: Script, bridge: &[&str]) -> QueryTestBed {
    let arguments = folder.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    QueryTestBed::start_with(e2e::Format::OpenAi, script, &arguments, bridge).await
}

/// Returns the ends of calls, by the name of the tool.
fn finished<'a>(events: &'a QueryEvents, tool: &str) -> &'a Value {
    let contents = events.0.iter().map(|event| &event["content"]);
    let mut finished = contents.filter(|it| it["type"] == "tool-finished" && it["tool"] == tool);
    finished
        .next()
        .unwrap_or_else(|| panic!("{tool} has not ended: {events:?}"))
}

/// Returns the processes that a process has started, and those that these have started.
fn descendants(pid: u32) -> Vec<u32> {
    let parent = |entry: &Path| -> Option<(u32, u32)> {
        let stat = std::fs::read_to_string(entry.join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        let mut fields = tail.split(' ');
        let (state, parent) = (fields.next()?, fields.next()?);
        let id = head.split(' ').next()?.parse().ok()?;
        (state != "Z").then_some((id, parent.parse().ok()?))
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let all: Vec<_> = entries.filter_map(|it| parent(&it.ok()?.path())).collect();
    let mut found = vec![pid];
    loop {
        let is_new = |(id, parent): &&(u32, u32)| found.contains(parent) && !found.contains(id);
        match all.iter().find(is_new) {
            Some((id, _)) => found.push(*id),
            None => return found[1..].to_vec(),
        }
    }
}

/// Returns the metrics of the agent.
async fn metrics(endpoint: &AgentEndpoint) -> String {
    let url = format!("{}/metrics", endpoint.url());
    let client = client();
    let refused = client.get(&url).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let request = client.get(&url).bearer_auth(AGENT_METRICS_TOKEN);
    request.send().await.unwrap().text().await.unwrap()
}
