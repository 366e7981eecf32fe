//! Client libraries, each with a driver.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::{
    ClientRow, ClientStep, ClientTier, ClientsApp, RestartedBridge, RollingDeploy, StepResult,
};
use crate::{BridgeEndpoint, NodeProject, ProcessGroup, program_paths};

/// The time limit for a driver, on a busy machine with two cores.
const RUN_TIMEOUT: Duration = Duration::from_secs(120);

/// The minimum size of a large result that was truncated.
const MIN_CUT_BYTES: u64 = 8_000;

/// How a driver reaches the bridge.
#[derive(Clone, Debug)]
pub enum DriverTransport {
    /// Streamable HTTP.
    Http,
    /// The program `mcp-web-stdio`.
    Stdio,
    /// Another program that connects stdio with the bridge. Its command line and environment may
    /// contain `{url}`, `{token}`, `{home}` (a separate folder), `{node}`, `{modules}` (the npm
    /// packages) and `{python}` (the environment with the Python packages).
    Proxy {
        /// The package of the program.
        package: Package,
        /// The program and its arguments.
        command: &'static [&'static str],
        /// The environment of the program.
        environment: &'static [(&'static str, &'static str)],
    },
}

/// A package of `e2e/clients`.
#[derive(Clone, Copy, Debug)]
pub enum Package {
    /// A package of npm.
    Npm(&'static str),
    /// A package of PyPI, in the environment of the MCP SDK 1.
    Python(&'static str),
}

impl Package {
    fn name_and_version(self) -> String {
        match self {
            Package::Npm(name) => program_paths::clients_package(name),
            Package::Python(name) => {
                let version = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))";
                let python = program_paths::clients_python(1).join("bin/python");
                let output = std::process::Command::new(python)
                    .args(["-c", version, name])
                    .output();
                let output = output.expect("the environment has an interpreter");
                format!("{name} {}", String::from_utf8_lossy(&output.stdout).trim())
            }
        }
    }
}

