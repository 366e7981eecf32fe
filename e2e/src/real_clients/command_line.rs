//! AI clients with a command line, and a mock provider as their model.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{
    BridgeEndpoint, Exchange, Format, MockProvider, ProcessGroup, Script, program_paths,
    with_deadline,
};

/// The time limit for a run, on a busy machine with two cores.
const RUN_TIMEOUT: Duration = Duration::from_secs(120);

/// The programs that a command line finds. The entries that `mcp-web install` writes need no Node.
const PROGRAMS: [&str; 3] = ["bash", "env", "sh"];

/// The folder with them, in the home.
const PROGRAMS_FOLDER: &str = ".programs";

/// A command line with its own home folder.
#[derive(Debug)]
pub struct CommandLine {
    home: TempDir,
    provider: MockProvider,
    format: Format,
}

/// The result of a run.
#[derive(Debug)]
pub struct CommandLineRun {
    /// Everything that the program printed.
    pub log: String,
    exchanges: Vec<Exchange>,
    format: Format,
}

impl CommandLine {
    /// Starts a model that follows the script, in this format.
    pub async fn new(format: Format, script: Script) -> Self {
        let home = TempDir::with_prefix("mcp-web-client-").unwrap();
        let programs = home.path().join(PROGRAMS_FOLDER);
        std::fs::create_dir(&programs).unwrap();
        for name in PROGRAMS {
            let program = Path::new("/usr/bin").join(name);
            std::os::unix::fs::symlink(program, programs.join(name)).unwrap();
        }
        Self {
            home,
            provider: MockProvider::start_for_any_request(script).await,
            format,
        }
    }

    /// Returns the home, which is also the working directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file in the home.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Adds the entry `web` to a client of this home with `mcp-web install`, and returns the content of its file.
    pub async fn install(
        &self,
        client: &str,
        flags: &[&str],
        bridge: &impl BridgeEndpoint,
        file: &str,
    ) -> String {
        let mut install = self.command(&program_paths::mcp_web());
        install
            .args(["install", client, "--yes", "--name", "web", "--url"])
            .arg(bridge.mcp_url())
            .args(flags)
            .env("AUTH_TOKEN", bridge.token());
        let mut process = ProcessGroup::start("mcp-web install", install);
        assert!(process.wait_for_end(RUN_TIMEOUT).await);
        let file = self.home().join(file);
        let content = std::fs::read_to_string(&file);
        content.unwrap_or_else(|error| panic!("{}: {error}\n{}", file.display(), process.log()))
    }

    /// Returns the provider of the model.
    pub fn provider(&self) -> &MockProvider {
        &self.provider
    }

    /// Returns the command for the program, without the environment of this process.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", self.home().join(PROGRAMS_FOLDER))
            .env("HOME", self.home())
            .env("TMPDIR", self.home())
            .env("NO_COLOR", "1")
            .current_dir(self.home());
        command
    }

    /// Runs the program to its end.
    pub async fn run(&self, name: &str, command: Command) -> CommandLineRun {
        let mut process = ProcessGroup::start(name, command);
        let ended = process.wait_for_end(RUN_TIMEOUT).await;
        assert!(ended, "{name} does not end:\n{}", process.log());
        self.finish(process.log())
    }

    /// Runs the program until `done` completes, and then interrupts it like a user.
    pub async fn run_until(
        &self,
        name: &str,
        command: Command,
        done: impl Future<Output = ()>,
    ) -> CommandLineRun {
        let mut process = ProcessGroup::start(name, command);
        tokio::select! {
            () = done => {}
            _ = process.wait_for_end(RUN_TIMEOUT) => panic!("{name} ended before:\n{}", process.log()),
        }
        process.interrupt();
        let ended = process.wait_for_end(RUN_TIMEOUT).await;
        with_deadline(format!("{name} to be interrupted"), async {
            assert!(ended)
        })
        .await;
        self.finish(process.log())
    }

    fn finish(&self, log: String) -> CommandLineRun {
        CommandLineRun {
            log,
            exchanges: self.provider.exchanges(),
            format: self.format,
        }
    }
}

