//! docs/agent-tools.md, 'Ten minutes', from an empty folder to the answers in a page: the files and
//! commands are those of the guide, and only the ports and the paths of the programs differ.

use std::path::PathBuf;
use std::time::Duration;

use e2e::{
    Browser, ProcessGroup, ReservedPort, StaticSite, TestBed, poll_pause, program_paths,
    with_deadline,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::code_block;

const GUIDE: &str = include_str!("../../../docs/agent-tools.md");
const ASK_GUIDE: &str = include_str!("../../../docs/ask-ai.md");

/// The folder in which a person follows the guide, and their home.
struct Folder {
    folder: TempDir,
    home: TempDir,
    agent_port: ReservedPort,
    bridge_port: ReservedPort,
}

impl Folder {
    fn new() -> Self {
        let home = TempDir::with_prefix("mcp-web-home-").unwrap();
        // `uvx` is the real one. It finds the package in the cache that `cargo xtask test` has filled, so
        // that a journey does not depend on the package index. Servers get `HOME`, not other variables.
        let settings = home.path().join(".config/uv");
        std::fs::create_dir_all(&settings).unwrap();
        let cache = program_paths::uvx_cache();
        let text = format!("offline = true\ncache-dir = {}\n", json!(cache));
        std::fs::write(settings.join("uv.toml"), text).unwrap();
        Self {
            folder: TempDir::with_prefix("mcp-web-guide-").unwrap(),
            home,
            agent_port: ReservedPort::reserve(),
            bridge_port: ReservedPort::reserve(),
        }
    }

    /// Returns variables for the ports and the home of the person.
    fn variables(&self) -> [(&'static str, String); 6] {
        let (agent, bridge) = (self.agent_port.address(), self.bridge_port.address());
        let home = self.home.path().display().to_string();
        [
            ("MCP_WEB_AGENT_BIND", agent.to_string()),
            ("MCP_WEB_AGENT_BRIDGE_URL", format!("http://{bridge}")),
            ("MCP_WEB_BIND", bridge.to_string()),
            ("XDG_CONFIG_HOME", format!("{home}/.config")),
            ("HOME", home),
            ("PATH", search_path()),
        ]
    }

    /// Creates a terminal in the folder that runs commands.
    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-euc", script])
            .current_dir(self.folder.path())
            .envs(self.variables());
        command
    }

    /// Runs commands that end, and returns what they print to stdout.
    async fn run(&self, script: &str) -> String {
        let output = with_deadline("the commands of the guide", self.shell(script).output()).await;
        let output = output.unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stdout}{stderr}");
        stdout
    }

    async fn start_agent(&self, script: &str) -> ProcessGroup {
        let mut agent = ProcessGroup::start("agent", self.shell(script));
        agent.wait_for_line("listening on http://").await;
        agent
    }

    async fn start_bridge(&self) -> TestBed {
        let agent = self.agent_port.address().to_string();
        let script = code_block(GUIDE, "sh", "mcp-web bridge --agent-url");
        let script = script.replace("127.0.0.1:3003", &agent);
        let variables = self.variables();
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        TestBed::from_shell(&script, &variables).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Waits until the audit file has this many lines.
    async fn audit(&self, lines: usize) -> Vec<Value> {
        with_deadline("the lines of the audit file", async {
            loop {
                let text = std::fs::read_to_string(self.path("audit.jsonl")).unwrap_or_default();
                if text.lines().count() == lines {
                    let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
                    return entries.collect();
                }
                poll_pause().await;
            }
        })
        .await
    }
}

/// Returns the `PATH` with the programs of this workspace and `uvx`.
fn search_path() -> String {
    let programs = program_paths::mcp_web();
    let uvx = program_paths::mcp_server("uvx");
    let folders = [programs, uvx].map(|path| path.parent().unwrap().display().to_string());
    let others = std::env::var("PATH").unwrap_or_default();
    format!("{}:{}:{others}", folders[0], folders[1])
}

/// Writes a question into the ask box, sends it, and waits for the text of the answer to contain
/// `expected`.
async fn ask(browser: &Browser, question: &str, expected: &str) {
    let ask_box = "document.querySelector('mcp-web-ask').shadowRoot";
    browser
        .wait_for(&format!("{ask_box}?.querySelector('textarea')"))
        .await;
    browser.fill("Ask AI", question).await;
    browser.press_button("Ask AI").await;
    let turn = format!("[...{ask_box}.querySelectorAll('.turn')].at(-1)");
    browser
        .wait_for(&format!(
            "['complete', 'failed'].includes({turn}?.dataset.state)"
        ))
        .await;
    let answer = format!("return {turn}.querySelector('.answer').innerText");
    let answer = browser.eval(&answer, json!(null)).await;
    let answer = answer.as_str().unwrap();
    assert!(answer.contains(expected), "{question}: {answer}");
}

#[tokio::test]
async fn from_an_empty_folder_to_the_tools_of_a_file_and_a_server() {
    let guide = Folder::new();
    guide.write("tools.toml", code_block(GUIDE, "toml", "[sources.notes]"));
    let commands = code_block(GUIDE, "sh", "mcp-web agent --provider commands");
    let mut agent = guide.start_agent(commands).await;
    let bed = guide.start_bridge().await;
    let host = format!("localhost:{}", bed.address().port());
    let page = code_block(ASK_GUIDE, "html", "<mcp-web-ask suggestions");
    let site = StaticSite::with_index(page.replace("localhost:3001", &host)).await;
    let browser = Browser::open().await;
    browser.goto(site.url()).await;

    let question = code_block(GUIDE, "text", "/notes-read_file");
    ask(&browser, question, "Milk is on sale on Friday.").await;
    let audit = guide.audit(1).await;
    let expected =
        json!({ "source": "notes", "tool": "read_file", "outcome": "ok", "profile": "anyone" });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&audit[0][key], value, "{}", audit[0]);
    }

    let file = guide.read("tools.toml");
    let servers_table = code_block(GUIDE, "toml", "[mcp]");
    let allow = GUIDE
        .split("so the profile needs `")
        .nth(1)
        .and_then(|rest| rest.split('`').next())
        .unwrap();
    let before = file
        .lines()
        .find(|line| line.starts_with("allow = "))
        .unwrap();
    let file = format!("{}\n{servers_table}\n", file.replace(before, allow));
    guide.write("tools.toml", &file);
    let printed = guide.run(code_block(GUIDE, "sh", "mcp add time")).await;
    for text in [
        "`time` was added to mcp-servers.json",
        "time: now pinned: 2 tools",
        "\"timezone\": \"Europe/Berlin\"",
        "time: works: 2 tools",
    ] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
    assert!(
        guide
            .read("mcp-servers.pins.json")
            .contains("get_current_time")
    );

    agent.interrupt();
    assert!(
        agent.wait_for_end(Duration::from_secs(10)).await,
        "{}",
        agent.log()
    );
    let command = commands
        .lines()
        .find(|line| line.starts_with("mcp-web agent "))
        .unwrap();
    let agent = guide.start_agent(command).await;
    let question = "/mcp-time-get_current_time {\"timezone\": \"Europe/Berlin\"}";
    ask(&browser, question, "Europe/Berlin").await;
    ask(
        &browser,
        "/notes-read_file {\"path\": \"notes/shopping.md\"}",
        "Milk is on sale",
    )
    .await;
    let audit = guide.audit(3).await;
    assert_eq!(audit[1]["source"], "mcp-time", "{}", audit[1]);
    assert_eq!(audit[1]["outcome"], "ok", "{}", audit[1]);
    assert!(!agent.log().contains("ERROR"), "{}", agent.log());

    let checked = guide.run(&format!("{command} --check-config")).await;
    assert!(checked.starts_with("configuration is good\n"), "{checked}");
    assert!(
        checked.contains("\n  mcp-time-get_current_time: read"),
        "{checked}"
    );
}
