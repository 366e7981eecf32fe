//! A client library with its driver.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{ClientRow, ClientStep, ClientsApp, StepResult};
use crate::{NodeProject, ProcessGroup, program_paths};

/// The whole walk of a driver, on a busy machine with two cores.
const WALK_TIMEOUT: Duration = Duration::from_secs(120);

/// What the text of a large result has at least, if it was cut.
const MIN_CUT_BYTES: u64 = 8_000;

/// How a driver reaches the bridge.
#[derive(Clone, Debug)]
pub enum DriverTransport {
    /// Streamable HTTP.
    Http,
    /// `mcp-web-stdio`.
    Stdio,
    /// Another program that carries stdio to the bridge. In its command line and its environment stand
    /// `{url}`, `{token}`, `{home}` (a folder of its own), `{node}`, `{modules}` (the npm packages) and
    /// `{python}` (the environment with the Python packages).
    Proxy {
        /// The package that it is.
        package: Package,
        /// The program and its arguments.
        command: &'static [&'static str],
        /// Its environment.
        environment: &'static [(&'static str, &'static str)],
    },
}

/// A package of `e2e/clients`.
#[derive(Clone, Copy, Debug)]
pub enum Package {
    /// Of npm.
    Npm(&'static str),
    /// Of PyPI, in the environment of the MCP SDK 1.
    Python(&'static str),
}

impl Package {
    fn name_and_version(self) -> String {
        match self {
            Package::Npm(name) => program_paths::clients_package(name),
            Package::Python(name) => {
                let version = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))";
                let python = program_paths::clients_python(1).join("bin/python");
                let said = std::process::Command::new(python)
                    .args(["-c", version, name])
                    .output();
                let said = said.expect("the environment has an interpreter");
                format!("{name} {}", String::from_utf8_lossy(&said.stdout).trim())
            }
        }
    }
}