impl CommandLineRun {
    /// Returns the names of the tools in the request for this turn.
    fn tools(&self, turn: usize) -> Vec<String> {
        let request = self.exchanges.iter().find(|it| it.turn == Some(turn));
        let body = request.map_or(&Value::Null, |it| &it.body);
        let mut names = Vec::new();
        collect_names(&body["tools"], "", &mut names);
        // Tools that are searched for by name are listed in the instructions.
        let messages = array(&body["messages"]).iter();
        let instructions = messages.filter(|message| message["role"] == "system");
        names.extend(instructions.map(Value::to_string));
        names
    }

    /// Returns whether the request for this turn offers a tool whose name contains `name`.
    pub fn offers_tool(&self, name: &str, turn: usize) -> bool {
        self.tools(turn).iter().any(|tool| tool.contains(name))
    }

    /// Returns the result of this turn's call that the model received: the newest results in the
    /// next request.
    pub fn output(&self, turn: usize) -> ToolOutput {
        let next = self.exchanges.iter().find(|it| it.turn == Some(turn + 1));
        let Some(next) = next else {
            panic!(
                "the program did not request turn {}:\n{}",
                turn + 1,
                self.log
            )
        };
        match self.format {
            Format::Anthropic => anthropic_output(&next.body),
            Format::Gemini => gemini_output(&next.body),
            _ => responses_output(&next.body),
        }
    }

    /// Returns whether the program requested this turn.
    pub fn reached_turn(&self, turn: usize) -> bool {
        self.exchanges.iter().any(|it| it.turn == Some(turn))
    }
}

/// The result of a call, as the model receives it.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// All texts of the result.
    pub text: String,
    /// The sizes of the images in base64.
    pub images: Vec<usize>,
}

impl ToolOutput {
    fn add_block(&mut self, block: &Value) {
        for text in [&block["text"], &block["output"], &block["error"]] {
            if let Some(text) = text.as_str() {
                self.text += text;
                self.text += "\n";
            }
        }
        let data = block["source"]["data"]
            .as_str()
            .or(block["inlineData"]["data"].as_str())
            .or(block["image_url"].as_str());
        self.images.extend(data.map(str::len));
    }

    fn add_blocks(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.text += text,
            Value::Array(blocks) => blocks.iter().for_each(|block| self.add_block(block)),
            other => self.add_block(other),
        }
    }
}

fn collect_names(value: &Value, prefix: &str, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_names(item, prefix, names)),
        Value::Object(fields) => {
            let name = fields
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let name = format!("{prefix}{name}");
            for (key, inner) in fields {
                if matches!(key.as_str(), "tools" | "functionDeclarations") {
                    collect_names(inner, &format!("{name}."), names);
                }
            }
            names.push(name);
        }
        _ => {}
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn anthropic_output(body: &Value) -> ToolOutput {
    let mut output = ToolOutput::default();
    let messages = array(&body["messages"]).iter().rev();
    let mut results = messages.filter(|message| message["role"] == "user");
    for block in results
        .next()
        .map_or(&[][..], |message| array(&message["content"]))
    {
        if block["type"] == "tool_result" {
            output.add_blocks(&block["content"]);
        }
    }
    output
}

fn gemini_output(body: &Value) -> ToolOutput {
    let mut output = ToolOutput::default();
    let last = array(&body["contents"]).last();
    for part in last.map_or(&[][..], |last| array(&last["parts"])) {
        output.add_block(&part["functionResponse"]["response"]);
        output.add_block(part);
    }
    output
}

fn responses_output(body: &Value) -> ToolOutput {
    let mut output = ToolOutput::default();
    let items = array(&body["input"]).iter().rev();
    let results = items.take_while(|item| item["type"] != "function_call");
    for item in results {
        if item["type"] == "function_call_output" {
            output.add_blocks(&item["output"]);
        }
    }
    output
}
