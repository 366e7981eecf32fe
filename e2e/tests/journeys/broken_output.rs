//! Programs whose stdout or stderr cannot be written: they serve as before, and end when asked to.

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use e2e::{AgentEndpoint, TestBed, echo_program, http, poll_pause, program_paths};
use futures_util::{StreamExt, stream};
use mcp_web_sdk::McpWeb;
use reqwest::header::{ACCEPT, HeaderMap};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// The longest time in which a program must start, serve and end.
const CELL_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of programs that run at the same time.
const CONCURRENT_PROGRAMS: usize = 4;

/// The number of times that a program must answer. It is more than a program has threads, each of which
/// one broken write could end.
const ROUNDS: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Bridge,
    Agent,
    /// A source of the agent as an MCP server over stdin and stdout.
    Plugin,
    Stdio,
    Demo,
}

impl Program {
    /// Returns whether stdout carries the protocol.
    fn is_over_stdio(self) -> bool {
        matches!(self, Self::Plugin | Self::Stdio)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Closed,
    DeviceFull,
    ReaderGone,
    /// The pipe is full, and its reader does not read.
    ReaderStalled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    AtStart,
    /// The program has served before.
    Later,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    program: Program,
    stream: Stream,
    fault: Fault,
    moment: Moment,
    level: &'static str,
}

/// Returns all rows of the table.
fn cells() -> impl Iterator<Item = Cell> {
    use Fault::{Closed, DeviceFull, ReaderGone, ReaderStalled};
    use Moment::{AtStart, Later};
    use Program::{Agent, Bridge, Demo, Plugin, Stdio};
    let faults = [
        (Closed, AtStart),
        (DeviceFull, AtStart),
        (ReaderGone, AtStart),
        (ReaderStalled, AtStart),
        (ReaderGone, Later),
        (ReaderStalled, Later),
    ];
    let streams = [Stream::Stdout, Stream::Stderr];
    let programs = [Bridge, Agent, Plugin, Stdio, Demo].into_iter();
    let programs = programs.flat_map(move |it| streams.map(|stream| (it, stream)));
    let programs = programs.filter(|(it, stream)| *stream == Stream::Stderr || !it.is_over_stdio());
    programs.flat_map(move |(program, stream)| {
        let rows = faults.into_iter().flat_map(move |(fault, moment)| {
            ["error", "info", "trace"].map(|level| Cell {
                program,
                stream,
                fault,
                moment,
                level,
            })
        });
        rows.collect::<Vec<_>>()
    })
}

#[tokio::test]
async fn programs_serve_although_their_output_cannot_be_written() {
    let upstream = Upstream::start().await;
    let results = stream::iter(cells())
        .map(|cell| {
            let upstream = &upstream;
            async move {
                let passed = timeout(CELL_TIMEOUT, cell.check(upstream)).await;
                let passed = passed.unwrap_or_else(|_| bail!("it did not end in time"));
                passed.err().map(|error| format!("{cell:?}: {error:#}"))
            }
        })
        .buffer_unordered(CONCURRENT_PROGRAMS);
    let results: Vec<_> = results.collect().await;
    let failures: Vec<_> = results.iter().flatten().map(String::as_str).collect();
    let (count, failed) = (results.len(), failures.len());
    println!("{} of {count} programs served", count - failed);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn the_stdio_client_ends_when_its_stdout_cannot_be_written() {
    let upstream = Upstream::start().await;
    for fault in [Fault::DeviceFull, Fault::ReaderGone] {
        for level in ["error", "trace"] {
            let cell = Cell {
                program: Program::Stdio,
                stream: Stream::Stdout,
                fault,
                moment: Moment::AtStart,
                level,
            };
            let (mut command, _address) = cell.program.command(level, &upstream);
            let _broken = cell.connect(&mut command).unwrap();
            let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(INITIALIZE_LINE.as_bytes()).await.unwrap();
            let ended = timeout(CELL_TIMEOUT, child.wait()).await;
            assert!(ended.unwrap().unwrap().success(), "{cell:?}");
        }
    }
}

#[tokio::test]
async fn commands_end_with_a_plain_exit_code_although_no_process_reads_their_result() {
    let upstream = Upstream::start().await;
    let folder = &upstream.folder;
    let key = folder.path().join("key").display().to_string();
    let secrets = folder.path().join("secrets").display().to_string();
    let mut generate = program("mcp-web agent");
    let generated = generate.args(["secrets", "generate-key", &key]).status();
    assert!(generated.await.unwrap().success());
    let secrets = ["--secrets-file", &secrets, "--master-key-file", &key];
    let mcp = ["mcp", "list"].as_slice();
    let list = [&["secrets"], secrets.as_slice(), &["list"]].concat();
    let commands: &[(&str, &[&str])] = &[
        ("mcp-web bridge", &["--help"]),
        ("mcp-web bridge", &["--version"]),
        ("mcp-web bridge", &["--print-config"]),
        ("mcp-web bridge", &["--check-config"]),
        ("mcp-web bridge", &["--bind", "0.0.0.0:1", "--check-config"]),
        ("mcp-web bridge", &["--wrong"]),
        ("mcp-web agent", &["--help"]),
        ("mcp-web agent", &["--print-config"]),
        ("mcp-web agent", &["--print-prompt"]),
        (
            "mcp-web agent",
            &["--provider", "commands", "--check-config"],
        ),
        ("mcp-web agent", &["secrets", "--help"]),
        ("mcp-web agent", &list),
        ("mcp-web agent", mcp),
        ("mcp-web agent", &["plugin", "--help"]),
        ("mcp-web", &["run-server", "false"]),
        ("mcp-web", &["read-sqlite"]),
        ("mcp-web-stdio", &["--help"]),
        ("mcp-web-stdio", &["--url", "wrong"]),
        ("mcp-web demo", &["--help"]),
        ("mcp-web demo", &["--print-config"]),
        ("mcp-web demo", &["--agent-provider", "anthropic"]),
    ];
    for (name, arguments) in commands {
        for stream in [Stream::Stdout, Stream::Stderr] {
            for fault in [Fault::Closed, Fault::DeviceFull, Fault::ReaderGone] {
                let cell = Cell {
                    program: Program::Bridge,
                    stream,
                    fault,
                    moment: Moment::AtStart,
                    level: "info",
                };
                let mut command = program(name);
                command.args(*arguments).env("HOME", folder.path());
                command.env("MCP_WEB_AGENT_TOKEN", upstream.endpoint.token());
                let _broken = cell.connect(&mut command).unwrap();
                let ended = timeout(CELL_TIMEOUT, command.stdin(Stdio::null()).status());
                let status = ended.await.unwrap().unwrap();
                let is_plain = status.code().is_some_and(|code| code <= 2);
                assert!(
                    is_plain,
                    "{name} {arguments:?} with {stream:?} {fault:?}: {status}"
                );
            }
        }
    }
}

/// The servers that the programs of the table use, whose output is read.
struct Upstream {
    bed: TestBed,
    endpoint: AgentEndpoint,
    http: reqwest::Client,
    folder: TempDir,
    _page: McpWeb,
}

impl Upstream {
    async fn start() -> Self {
        let endpoint = AgentEndpoint::reserve();
        let bed = endpoint.start_bridge(&[]).await;
        let page = echo_program(&bed, "page").await;
        Self {
            bed,
            endpoint,
            http: http(),
            folder: TempDir::with_prefix("mcp-web-output-").unwrap(),
            _page: page,
        }
    }
}

impl Cell {
    /// Runs the program, and checks that it serves and ends.
    async fn check(self, upstream: &Upstream) -> Result<()> {
        let (mut command, address) = self.program.command(self.level, upstream);
        let pipe = match self.moment {
            Moment::AtStart => self.connect(&mut command)?,
            Moment::Later => {
                let (reader, writer) = pipe()?;
                self.stream
                    .of(&mut command, Stdio::from(writer.try_clone()?));
                Some((reader, writer))
            }
        };
        let mut served = Served::start(self.program, command, address)?;
        served.wait_until_ready(upstream).await?;
        let _pipe = match (self.moment, self.fault, pipe) {
            (Moment::Later, fault, Some(pipe)) => {
                served.serve(upstream).await.context("before the fault")?;
                if fault == Fault::ReaderStalled {
                    fill(&pipe.1)?;
                    Some(pipe)
                } else {
                    None
                }
            }
            (_, _, pipe) => pipe,
        };
        for round in 0..ROUNDS {
            let served = served.serve(upstream).await;
            served.with_context(|| format!("in round {round}"))?;
        }
        let status = served.end().await?;
        ensure!(status.success(), "{status}");
        Ok(())
    }

    /// Connects the stream to a target that is broken from the start. The returned value must live as
    /// long as the process.
    fn connect(self, command: &mut Command) -> Result<Option<(PipeReader, PipeWriter)>> {
        let (stdio, kept) = match self.fault {
            Fault::Closed => {
                close(self.stream, command);
                return Ok(None);
            }
            Fault::DeviceFull => {
                let device = File::options().write(true).open("/dev/full")?;
                (Stdio::from(device), None)
            }
            Fault::ReaderGone => (Stdio::from(pipe()?.1), None),
            Fault::ReaderStalled => {
                let (reader, writer) = pipe()?;
                fill(&writer)?;
                (Stdio::from(writer.try_clone()?), Some((reader, writer)))
            }
        };
        self.stream.of(command, stdio);
        Ok(kept)
    }
}

impl Stream {
    /// Sets this stream of a command.
    fn of(self, command: &mut Command, stdio: Stdio) {
        match self {
            Stream::Stdout => command.stdout(stdio),
            Stream::Stderr => command.stderr(stdio),
        };
    }
}

/// Makes a command start without a stream.
fn close(stream: Stream, command: &mut Command) {
    let script = match stream {
        Stream::Stdout => r#"exec "$0" "$@" >&-"#,
        Stream::Stderr => r#"exec "$0" "$@" 2>&-"#,
    };
    let former = command.as_std();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", script])
        .arg(former.get_program())
        .args(former.get_args())
        .env_clear()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    for (name, value) in former.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    *command = shell;
}

/// Fills a pipe, so that the next write waits for a reader. Its writers stay blocking.
fn fill(pipe: &PipeWriter) -> Result<()> {
    let mut pipe = OpenOptions::new()
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(format!("/proc/self/fd/{}", pipe.as_raw_fd()))?;
    // A pipe without room for some bytes may still have room for one.
    for text in [[b'\n'; 1024].as_slice(), b"\n"] {
        while pipe.write(text).is_ok() {}
    }
    Ok(())
}

/// Creates a command with nothing in its environment. After the name of a program, `words` can have one of
/// its commands.
fn program(words: &str) -> Command {
    let (name, arguments) = words.split_once(' ').unwrap_or((words, ""));
    let mut command = Command::new(program_paths::built(name));
    command
        .args(arguments.split_whitespace())
        .env_clear()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

impl Program {
    /// Returns the command of a server, and its reserved address.
    fn command(self, level: &str, upstream: &Upstream) -> (Command, AgentEndpoint) {
        let address = AgentEndpoint::reserve();
        let bind = address.url().replace("http://", "");
        let mut command = match self {
            Program::Bridge => program("mcp-web bridge"),
            Program::Demo => {
                let mut command = program("mcp-web demo");
                command.args(["--agent-provider", "commands"]);
                command
            }
            Program::Agent => {
                let mut command = program("mcp-web agent");
                command.args(["--provider", "commands", "--bridge-url"]);
                command.arg(upstream.bed.url());
                command.env("MCP_WEB_AGENT_TOKEN", upstream.endpoint.token());
                command
            }
            Program::Plugin => {
                let mut command = program("mcp-web agent");
                command.args(["plugin", "serve", "--log", level]);
                let root = format!("files={}", upstream.folder.path().display());
                command.args(["filesystem", "--root", &root]);
                return (command, address);
            }
            Program::Stdio => {
                let mut command = program("mcp-web-stdio");
                command.env("MCP_SERVER_URL", upstream.bed.mcp_url());
                command.env("AUTH_TOKEN", upstream.bed.token());
                command
            }
        };
        if !self.is_over_stdio() {
            command.args(["--bind", &bind]);
        }
        command.args(["--log", level]);
        (command, address)
    }
}

const INITIALIZE_LINE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    "\n"
);

/// A running program of the table.
struct Served {
    program: Program,
    address: AgentEndpoint,
    child: Child,
    /// The lines of the stdio client.
    stdout: Option<BufReader<ChildStdout>>,
    requests: u64,
}

impl Served {
    fn start(program: Program, mut command: Command, address: AgentEndpoint) -> Result<Self> {
        if program.is_over_stdio() {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            command.stdin(Stdio::null());
        }
        let mut child = command.spawn()?;
        // The test has no copy of the other end of a pipe from here on.
        drop(command);
        Ok(Self {
            program,
            address,
            stdout: child.stdout.take().map(BufReader::new),
            child,
            requests: 0,
        })
    }

    /// Waits until the program listens.
    async fn wait_until_ready(&mut self, upstream: &Upstream) -> Result<()> {
        if self.program.is_over_stdio() {
            return Ok(());
        }
        let url = format!("{}/healthz", self.address.url());
        while upstream.http.get(&url).send().await.is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended before it listened: {status}");
            }
            poll_pause().await;
        }
        Ok(())
    }

