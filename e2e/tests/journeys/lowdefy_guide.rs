//! docs/lowdefy.md from an empty folder: the files are those of the example, the commands and answers
//! those of the guide, and only the paths, the addresses and the ids of sessions differ.

use std::path::Path;
use std::process::Stdio;

use e2e::{NodeProject, ProcessGroup, TestBed, program_paths, with_deadline};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::{COMMAND_TIMEOUT, code_block, stdout_of};

const GUIDE: &str = include_str!("../../../docs/lowdefy.md");
const APP: &str = include_str!("../../../demo-app/examples/lowdefy/lowdefy.yaml");
const CLIENT: &str = include_str!("../../../demo-app/examples/lowdefy/call.mjs");
const STOCK: &str = include_str!("../../../demo-app/examples/lowdefy/stock.mjs");

/// The folder in which a person follows the guide, with the packages of Lowdefy.
struct Folder {
    project: NodeProject,
    /// Texts of the guide, and their replacements here.
    replaced: Vec<(&'static str, String)>,
}

impl Folder {
    fn path(&self) -> &Path {
        self.project.path()
    }

    fn replace(&self, text: &str) -> String {
        let replaced = self.replaced.iter();
        replaced.fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Creates a terminal that runs commands, with Node 22.
    fn shell(&self, script: &str) -> Command {
        let node = program_paths::node().parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths([node].into_iter().chain(std::env::split_paths(&path)));
        let mut command = Command::new("sh");
        command
            .args(["-euc", &self.replace(script)])
            .current_dir(self.path())
            .env("PATH", path.unwrap())
            .env("NO_COLOR", "1");
        command
    }

    /// Runs a command that ends, and returns what it prints to stdout.
    async fn run(&self, script: &str) -> String {
        stdout_of(self.shell(script), script).await
    }

    /// Runs a command of the guide until the host answers, and returns the answer.
    async fn call(&self, text: &str) -> String {
        let script = code_block(GUIDE, "sh", text);
        with_deadline("the host to answer", async {
            loop {
                let answer = self.run(script).await;
                if !answer.contains("open the app") && !answer.contains("no page is connected") {
                    return answer;
                }
            }
        })
        .await
    }

    async fn check_call(&self, text: &str, expected: &str) {
        let answer = self.call(text).await;
        assert_eq!(without_marks(&answer), without_marks(expected), "{answer}");
    }
}

/// Returns the lines of a page without the marks, which are new in each answer.
fn without_marks(text: &str) -> Vec<&str> {
    let lines = text.trim_end().lines().map(|line| {
        let is_last = line.starts_with("End of page ") || line.starts_with("end of page ");
        let without = line.split_once(" mark=").map(|(before, _)| before);
        if is_last {
            "end of page"
        } else {
            without.unwrap_or(line)
        }
    });
    lines.collect()
}

/// Returns the block with four backticks: its text has fences itself.
fn long_block() -> &'static str {
    let rest = GUIDE.split("\n````text\n").nth(1).unwrap();
    rest.split("\n````").next().unwrap()
}

#[tokio::test]
async fn from_an_empty_folder_to_a_request() {
    let bed = TestBed::bridge().await;
    // The journey takes the packages that are installed for all of them, so that it needs no registry.
    let mut folder = Folder {
        project: NodeProject::empty_with_lowdefy(),
        replaced: vec![("http://localhost:3001", bed.url())],
    };
    for install in ["target/sdk", "@lowdefy/connection-axios-http@4.0.0-rc.11"] {
        assert!(code_block(GUIDE, "sh", install).contains("npm install"));
    }
    folder.write("lowdefy.yaml", APP);
    folder.write("call.mjs", CLIENT);

    let start = code_block(GUIDE, "sh", "npx mcp-web-lowdefy");
    let mut host = ProcessGroup::start("the host", folder.shell(start));
    host.wait_for_line("connected: AI clients").await;
    let created = folder.call("session_create").await;
    let created: Value = serde_json::from_str(&created).unwrap();
    assert_eq!(created["name"], "An order for Acme");
    let session = created["sessionId"].as_str().unwrap().to_owned();
    folder.replaced.push(("SESSION", session));

    let page = r#"navigate '{"sessionId": "SESSION", "pageId": "order"}'"#;
    folder.check_call(page, long_block()).await;
    let refused = code_block(GUIDE, "text", "This field is required");
    folder.check_call("lines/add", refused).await;
    let saved = code_block(GUIDE, "text", "Saved for Acme");
    folder
        .check_call(r#""ref": "customer", "value": "Acme""#, saved)
        .await;
    let forbidden = code_block(GUIDE, "text", "PageUnknown");
    folder
        .check_call(r#""type": "navigate", "pageId": "report""#, forbidden)
        .await;
    host.interrupt();
    assert!(host.wait_for_end(COMMAND_TIMEOUT).await, "{}", host.log());

    folder.write("stock.mjs", &STOCK.replace("listen(4000", "listen(0"));
    let mut stock = folder.project.node("stock.mjs", &["stock.mjs"]);
    let line = stock.wait_for_line("stock at ").await;
    let port = line.rsplit(' ').next().unwrap();
    let address = format!("http://localhost:{port}");
    folder.replaced.push(("http://localhost:4000", address));
    let start = code_block(GUIDE, "sh", "LOWDEFY_SECRET_STOCK_KEY");
    let mut host = ProcessGroup::start("the host", folder.shell(start));
    host.wait_for_line("connected: AI clients").await;
    let addition = code_block(GUIDE, "yaml", "id: warehouse");
    folder.write("lowdefy.yaml", &format!("{APP}{addition}\n"));
    host.wait_for_line("the app was built again").await;
    let stock_page = code_block(GUIDE, "text", "bolt | 120");
    folder.check_call(r#""pageId": "stock""#, stock_page).await;
    host.terminate().await;
}

#[tokio::test]
async fn one_entry_of_a_desktop_client() {
    let project = NodeProject::empty_with_lowdefy();
    let app = project.path().display().to_string();
    let folder = Folder {
        project,
        replaced: Vec::new(),
    };
    folder.write("lowdefy.yaml", APP);
    let entry = code_block(GUIDE, "json", "--stdio").replace("/path/to/orders", &app);
    let entry: Value = serde_json::from_str(&entry).unwrap();
    let entry = &entry["mcpServers"]["orders"];
    let arguments = entry["args"].as_array().unwrap().iter();
    assert_eq!(entry["command"], "node");
    let mut command = Command::new(program_paths::node());
    command.args(arguments.map(|argument| argument.as_str().unwrap()));
    for name in entry["env"].as_object().unwrap().keys() {
        let program = entry["env"][name].as_str().unwrap().rsplit('/').next();
        command.env(name, program_paths::built(program.unwrap()));
    }
    let mut host = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let client = json!({ "name": "guide", "version": "1" });
    let initialize =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let create = json!({ "name": "session_create", "arguments": { "name": "desktop" } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": create }),
    ];
    let mut stdin = host.stdin.take().unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    for message in messages {
        let line = format!("{message}\n");
        stdin.write_all(line.as_bytes()).await.unwrap();
    }
    let answer = with_deadline("the session", async {
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == 2 {
                return answer;
            }
        }
    })
    .await;
    let created = &answer["result"]["structuredContent"];
    assert!(created["sessionId"].is_string(), "{answer}");
    drop(stdin);
    let status = with_deadline("the host to end", host.wait()).await;
    assert!(status.unwrap().success());
}
