//! A command line that is an AI client, with a model that a provider plays.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{Exchange, Format, MockProvider, ProcessGroup, Script, with_deadline};

/// A whole run, on a busy machine with two cores.
const RUN_TIMEOUT: Duration = Duration::from_secs(120);

/// A command line, with a home of its own.
#[derive(Debug)]
pub struct CommandLine {
    home: TempDir,
    provider: MockProvider,
    format: Format,
}

/// What came of a run.
#[derive(Debug)]
pub struct CommandLineRun {
    /// Everything it printed.
    pub log: String,
    exchanges: Vec<Exchange>,
    format: Format,
}

impl CommandLine {
    /// A model that says what the script says, on this wire.
    pub async fn new(format: Format, script: Script) -> Self {
        Self {
            home: TempDir::with_prefix("mcp-web-client-").unwrap(),
            provider: MockProvider::start(script).await,
            format,
        }
    }

    /// Its home, which is its working folder too.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file below its home.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Where the provider listens.
    pub fn provider(&self) -> &MockProvider {
        &self.provider
    }

    /// The program, with nothing of this process's environment.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .env("TMPDIR", self.home())
            .env("NO_COLOR", "1")
            .current_dir(self.home());
        command
    }

    /// Runs it to its end.
    pub async fn run(&self, name: &str, command: Command) -> CommandLineRun {
        let mut process = ProcessGroup::start(name, command);
        let ended = process.wait_for_end(RUN_TIMEOUT).await;
        assert!(ended, "{name} does not end:\n{}", process.log());
        self.finish(process.log())
    }

    /// Runs it until this is done, then interrupts it as a person does.
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
    /// The names of the tools in the request for this turn.
    fn tools(&self, turn: usize) -> Vec<String> {
        let request = self.exchanges.iter().find(|it| it.turn == Some(turn));
        let body = request.map_or(&Value::Null, |it| &it.body);
        let mut names = Vec::new();
        collect_names(&body["tools"], "", &mut names);
        // Tools that are looked for by name are told in instructions.
        let said = array(&body["messages"]).iter();
        let told = said.filter(|message| message["role"] == "system");
        names.extend(told.map(Value::to_string));
        names
    }

    /// Whether the model was told of a tool whose name has this in it, in the request for this turn.
    pub fn offers_tool(&self, name: &str, turn: usize) -> bool {
        self.tools(turn).iter().any(|tool| tool.contains(name))
    }

    /// What the model was given for the call of this turn: the newest results in the next request.
    pub fn output(&self, turn: usize) -> ToolOutput {
        let next = self.exchanges.iter().find(|it| it.turn == Some(turn + 1));
        let Some(next) = next else {
            panic!(
                "the model was not asked for turn {}:\n{}",
                turn + 1,
                self.log
            )
        };
        match self.format {
            Format::Anthropic => anthropic(&next.body),
            Format::Gemini => gemini(&next.body),
            _ => responses(&next.body),
        }
    }

    /// Whether the model was asked for this turn.
    pub fn reached_turn(&self, turn: usize) -> bool {
        self.exchanges.iter().any(|it| it.turn == Some(turn))
    }
}

/// What a model is given as the result of a call.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// All texts.
    pub text: String,
    /// The bytes of each picture, as base64.
    pub pictures: Vec<usize>,
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
        self.pictures.extend(data.map(str::len));
    }

    fn add_blocks(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.text += text,
            Value::Array(blocks) => blocks.iter().for_each(|block| self.add_block(block)),
            other => self.add_block(other),
        }
    }
}

fn collect_names(value: &Value, space: &str, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_names(item, space, names)),
        Value::Object(fields) => {
            let name = fields
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let name = format!("{space}{name}");
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

fn anthropic(body: &Value) -> ToolOutput {
    let mut output = ToolOutput::default();
    let said = array(&body["messages"]).iter().rev();
    let mut results = said.filter(|message| message["role"] == "user");
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

fn gemini(body: &Value) -> ToolOutput {
    let mut output = ToolOutput::default();
    let last = array(&body["contents"]).last();
    for part in last.map_or(&[][..], |last| array(&last["parts"])) {
        output.add_block(&part["functionResponse"]["response"]);
        output.add_block(part);
    }
    output
}

fn responses(body: &Value) -> ToolOutput {
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
