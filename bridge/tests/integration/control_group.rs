//! A bridge in a control group that has less memory than the machine: its limits follow from the
//! group, and the kernel does not end it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::Command;

use crate::kit::*;

const GROUP_MIB: usize = 300;

/// The signal with which the kernel ends a process that uses too much memory.
const SIGKILL: i32 = 9;

const USERS: usize = 32;

/// How many results of each user stay unread.
const RESULTS: usize = 5;

/// The size of a result: all together are more than twice the memory of the group.
const RESULT_BYTES: usize = 4_000_000;

/// A control group with a memory limit, and one without a limit in it. They are removed when this is
/// dropped, which must be after the end of their processes.
struct MemoryGroup {
    version: &'static str,
    outer: PathBuf,
    inner: PathBuf,
    peak_file: &'static str,
}

impl MemoryGroup {
    /// Creates the groups below that of this process. Prints the reason if the system does not allow
    /// it, and returns `None`.
    fn create(name: &str) -> Option<Self> {
        match Self::try_create(name) {
            Ok(group) => {
                report(&format!("{name}: in control groups of {}", group.version));
                Some(group)
            }
            Err(reason) => {
                report(&format!(
                    "SKIPPED {name}: no control group can be made here: {reason}"
                ));
                None
            }
        }
    }

    fn try_create(name: &str) -> Result<Self, String> {
        let groups = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let own = |is_wanted: fn(&str) -> bool| {
            groups.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                is_wanted(controllers).then(|| path.trim_start_matches('/').to_owned())
            })
        };
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (version, parent, limit_file, peak_file) = if v1.join("memory.limit_in_bytes").exists()
        {
            let path = own(|it| it.split(',').any(|name| name == "memory"));
            let files = ("memory.limit_in_bytes", "memory.max_usage_in_bytes");
            (
                "version 1",
                v1.join(path.ok_or("no group")?),
                files.0,
                files.1,
            )
        } else {
            let path = own(str::is_empty).ok_or("no group")?;
            let parent = Path::new("/sys/fs/cgroup").join(path);
            // It may be on already.
            let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
            ("version 2", parent, "memory.max", "memory.peak")
        };
        let outer = parent.join(format!("mcp-web-{name}-{}", std::process::id()));
        let group = Self {
            version,
            inner: outer.join("inner"),
            outer,
            peak_file,
        };
        for folder in [&group.outer, &group.inner] {
            fs::create_dir(folder)
                .map_err(|error| format!("{version}, {}: {error}", folder.display()))?;
        }
        let file = group.outer.join(limit_file);
        fs::write(&file, (GROUP_MIB * 1024 * 1024).to_string())
            .map_err(|error| format!("{version}, {}: {error}", file.display()))?;
        Ok(group)
    }

    /// The program in the inner group.
    fn program(&self) -> Command {
        let mut program = Command::new("/bin/sh");
        let script = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        program
            .args(["-c", script])
            .arg(&self.inner)
            .arg(built_program("mcp-web"))
            .arg("bridge")
            .env_clear()
            .kill_on_drop(true)
            .stdin(Stdio::null());
        program
    }

    /// The most memory that the processes have used, in MiB.
    fn peak_mib(&self) -> Option<u64> {
        let peak = fs::read_to_string(self.outer.join(self.peak_file)).ok()?;
        Some(peak.trim().parse::<u64>().ok()? / (1024 * 1024))
    }
}

/// Writes a line that a test runner shows also for a test that passes.
fn report(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.inner);
        let _ = fs::remove_dir(&self.outer);
    }
}

#[tokio::test]
async fn the_limits_follow_from_the_nearest_group_with_a_limit() {
    let Some(group) = MemoryGroup::create("limits") else {
        return;
    };
    let output = group.program().arg("--check-config").output();
    let output = with_deadline("check", output).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let half = GROUP_MIB / 2;
    let memory = format!(
        "memory: {half} of {GROUP_MIB} MiB ({}",
        group.outer.display()
    );
    assert!(text.contains(&memory), "{text}");
    assert!(
        text.contains("1200 tokens with pages, 1200 MCP sessions"),
        "{text}"
    );
    assert!(text.starts_with("configuration is good\n"), "{text}");
}

#[tokio::test]
async fn unread_results_do_not_end_a_bridge_in_a_group_of_300_mib() {
    let Some(group) = MemoryGroup::create("unread") else {
        return;
    };
    let (is_alive, unread) = leave_results_unread(&group, &[]).await;
    let peak = group.peak_mib();
    report(&format!("{unread} unread results, peak {peak:?} MiB"));
    assert!(is_alive, "the kernel has ended the bridge");
    assert!(unread > USERS, "{unread}");
    // The same results end a bridge that takes the memory of the machine for its own.
    let (is_alive, _) = leave_results_unread(&group, &["--max-memory-bytes=12884901888"]).await;
    assert!(!is_alive, "the results are too small for this test");
}

/// Starts a bridge in the group with these arguments. All users call a tool with a large result, and
/// read nothing. Returns whether the bridge is alive after that, and the number of unread results.
async fn leave_results_unread(group: &MemoryGroup, arguments: &[&str]) -> (bool, usize) {
    let mut program = group.program();
    program
        .args([
            "--bind=127.0.0.1:0",
            "--log=error",
            "--trusted-proxies=127.0.0.1",
        ])
        .args(arguments)
        .stdout(Stdio::piped());
    let mut bridge = program.spawn().unwrap();
    let url = listening_url(&mut bridge).await;
    let address: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
    let mut held = Vec::new();
    for number in 0..USERS {
        // A user whom the bridge refuses, or whose bridge has ended, panics in the task.
        let user = tokio::spawn(call_without_reading(address, number));
        tokio::select! {
            user = user => held.extend(user.ok()),
            status = bridge.wait() => {
                assert_eq!(status.unwrap().signal(), Some(SIGKILL));
                return (false, 0);
            }
        }
    }
    let health = http_client().get(format!("{url}/healthz")).send();
    let is_served = health.await.is_ok_and(|response| response.status() == 200);
    let has_ended = bridge.try_wait().unwrap().is_some();
    let _ = bridge.kill().await;
    let unread = held.iter().map(|(_, unread)| unread.len()).sum();
    (is_served && !has_ended, unread)
}

/// Connects a page from another address for each number, calls its tool, and leaves the results
/// unread. Returns the sockets.
async fn call_without_reading(address: SocketAddr, number: usize) -> (Page, Vec<TcpStream>) {
    let token = format!("token-of-the-user-with-the-number-{number}");
    let client = format!("192.0.2.{number}");
    let headers = [("x-forwarded-for", client.as_str())];
    let mut page = Page::open_with_headers(address, "s", &headers).await;
    page.authenticate("s", &token).await;
    page.recv_authenticated().await;
    page.register(&[echo_tool()]).await;
    let text = json!("x".repeat(RESULT_BYTES));
    let mut unread = Vec::new();
    for _ in 0..RESULTS {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut socket = socket.connect(address).await.unwrap();
        let body = json!({ "toolName": "echo" }).to_string();
        let request = format!(
            "POST /tool-call HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             x-forwarded-for: {client}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        tokio::select! {
            _ = page.serve_call(text.clone()) => {}
            // The bridge has refused the call.
            readable = socket.readable() => readable.unwrap(),
        }
        with_deadline("response", socket.readable()).await.unwrap();
        unread.push(socket);
    }
    (page, unread)
}
