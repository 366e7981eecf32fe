//! A bridge or a demo for one test.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use crate::{NetworkHost, ProcessGroup, ReservedPort, program_paths};

/// A bridge (or the demo, which is one with a page) as a child process on a free port.
///
/// Each test has its own, so that tests run side by side. All processes stop when it is dropped.
#[derive(Debug)]
pub struct TestBed {
    program: Program,
    arguments: Vec<String>,
    process: ProcessGroup,
    address: SocketAddr,
    /// The host on which it runs, if that is not this machine.
    host: Option<NetworkHost>,
    token: String,
    /// Those of the bridge and its agent, which others name before they start, or when they start again.
    ports: Vec<ReservedPort>,
    _companions: Option<(Option<ProcessGroup>, TempDir)>,
}

#[derive(Clone, Copy, Debug)]
enum Program {
    Bridge,
    Demo,
    DemoNodes,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Program::Bridge => "bridge",
            Program::Demo => "demo",
            Program::DemoNodes => "demo-nodes",
        }
    }

    fn command(self) -> Command {
        if matches!(self, Program::DemoNodes) {
            return Command::new(program_paths::built(self.name()));
        }
        let mut command = Command::new(program_paths::mcp_web());
        command.arg(self.name());
        command
    }

    /// Returns what the program prints before its URL once it listens.
    fn announcement(self) -> &'static str {
        match self {
            Program::Bridge => "listening on http://",
            Program::Demo | Program::DemoNodes => "open http://",
        }
    }
}

impl TestBed {
    /// Starts `mcp-web bridge`.
    pub async fn bridge() -> Self {
        Self::bridge_with(&[]).await
    }

    /// Starts `mcp-web bridge` with more arguments.
    pub async fn bridge_with(arguments: &[&str]) -> Self {
        Self::start(Program::Bridge, arguments).await
    }

    /// Starts `mcp-web bridge` with more arguments on a host of a network.
    pub async fn bridge_on(host: &NetworkHost, arguments: &[&str]) -> Self {
        Self::start_on(Some(host), Program::Bridge, arguments).await
    }

    /// Starts `mcp-web demo` without a language model, even if this machine has keys.
    pub async fn demo() -> Self {
        Self::demo_with(&["--agent-provider", "commands"]).await
    }

    /// Starts `mcp-web demo` with more arguments.
    pub async fn demo_with(arguments: &[&str]) -> Self {
        Self::start(Program::Demo, arguments).await
    }

    /// Starts the demo with several bridges behind a balancer, without a language model.
    pub async fn demo_nodes(nodes: usize) -> Self {
        let nodes = nodes.to_string();
        let arguments = ["--nodes", &nodes, "--", "--agent-provider", "commands"];
        Self::start(Program::DemoNodes, &arguments).await
    }

    /// Starts a bridge as a guide describes. A shell runs `script` with the programs of this
    /// workspace, a free port and a temporary home. This bridge cannot be restarted.
    pub async fn from_shell(script: &str, variables: &[(&str, &str)]) -> Self {
        let home = TempDir::with_prefix("mcp-web-home-").unwrap();
        let bridge = shell(script, variables, &home);
        Self::from_processes(bridge, None, home).await
    }

    /// Starts a bridge and an agent as a guide describes, each in its own shell. The ports in
    /// the guide are replaced by free ones. Also returns the host of the agent, with its port.
    pub async fn from_two_shells(
        bridge: &str,
        agent: &str,
        variables: &[(&str, &str)],
    ) -> (Self, String) {
        let home = TempDir::with_prefix("mcp-web-home-").unwrap();
        let port = ReservedPort::reserve();
        let bind = port.address().to_string();
        let host = format!("localhost:{}", port.address().port());
        let agent = agent.replace("localhost:3001", &host);
        let mut agent = shell(&agent, variables, &home);
        agent.env("MCP_WEB_AGENT_BIND", "127.0.0.1:0");
        let mut agent = ProcessGroup::start("agent", agent);
        let line = agent.wait_for_line("listening on http://").await;
        let agent_host = format!("localhost:{}", port_in(&line));
        let bridge = bridge.replace("localhost:3003", &agent_host);
        let mut bridge = shell(&bridge, variables, &home);
        bridge.env("MCP_WEB_BIND", bind);
        let mut bed = Self::from_processes(bridge, Some(agent), home).await;
        bed.ports.push(port);
        (bed, agent_host)
    }