    /// Uses the program once.
    async fn serve(&mut self, upstream: &Upstream) -> Result<()> {
        match self.program {
            Program::Bridge => self.list_tools(upstream).await,
            Program::Demo => {
                let page = upstream.http.get(self.address.url());
                let page = page.header(ACCEPT, "text/html").send().await?;
                let page = page.error_for_status()?.text().await?;
                ensure!(page.contains("<html"), "{page}");
                self.list_tools(upstream).await
            }
            Program::Agent => self.answer_query(upstream).await,
            Program::Plugin | Program::Stdio => self.answer_line().await,
        }
    }

    /// Opens an MCP session, and lists its tools.
    async fn list_tools(&self, upstream: &Upstream) -> Result<()> {
        let url = self.address.url();
        let health = upstream.http.get(format!("{url}/healthz")).send().await?;
        health.error_for_status()?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, "application/json, text/event-stream".parse()?);
        let send = async |headers: HeaderMap, message: &Value| {
            let request = upstream.http.post(format!("{url}/mcp")).headers(headers);
            let request = request.bearer_auth(upstream.bed.token()).json(message);
            request.send().await?.error_for_status()
        };
        let initialize = serde_json::from_str(INITIALIZE_LINE)?;
        let initialized = send(headers.clone(), &initialize).await?;
        let session = initialized.headers().get("mcp-session-id");
        headers.insert("mcp-session-id", session.context("no session")?.clone());
        initialized.text().await?;
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let tools = send(headers, &list).await?.text().await?;
        ensure!(tools.contains("get_connection_status"), "{tools}");
        Ok(())
    }

    async fn answer_query(&mut self, upstream: &Upstream) -> Result<()> {
        self.requests += 1;
        let id = self.child.id().context("it has ended")?;
        let url = format!("{}/query/{id}-{}", self.address.url(), self.requests);
        let request = upstream.http.put(url).bearer_auth(upstream.bed.token());
        let request = request
            .header(ACCEPT, "text/event-stream")
            .json(&json!({ "prompt": "hello" }));
        let response = request.send().await?;
        let status = response.status();
        let answer = response.text().await?;
        ensure!(answer.contains("query_complete"), "{status}: {answer}");
        Ok(())
    }

    /// Sends a line to the stdio client, and reads its answer.
    async fn answer_line(&mut self) -> Result<()> {
        let message = if self.requests == 0 {
            INITIALIZE_LINE.to_owned()
        } else {
            let list = json!({ "jsonrpc": "2.0", "id": self.requests, "method": "tools/list" });
            format!("{list}\n")
        };
        let stdin = self.child.stdin.as_mut().context("stdin is piped")?;
        stdin.write_all(message.as_bytes()).await?;
        let stdout = self.stdout.as_mut().context("stdout is piped")?;
        loop {
            let mut line = String::new();
            ensure!(stdout.read_line(&mut line).await? > 0, "it has ended");
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == self.requests {
                ensure!(answer["result"].is_object(), "{answer}");
                self.requests += 1;
                return Ok(());
            }
        }
    }

    /// Ends the program like the one that has started it.
    async fn end(mut self) -> Result<ExitStatus> {
        if self.program.is_over_stdio() {
            drop(self.child.stdin.take());
        } else {
            let id = self.child.id().context("it has ended")?;
            let process = Pid::from_raw(id.cast_signed()).context("an id")?;
            kill_process(process, Signal::TERM)?;
        }
        Ok(self.child.wait().await?)
    }
}