/// A driver of `e2e/clients`, and what its client is known not to do.
#[derive(Debug)]
pub struct Driver {
    script: &'static str,
    environment: Vec<(&'static str, &'static str)>,
    server: DriverTransport,
    exceptions: Vec<(ClientStep, &'static str)>,
    remarks: Vec<(ClientStep, &'static str)>,
    is_lossy: bool,
}

impl Driver {
    /// A script on Node: `NAME.mjs`; or in Python: `NAME.py`.
    pub fn new(script: &'static str, server: DriverTransport) -> Self {
        Self {
            script,
            environment: Vec::new(),
            server,
            exceptions: Vec::new(),
            remarks: Vec::new(),
            is_lossy: false,
        }
    }

    /// With a variable in its environment.
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// The client fails in this step, and why. If it does not, the test fails.
    pub fn except(mut self, step: ClientStep, why: &'static str) -> Self {
        self.exceptions.push((step, why));
        self
    }

    /// It works, and this is to be known.
    pub fn remark(mut self, step: ClientStep, what: &'static str) -> Self {
        self.remarks.push((step, what));
        self
    }

    /// It loses reports of progress that it reads together with the answer: those that it hears must be
    /// in order, and may be none.
    pub fn loses_progress(mut self) -> Self {
        self.is_lossy = true;
        self.remark(
            ClientStep::Progress,
            "reports that it reads together with the answer are lost by its SDK",
        )
    }

    /// Runs it against a page of its own, and judges each step.
    pub async fn run(self, name: &str) {
        let app = ClientsApp::open().await;
        let lines = self.run_script(&app).await;
        let line = |step: &str| lines.iter().find(|line| line["step"] == step);
        let connected = line("connect").unwrap_or_else(|| panic!("{name} says nothing"));
        let client = connected["client"].as_str().unwrap_or(name);
        let proxy;
        let (client, over) = match &self.server {
            DriverTransport::Http => (client, "HTTP"),
            DriverTransport::Stdio => (client, "stdio"),
            DriverTransport::Proxy { package, .. } => {
                proxy = package.name_and_version();
                (&*proxy, "HTTP, for a client on stdio")
            }
        };
        let mut row = ClientRow::new(client, over, connected["protocol"].as_str());
        for step in ClientStep::ALL {
            let cell = match line(step.name()) {
                Some(line) => self.judge(step, line, &app).await,
                None => StepResult::Failed(format!("it printed no such line: {lines:?}")),
            };
            row.set(step, self.apply_exceptions(step, cell));
        }
        row.finish(name);
    }

    async fn run_script(&self, app: &ClientsApp) -> Vec<Value> {
        let project = NodeProject::copy_of("clients/node");
        project.link(&program_paths::clients_node_modules());
        let mut command = match self.script.ends_with(".py") {
            true => {
                let mut command = Command::new(self.python());
                let script = program_paths::workspace()
                    .join("e2e/clients/python")
                    .join(self.script);
                command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            false => {
                let mut command = Command::new(program_paths::node());
                command.arg(self.script);
                command
            }
        };
        command
            .arg(self.config(app, project.path()).to_string())
            .current_dir(project.path())
            .env("NO_COLOR", "1")
            .env("HOME", project.path())
            .envs(self.environment.iter().copied());
        let mut driver = ProcessGroup::start(self.script, command);
        let ended = driver.wait_for_end(WALK_TIMEOUT).await;
        assert!(ended, "{} does not end:\n{}", self.script, driver.log());
        let lines = driver.log();
        let lines = lines.lines().filter(|line| line.starts_with("{\"step\":"));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The interpreter of the environment that has the library.
    fn python(&self) -> PathBuf {
        let major = match self.script {
            "mcp_sdk_1.py" | "langchain_adapters.py" => 1,
            _ => 2,
        };
        program_paths::clients_python(major).join("bin/python")
    }

    fn config(&self, app: &ClientsApp, home: &std::path::Path) -> Value {
        let (url, token) = (app.world.mcp_url(), app.world.token());
        match &self.server {
            DriverTransport::Http => json!({ "url": url, "token": token }),
            DriverTransport::Stdio => json!({
                "command": program_paths::built("mcp-web-stdio"),
                "args": [],
                "env": { "MCP_SERVER_URL": url, "AUTH_TOKEN": token },
            }),
            DriverTransport::Proxy {
                command,
                environment,
                ..
            } => {
                let fill = |text: &str| {
                    text.replace("{url}", &url)
                        .replace("{token}", token)
                        .replace("{home}", &home.display().to_string())
                        .replace("{node}", &program_paths::node().display().to_string())
                        .replace(
                            "{modules}",
                            &program_paths::clients_node_modules().display().to_string(),
                        )
                        .replace(
                            "{python}",
                            &program_paths::clients_python(1).display().to_string(),
                        )
                };
                let environment: serde_json::Map<_, _> = environment
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), json!(fill(value))))
                    .collect();
                let mut command = command.iter().map(|word| fill(word));
                json!({
                    "command": command.next(),
                    "args": command.collect::<Vec<_>>(),
                    "env": environment,
                })
            }
        }
    }

    /// What a line of the driver comes to.
    async fn judge(&self, step: ClientStep, line: &Value, app: &ClientsApp) -> StepResult {
        if let Some(lacks) = line["lacks"].as_str() {
            return StepResult::Lacks(lacks.to_owned());
        }
        let text = line["text"].as_str().unwrap_or_default();
        let has = |tools: &Value, name: &str| {
            let tools = tools.as_array();
            tools.is_some_and(|tools| tools.iter().any(|tool| tool.as_str() == Some(name)))
        };
        let works = match step {
            ClientStep::List => {
                has(&line["tools"], "add_note") && has(&line["tools"], "get_result")
            }
            ClientStep::Call => text.contains("\"notes\":1") && app.notes().await == ["buy milk"],
            ClientStep::Wrong => text.contains("text") && text.contains("required"),
            ClientStep::Picture => {
                line["mimeType"] == "image/png" && line["bytes"].as_u64() > Some(1_000)
            }
            ClientStep::Large => return judge_large(line),
            ClientStep::ListChanged => line["heard"] == true && has(&line["tools"], "second"),
            ClientStep::Progress => self.judge_progress(&line["messages"]),
            ClientStep::Cancel => text.starts_with("cancelled"),
            ClientStep::Elicitation => text == "Hello Ada",
            ClientStep::Leaving => app.is_without_clients().await,
        };
        match works {
            true => StepResult::Works,
            false => StepResult::Failed(line.to_string()),
        }
    }

    fn judge_progress(&self, messages: &Value) -> bool {
        let all = ["step 1", "step 2", "step 3", "step 4"];
        let Some(messages) = messages.as_array() else {
            return false;
        };
        match self.is_lossy {
            false => messages.iter().eq(all.iter()),
            true => {
                let mut all = all.iter();
                messages.iter().all(|heard| all.any(|step| heard == step))
            }
        }
    }

    /// With what is known of the client.
    fn apply_exceptions(&self, step: ClientStep, cell: StepResult) -> StepResult {
        let of = |list: &[(ClientStep, &'static str)]| {
            let found = list.iter().find(|(of, _)| *of == step);
            found.map(|(_, why)| (*why).to_owned())
        };
        match (cell, of(&self.exceptions)) {
            (StepResult::Failed(_), Some(why)) => StepResult::Lacks(why),
            (StepResult::Works, Some(why)) => {
                StepResult::Failed(format!("it works now, and is known not to: {why}"))
            }
            (StepResult::Works, None) => {
                of(&self.remarks).map_or(StepResult::Works, StepResult::WorksBut)
            }
            (cell, _) => cell,
        }
    }
}

/// A large text came whole, or it was cut with a note in front.
fn judge_large(line: &Value) -> StepResult {
    let begins = line["begins"].as_str().unwrap_or_default();
    let bytes = line["text_bytes"].as_u64().unwrap_or_default();
    let ends = line["ends"].as_str().unwrap_or_default();
    if bytes == 3_000_000 && ends.ends_with("THE END") {
        return StepResult::Works;
    }
    match begins.starts_with("[Cut:") && begins.contains("get_result") && bytes > MIN_CUT_BYTES {
        true => StepResult::WorksBut(
            "cut with a note and a handle: it reads no event over 1 MiB".to_owned(),
        ),
        false => StepResult::Failed(line.to_string()),
    }
}
