//! A client library with its driver.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{Cell, ClientsApp, Row, Step};
use crate::{NodeProject, ProcessGroup, tools};

/// The whole walk of a driver, on a busy machine with two cores.
const WALK_WITHIN: Duration = Duration::from_secs(120);

/// What the text of a large result has at least, if it was cut.
const CUT_BYTES: u64 = 8_000;

/// How a driver reaches the bridge.
#[derive(Clone, Debug)]
pub enum Server {
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
            Package::Npm(name) => tools::clients_package(name),
            Package::Python(name) => {
                let version = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))";
                let python = tools::clients_python(1).join("bin/python");
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
    server: Server,
    exceptions: Vec<(Step, &'static str)>,
    remarks: Vec<(Step, &'static str)>,
    is_lossy: bool,
}

impl Driver {
    /// A script on Node: `NAME.mjs`; or in Python: `NAME.py`.
    pub fn new(script: &'static str, server: Server) -> Self {
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
    pub fn except(mut self, step: Step, why: &'static str) -> Self {
        self.exceptions.push((step, why));
        self
    }

    /// It works, and this is to be known.
    pub fn remark(mut self, step: Step, what: &'static str) -> Self {
        self.remarks.push((step, what));
        self
    }

    /// It loses reports of progress that it reads together with the answer: those that it hears must be
    /// in order, and may be none.
    pub fn loses_progress(mut self) -> Self {
        self.is_lossy = true;
        self.remark(
            Step::Progress,
            "reports that it reads together with the answer are lost by its SDK",
        )
    }

    /// Runs it against a page of its own, and judges each step.
    pub async fn run(self, name: &str) {
        let app = ClientsApp::open().await;
        let lines = self.walk(&app).await;
        let line = |step: &str| lines.iter().find(|line| line["step"] == step);
        let connected = line("connect").unwrap_or_else(|| panic!("{name} says nothing"));
        let client = connected["client"].as_str().unwrap_or(name);
        let proxy;
        let (client, over) = match &self.server {
            Server::Http => (client, "HTTP"),
            Server::Stdio => (client, "stdio"),
            Server::Proxy { package, .. } => {
                proxy = package.name_and_version();
                (&*proxy, "HTTP, for a client on stdio")
            }
        };
        let mut row = Row::new(client, over, connected["protocol"].as_str());
        for step in Step::ALL {
            let cell = match line(step.name()) {
                Some(line) => self.judge(step, line, &app).await,
                None => Cell::Failed(format!("it printed no such line: {lines:?}")),
            };
            row.set(step, self.known(step, cell));
        }
        row.finish(name);
    }

    async fn walk(&self, app: &ClientsApp) -> Vec<Value> {
        let project = NodeProject::copy_of("clients/node");
        project.link(&tools::clients_node_modules());
        let mut command = match self.script.ends_with(".py") {
            true => {
                let mut command = Command::new(self.python());
                let script = tools::workspace()
                    .join("e2e/clients/python")
                    .join(self.script);
                command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            false => {
                let mut command = Command::new(tools::node());
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
        let ended = driver.ended_within(WALK_WITHIN).await;
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
        tools::clients_python(major).join("bin/python")
    }

    fn config(&self, app: &ClientsApp, home: &std::path::Path) -> Value {
        let (url, token) = (app.world.mcp_url(), app.world.token());
        match &self.server {
            Server::Http => json!({ "url": url, "token": token }),
            Server::Stdio => json!({
                "command": tools::built("mcp-web-stdio"),
                "args": [],
                "env": { "MCP_SERVER_URL": url, "AUTH_TOKEN": token },
            }),
            Server::Proxy {
                command,
                environment,
                ..
            } => {
                let fill = |text: &str| {
                    text.replace("{url}", &url)
                        .replace("{token}", token)
                        .replace("{home}", &home.display().to_string())
                        .replace("{node}", &tools::node().display().to_string())
                        .replace(
                            "{modules}",
                            &tools::clients_node_modules().display().to_string(),
                        )
                        .replace("{python}", &tools::clients_python(1).display().to_string())
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
    async fn judge(&self, step: Step, line: &Value, app: &ClientsApp) -> Cell {
        if let Some(lacks) = line["lacks"].as_str() {
            return Cell::Lacks(lacks.to_owned());
        }
        let text = line["text"].as_str().unwrap_or_default();
        let has = |tools: &Value, name: &str| {
            let tools = tools.as_array();
            tools.is_some_and(|tools| tools.iter().any(|tool| tool.as_str() == Some(name)))
        };
        let works = match step {
            Step::List => has(&line["tools"], "add_note") && has(&line["tools"], "get_result"),
            Step::Call => text.contains("\"notes\":1") && app.notes().await == ["buy milk"],
            Step::Wrong => text.contains("text") && text.contains("required"),
            Step::Picture => {
                line["mimeType"] == "image/png" && line["bytes"].as_u64() > Some(1_000)
            }
            Step::Large => return large(line),
            Step::ListChanged => line["heard"] == true && has(&line["tools"], "second"),
            Step::Progress => self.progress(&line["messages"]),
            Step::Cancel => text.starts_with("cancelled"),
            Step::Elicitation => text == "Hello Ada",
            Step::Leaving => app.is_left().await,
        };
        match works {
            true => Cell::Works,
            false => Cell::Failed(line.to_string()),
        }
    }

    fn progress(&self, messages: &Value) -> bool {
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
    fn known(&self, step: Step, cell: Cell) -> Cell {
        let of = |list: &[(Step, &'static str)]| {
            let found = list.iter().find(|(of, _)| *of == step);
            found.map(|(_, why)| (*why).to_owned())
        };
        match (cell, of(&self.exceptions)) {
            (Cell::Failed(_), Some(why)) => Cell::Lacks(why),
            (Cell::Works, Some(why)) => {
                Cell::Failed(format!("it works now, and is known not to: {why}"))
            }
            (Cell::Works, None) => of(&self.remarks).map_or(Cell::Works, Cell::WorksBut),
            (cell, _) => cell,
        }
    }
}

/// A large text came whole, or it was cut with a note in front.
fn large(line: &Value) -> Cell {
    let begins = line["begins"].as_str().unwrap_or_default();
    let bytes = line["text_bytes"].as_u64().unwrap_or_default();
    let ends = line["ends"].as_str().unwrap_or_default();
    if bytes == 3_000_000 && ends.ends_with("THE END") {
        return Cell::Works;
    }
    match begins.starts_with("[Cut:") && begins.contains("get_result") && bytes > CUT_BYTES {
        true => {
            Cell::WorksBut("cut with a note and a handle: it reads no event over 1 MiB".to_owned())
        }
        false => Cell::Failed(line.to_string()),
    }
}