    async fn from_processes(bridge: Command, agent: Option<ProcessGroup>, home: TempDir) -> Self {
        let program = Program::Bridge;
        let mut process = ProcessGroup::start(program.name(), bridge);
        let line = process.wait_for_line(program.announcement()).await;
        Self {
            program,
            arguments: Vec::new(),
            process,
            address: (Ipv4Addr::LOCALHOST, port_in(&line)).into(),
            host: None,
            token: "a-token-for-one-journey-0123456789".to_owned(),
            ports: Vec::new(),
            _companions: Some((agent, home)),
        }
    }

    async fn start(program: Program, arguments: &[&str]) -> Self {
        Self::start_on(None, program, arguments).await
    }

    async fn start_on(host: Option<&NetworkHost>, program: Program, arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
        let port = host.map_or_else(ReservedPort::reserve, |host| {
            host.run(ReservedPort::reserve)
        });
        let mut bind = port.address();
        bind.set_ip(host.map_or(bind.ip(), NetworkHost::address));
        let (process, address) = listen(host, program, &arguments, bind).await;
        Self {
            program,
            arguments,
            process,
            address,
            host: host.cloned(),
            token: "a-token-for-one-journey-0123456789".to_owned(),
            ports: vec![port],
            _companions: None,
        }
    }

    /// Returns the token of the pages and clients in this test bed.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Sets the token to one that a page generated, like a user who copies the page's configuration
    /// into an AI client.
    pub fn set_token(&mut self, token: String) {
        self.token = token;
    }

    /// Returns the base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the URL of the MCP endpoint.
    pub fn mcp_url(&self) -> String {
        format!("{}/mcp", self.url())
    }

    /// Returns the URL of the page socket for `session`.
    pub fn page_url(&self, session: &str) -> String {
        format!("ws://{}/ws?session={session}", self.address)
    }

    /// Returns the address of the bridge.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns everything that the bridge has printed.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Returns the process id of the bridge.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the processor time that the bridge has used so far.
    pub fn cpu_time(&self) -> Duration {
        self.process.meter().cpu_time().unwrap()
    }

    /// Returns the peak memory of the bridge, in bytes.
    pub fn peak_memory(&self) -> u64 {
        self.process.meter().peak_memory().unwrap()
    }

    /// Kills the bridge like a crash. [`TestBed::restart`] starts it again.
    pub async fn crash(&mut self) {
        self.process.kill().await;
    }

    /// Stops the process of the bridge (SIGSTOP): nothing is read and no timer fires until
    /// [`TestBed::unpause`].
    pub fn pause(&self) {
        self.process.pause();
    }

    /// Lets the process of the bridge run again (SIGCONT).
    pub fn unpause(&self) {
        self.process.unpause();
    }

    /// Stops the bridge like Ctrl-C, without waiting for calls. [`TestBed::restart`] starts it again.
    pub async fn stop(&mut self) {
        self.process.interrupt();
        self.process.wait_until_gone().await;
    }

    /// Asks the bridge to end when its calls have ended (SIGTERM).
    pub(crate) fn drain(&self) {
        self.process.request_end();
    }

    /// Waits until the bridge has ended. [`TestBed::restart`] starts it again.
    pub(crate) async fn wait_until_gone(&mut self) {
        self.process.wait_until_gone().await;
    }

    /// Starts the bridge again on the same port.
    pub async fn restart(&mut self) {
        let host = self.host.as_ref();
        let (process, address) = listen(host, self.program, &self.arguments, self.address).await;
        assert_eq!(address, self.address, "the port is the same as before");
        self.process = process;
    }
}

async fn listen(
    host: Option<&NetworkHost>,
    program: Program,
    arguments: &[String],
    bind: SocketAddr,
) -> (ProcessGroup, SocketAddr) {
    let mut command = program.command();
    command.args(["--bind", &bind.to_string()]).args(arguments);
    let start = || ProcessGroup::start(program.name(), command);
    let mut process = match host {
        Some(host) => host.run(start),
        None => start(),
    };
    let line = process.wait_for_line(program.announcement()).await;
    let address = (bind.ip(), port_in(&line)).into();
    (process, address)
}

/// Creates a shell that runs a code block of a guide.
fn shell(script: &str, variables: &[(&str, &str)], home: &TempDir) -> Command {
    let programs = program_paths::mcp_web();
    let programs = programs.parent().expect("an executable is in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .args(["-euc", script])
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("XDG_CONFIG_HOME", home.path())
        .env("NO_PROXY", "localhost,127.0.0.1")
        .env("MCP_WEB_BIND", "127.0.0.1:0")
        .envs(variables.iter().copied());
    command
}

/// Returns the port in `… http://host:PORT/…`.
fn port_in(line: &str) -> u16 {
    let (_, url) = line.split_once("://").expect("the line has a URL");
    let (_, port) = url.split_once(':').expect("the URL has a port");
    let digits = port.split(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no port in {line:?}"))
}
