//! Servers of NATS for tests. They end with the thread that started them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tempfile::TempDir;

use super::reserved_port::ReservedPort;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The address at which servers listen, but for those on other hosts.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A server with JetStream on a port of its host, which it keeps when it starts again.
#[derive(Debug)]
pub struct NatsServer {
    program: OsString,
    address: SocketAddr,
    _port: ReservedPort,
    _route: Option<ReservedPort>,
    folder: TempDir,
    process: Option<Process>,
    /// The log of the processes that have ended.
    log: String,
}

#[derive(Debug)]
struct Process {
    child: Child,
    log: JoinHandle<String>,
}

impl NatsServer {
    /// Starts the newest version that tests run with, without a login.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Starts a server with further lines of its configuration.
    pub fn start_with(configuration: &str) -> Self {
        Self::start_program(newest(), LOOPBACK, None, configuration)
    }

    /// Starts the oldest version that the bridge supports.
    pub fn start_oldest() -> Self {
        let program = env::var_os("MCP_WEB_NATS_SERVER_OLDEST").expect(
            "`cargo xtask test` sets MCP_WEB_NATS_SERVER_OLDEST to the path of a server of version 2.10",
        );
        Self::start_program(program, LOOPBACK, None, "")
    }

    /// Starts the newest version at an address of this host.
    pub fn start_at(ip: IpAddr) -> Self {
        Self::start_program(newest(), ip, None, "")
    }

    /// Starts three servers that replicate their buckets. They have no leader yet.
    pub fn start_three() -> [Self; 3] {
        Self::start_three_at(LOOPBACK)
    }

    /// Starts three servers that replicate their buckets at an address of this host. They have no leader yet.
    pub fn start_three_at(ip: IpAddr) -> [Self; 3] {
        let routes = [(); 3].map(|()| ReservedPort::reserve());
        let urls = routes
            .each_ref()
            .map(|route| format!("nats://{}", route.address()))
            .join(", ");
        routes.map(|route| {
            let cluster = format!(
                "cluster {{ name: test, listen: \"{}\", routes: [{urls}] }}",
                route.address()
            );
            Self::start_program(newest(), ip, Some(route), &cluster)
        })
    }

    fn start_program(
        program: OsString,
        ip: IpAddr,
        route: Option<ReservedPort>,
        configuration: &str,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = ReservedPort::reserve();
        let address = SocketAddr::new(ip, port.address().port());
        let store = folder.path().join("store");
        let text = format!(
            "listen: \"{address}\"\nserver_name: nats-{}\njetstream {{ store_dir: {store:?} }}\n{configuration}\n",
            address.port(),
        );
        fs::write(folder.path().join("nats.conf"), text).unwrap();
        let mut server = Self {
            program,
            address,
            _port: port,
            _route: route,
            folder,
            process: None,
            log: String::new(),
        };
        server.restart();
        server
    }

    /// Starts the server after it has ended, with what is in its store.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "the server runs");
        // A test that is killed takes its servers with it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(&self.program);
        command
            .arg("--config")
            .arg(self.folder.path().join("nats.conf"));
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        self.process = Some(Process::wait_until_ready(child));
    }

    /// Ends the server in order (SIGTERM).
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.wait_until_gone();
    }

    /// Ends the server as a crash does (SIGKILL).
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait_until_gone();
    }

    /// Stops the server (SIGSTOP) until [`NatsServer::resume`], and waits until it has stopped.
    pub fn suspend(&self) {
        let process = self.signal(Signal::STOP);
        waitid(WaitId::Pid(process), WaitIdOptions::STOPPED).unwrap();
    }

    /// Lets the server run again (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Removes all that a server which has ended has stored.
    pub fn remove_store(&self) {
        assert!(self.process.is_none(), "the server runs");
        fs::remove_dir_all(self.folder.path().join("store")).unwrap();
    }

    /// Returns the URL for clients.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Returns the name that the server has among others.
    pub fn name(&self) -> String {
        format!("nats-{}", self.address.port())
    }

    /// Returns the name of the server that leads the stream of a bucket, as this one knows it. It is `None`
    /// between two leaders, and before the bucket was created.
    pub async fn find_leader(&self, stream: &str) -> Option<String> {
        let client = async_nats::connect(self.url()).await.ok()?;
        let stream = async_nats::jetstream::new(client).get_stream(stream).await;
        stream.ok()?.cached_info().cluster.clone()?.leader
    }

    /// Returns what the server has logged until it ended.
    pub fn log(&self) -> &str {
        &self.log
    }

    fn signal(&self, signal: Signal) -> Pid {
        let process = self.process.as_ref().expect("the server runs");
        let pid = Pid::from_child(&process.child);
        kill_process(pid, signal).unwrap();
        pid
    }

    fn wait_until_gone(&mut self) {
        let mut process = self.process.take().expect("the server runs");
        process.child.wait().unwrap();
        self.log += &process.log.join().unwrap();
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}

/// Returns the newest version that tests run with, or that of the `PATH`.
fn newest() -> OsString {
    env::var_os("MCP_WEB_NATS_SERVER").unwrap_or_else(|| "nats-server".into())
}

impl Process {
    fn wait_until_ready(mut child: Child) -> Self {
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, receiver) = mpsc::channel();
        // It reads until the end, so that the server can write its log.
        let log = thread::spawn(move || {
            let mut log = String::new();
            for line in lines.map_while(Result::ok) {
                log += &line;
                log.push('\n');
                let _ = sender.send(line);
            }
            log
        });
        let mut seen = String::new();
        while !seen.contains("Server is ready") {
            let line = receiver.recv_timeout(START_TIMEOUT);
            seen += &line.unwrap_or_else(|error| {
                panic!("the server of `cargo xtask test` does not start: {error}: {seen}")
            });
            seen.push('\n');
        }
        Self { child, log }
    }
}