/// A driver of `e2e/clients`, and the known limitations of its client.
#[derive(Debug)]
pub struct Driver {
    script: &'static str,
    environment: Vec<(&'static str, &'static str)>,
    server: DriverTransport,
    exceptions: Vec<(ClientStep, &'static str)>,
    remarks: Vec<(ClientStep, &'static str)>,
    is_lossy: bool,
    is_quiet: bool,
    tier: ClientTier,
    /// The folder of `target/tools` with its packages, if it is not that of all clients.
    packages: Option<&'static str>,
}

impl Driver {
    /// Creates a driver from a script for Node, `NAME.mjs`, or for Python, `NAME.py`.
    pub fn new(script: &'static str, server: DriverTransport) -> Self {
        Self {
            script,
            environment: Vec::new(),
            server,
            exceptions: Vec::new(),
            remarks: Vec::new(),
            is_lossy: false,
            is_quiet: false,
            tier: ClientTier::EachRun,
            packages: None,
        }
    }

    /// Moves the client to the tier that only `cargo xtask clients` runs, with the basic steps.
    pub fn further(mut self) -> Self {
        self.tier = ClientTier::Further;
        self
    }

    /// Connects the client to a bridge of several that does not serve the page.
    pub fn at_another_bridge(mut self) -> Self {
        self.tier = ClientTier::AnotherBridge;
        self
    }

    /// Sets the folder of `target/tools` with its npm or Python packages.
    pub fn packages(mut self, folder: &'static str) -> Self {
        self.packages = Some(folder);
        self
    }

    /// Adds an environment variable.
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Declares that a step fails, and why. The test fails if it does not.
    pub fn except(mut self, step: ClientStep, why: &'static str) -> Self {
        self.exceptions.push((step, why));
        self
    }

    /// Adds a remark to a step that works.
    pub fn remark(mut self, step: ClientStep, what: &'static str) -> Self {
        self.remarks.push((step, what));
        self
    }

    /// Declares that the client loses progress that it reads together with the answer: what it
    /// receives must be in order, and may be nothing.
    pub fn loses_progress(mut self) -> Self {
        self.is_lossy = true;
        self.remark(
            ClientStep::Progress,
            "reports that it reads together with the answer are lost by its SDK",
        )
    }

    /// Declares that the client itself ends its session when the connection of a request breaks: it sends
    /// none while the bridge restarts.
    pub fn quiet_while_restarting(mut self) -> Self {
        self.is_quiet = true;
        self
    }

    /// Runs the driver against a new page, and checks each step.
    pub async fn run(self, name: &str) {
        let app = ClientsApp::open(self.tier).await;
        let lines = self.run_script(&app).await;
        let line = |step: &str| lines.iter().find(|line| line["step"] == step);
        let connected = line("connect").unwrap_or_else(|| panic!("{name} prints nothing"));
        let client = connected["client"].as_str().unwrap_or(name);
        let proxy;
        let (client, transport) = match &self.server {
            DriverTransport::Http => (client, "HTTP"),
            DriverTransport::Stdio => (client, "stdio"),
            DriverTransport::Proxy { package, .. } => {
                proxy = package.name_and_version();
                (&*proxy, "HTTP, for a client on stdio")
            }
        };
        let mut row =
            ClientRow::new(client, transport, connected["protocol"].as_str()).in_tier(self.tier);
        for &step in self.tier.steps() {
            let result = match line(step.name()) {
                Some(line) => check_step(step, line, &app, self.is_lossy).await,
                None => StepResult::Failed(format!("the driver printed no such line: {lines:?}")),
            };
            row.set(step, self.apply_exceptions(step, result));
        }
        app.assert_forwarded().await;
        row.finish(name);
    }

    /// Runs the driver over a crash of the bridge while it calls a tool without a break. Checks that no
    /// call fails that begins once the bridge listens again, and that nothing opens a new MCP session.
    pub async fn run_over_restart(self) {
        let mut bridge = RestartedBridge::start().await;
        let load = if self.is_quiet { "quiet" } else { "load" };
        let this = self.with("MCP_WEB_OVER_RESTART", load);
        let (project, command) = this.command(&bridge.mcp_url(), bridge.token());
        let mut driver = ProcessGroup::start_with_input(this.script, command);
        driver.wait_for_line("\"loaded\"").await;
        let opened = bridge.initialize_count();
        bridge.crash_and_start().await;
        driver.write_line("the bridge listens again").await;
        bridge.reconnect_program().await;
        let line = driver.wait_for_line("\"checked\"").await;
        let checked: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(checked["failed"], json!([]), "{}", driver.log());
        assert!(has_tool(&checked["tools"], "echo"), "{line}");
        assert_eq!(bridge.initialize_count(), opened, "{line}");
        drop(project);
    }

    /// Runs the driver while it calls a tool without a break and three bridges are replaced, and saves its
    /// row.
    pub async fn run_over_deploy(self, name: &str) {
        let mut deploy = RollingDeploy::start().await;
        let this = self.with("MCP_WEB_OVER_RESTART", "deploy");
        let (project, command) = this.command(&deploy.mcp_url(), deploy.token());
        let mut driver = ProcessGroup::start_with_input(this.script, command);
        let connected = driver.wait_for_line("\"connect\"").await;
        driver.wait_for_line("\"loaded\"").await;
        deploy.replace_all().await;
        deploy.wait_for_calls().await;
        driver.write_line("all bridges are replaced").await;
        let line = driver.wait_for_line("\"checked\"").await;
        let checked: Value = serde_json::from_str(&line).unwrap();
        assert!(has_tool(&checked["tools"], "echo"), "{line}");
        let connected: Value = serde_json::from_str(&connected).unwrap();
        let client = connected["client"].as_str().unwrap_or(name);
        let row = ClientRow::new(client, "HTTP", connected["protocol"].as_str());
        let answered: Vec<u64> = serde_json::from_value(checked["answered"].clone()).unwrap();
        let failed: Vec<String> = serde_json::from_value(checked["failed"].clone()).unwrap();
        deploy.finish(row, &answered, &failed, name).await;
        drop(project);
    }

    async fn run_script(&self, app: &ClientsApp) -> Vec<Value> {
        let (_project, command) = self.command(&app.bed().mcp_url(), app.bed().token());
        let mut driver = ProcessGroup::start(self.script, command);
        let ended = driver.wait_for_end(RUN_TIMEOUT).await;
        assert!(ended, "{} does not end:\n{}", self.script, driver.log());
        let lines = driver.log();
        let lines = lines.lines().filter(|line| line.starts_with("{\"step\":"));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns the command of the driver for the bridge at this URL, and the folder in which it runs.
    fn command(&self, url: &str, token: &str) -> (NodeProject, Command) {
        let project = NodeProject::copy_of("clients/node");
        project.link(&self.node_modules());
        let mut command = if self.is_python() {
            let mut command = Command::new(self.python());
            let scripts = program_paths::workspace().join("e2e/clients/python");
            command.arg(scripts.join(self.script));
            command.env("PYTHONDONTWRITEBYTECODE", "1");
            command
        } else {
            let mut command = Command::new(program_paths::node());
            command.arg(self.script);
            command
        };
        command
            .arg(self.config(url, token, project.path()).to_string())
            .current_dir(project.path())
            .env("NO_COLOR", "1")
            .env("HOME", project.path())
            .env("MCP_WEB_STEPS", self.step_names())
            .envs(self.environment.iter().copied());
        (project, command)
    }

    /// Returns the names of the steps, separated by commas.
    fn step_names(&self) -> String {
        let names: Vec<_> = self.tier.steps().iter().map(|step| step.name()).collect();
        names.join(",")
    }

    fn node_modules(&self) -> PathBuf {
        match self.packages {
            Some(folder) if !self.is_python() => program_paths::tool(folder).join("node_modules"),
            _ => program_paths::clients_node_modules(),
        }
    }

    fn is_python(&self) -> bool {
        self.script.ends_with(".py")
    }

    /// Returns the interpreter of the environment with the library.
    fn python(&self) -> PathBuf {
        if let Some(folder) = self.packages {
            return program_paths::tool(folder).join("bin/python");
        }
        let major = match self.script {
            "mcp_sdk_1.py" | "langchain_adapters.py" => 1,
            _ => 2,
        };
        program_paths::clients_python(major).join("bin/python")
    }

    fn config(&self, url: &str, token: &str, home: &std::path::Path) -> Value {
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
                    text.replace("{url}", url)
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

    /// Applies what is known of the client to the result of a step.
    fn apply_exceptions(&self, step: ClientStep, result: StepResult) -> StepResult {
        let find = |list: &[(ClientStep, &'static str)]| {
            let found = list.iter().find(|(listed, _)| *listed == step);
            found.map(|(_, text)| (*text).to_owned())
        };
        match (result, find(&self.exceptions)) {
            (StepResult::Failed(_), Some(why)) => StepResult::Lacks(why),
            (StepResult::Works, Some(why)) => {
                StepResult::Failed(format!("it works, although it is known not to: {why}"))
            }
            (StepResult::Works, None) => {
                find(&self.remarks).map_or(StepResult::Works, StepResult::WorksBut)
            }
            (result, _) => result,
        }
    }
}

/// Returns the result of a step, from the line of a driver about it. A lossy client may miss reports of
/// progress.
pub(super) async fn check_step(
    step: ClientStep,
    line: &Value,
    app: &ClientsApp,
    is_lossy: bool,
) -> StepResult {
    if let Some(lacks) = line["lacks"].as_str() {
        return StepResult::Lacks(lacks.to_owned());
    }
    let text = line["text"].as_str().unwrap_or_default();
    let works = match step {
        ClientStep::List => {
            has_tool(&line["tools"], "add_note") && has_tool(&line["tools"], "get_result")
        }
        ClientStep::Call => text.contains("\"notes\":1") && app.notes().await == ["buy milk"],
        ClientStep::Wrong => text.contains("text") && text.contains("required"),
        ClientStep::Picture => {
            line["mimeType"] == "image/png" && line["bytes"].as_u64() > Some(1_000)
        }
        ClientStep::Large => return check_large_result(line),
        ClientStep::ListChanged => line["heard"] == true && has_tool(&line["tools"], "second"),
        ClientStep::Progress => is_progress_complete(&line["messages"], is_lossy),
        ClientStep::Cancel => text.starts_with("cancelled"),
        ClientStep::Elicitation => text == "Hello Ada",
        ClientStep::Leaving => app.is_without_clients().await,
    };
    if works {
        StepResult::Works
    } else {
        StepResult::Failed(line.to_string())
    }
}

fn has_tool(tools: &Value, name: &str) -> bool {
    let tools = tools.as_array();
    tools.is_some_and(|tools| tools.iter().any(|tool| tool.as_str() == Some(name)))
}

fn is_progress_complete(messages: &Value, is_lossy: bool) -> bool {
    let all = ["step 1", "step 2", "step 3", "step 4"];
    let Some(messages) = messages.as_array() else {
        return false;
    };
    if !is_lossy {
        return messages.iter().eq(all.iter());
    }
    let mut all = all.iter();
    messages
        .iter()
        .all(|message| all.any(|step| message == step))
}

/// Checks that a large text is complete, or was truncated with a note at its beginning.
fn check_large_result(line: &Value) -> StepResult {
    let begins = line["begins"].as_str().unwrap_or_default();
    let bytes = line["text_bytes"].as_u64().unwrap_or_default();
    let ends = line["ends"].as_str().unwrap_or_default();
    if bytes == 3_000_000 && ends.ends_with("THE END") {
        return StepResult::Works;
    }
    if begins.starts_with("[Cut:") && begins.contains("get_result") && bytes > MIN_CUT_BYTES {
        let remark = "cut with a note and a handle: it reads no event over 1 MiB";
        StepResult::WorksBut(remark.to_owned())
    } else {
        StepResult::Failed(line.to_string())
    }
}
