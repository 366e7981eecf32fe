//! Sockets that a service manager passes, and the states that it is notified of.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;
#[cfg(target_os = "linux")]
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

use bridge_edge::http_client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::RunningBridge;
use crate::kit::{bridge_program, built_program, with_deadline};

/// The number of connections during a restart.
const CONNECTIONS: usize = 100;

/// The number of clients that keep their connections.
const CALLERS: usize = 20;

/// The bridge with a socket as systemd passes it: as the first descriptor after stderr. A shell moves it
/// there from stdin, and becomes the bridge.
fn program_with_socket(socket: &TcpListener) -> Command {
    let moved = "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" bridge 3<&0 0</dev/null";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", moved]).arg(built_program("mcp-web"));
    let socket = OwnedFd::from(socket.try_clone().unwrap());
    shell
        .env_clear()
        .kill_on_drop(true)
        .stdin(Stdio::from(socket));
    shell
}

/// Connects and sends a request. Returns whether the response is complete.
async fn is_served(address: &str) -> bool {
    let Ok(mut socket) = TcpStream::connect(address).await else {
        return false;
    };
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut response = String::new();
    let exchanged = async {
        socket.write_all(request).await?;
        socket.read_to_string(&mut response).await
    };
    exchanged.await.is_ok() && response.ends_with("ok")
}

/// Sends requests over kept connections until the end. Returns the errors.
async fn call_until(end: CancellationToken, url: String) -> Vec<String> {
    let client = http_client::build(&url.parse().unwrap()).unwrap();
    let mut errors = Vec::new();
    while !end.is_cancelled() {
        let response = client.get(&url).send().await;
        errors.extend(response.err().map(|error| format!("{error:?}")));
    }
    errors
}

#[tokio::test]
async fn a_restart_with_a_passed_socket_refuses_no_connection_and_breaks_none() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let mut bridge = RunningBridge::spawn(program_with_socket(&socket)).await;
    assert_eq!(bridge.address(), address, "it is used in place of `bind`");
    let (served, mut served_counts) = mpsc::unbounded_channel();
    let connecting = async {
        let mut refused = 0;
        for count in 1..=CONNECTIONS {
            refused += usize::from(!is_served(&address).await);
            served.send(count).unwrap();
        }
        refused
    };
    let end = CancellationToken::new();
    let url = format!("http://{address}/healthz");
    let callers = (0..CALLERS).map(|_| call_until(end.clone(), url.clone()));
    let callers = callers.collect::<JoinSet<_>>();
    let restarting = async {
        while served_counts.recv().await != Some(CONNECTIONS / 4) {}
        bridge.signal("TERM").await;
        assert_eq!(bridge.wait_for_end().await.code(), Some(0));
        RunningBridge::spawn(program_with_socket(&socket)).await
    };
    let (refused, _restarted) =
        with_deadline("restart", async { tokio::join!(connecting, restarting) }).await;
    end.cancel();
    for errors in callers.join_all().await {
        assert!(errors.is_empty(), "{errors:?}");
    }
    assert_eq!(refused, 0, "of {CONNECTIONS}");
}

/// A passed socket decides whether tokens are needed, and not `bind`.
#[tokio::test]
async fn a_passed_socket_that_others_can_reach_needs_tokens() {
    let socket = TcpListener::bind("0.0.0.0:0").unwrap();
    let output = program_with_socket(&socket).output();
    let output = with_deadline("end", output).await.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("no tokens are configured"), "{error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_service_manager_is_notified_of_each_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let notified = UnixDatagram::bind(&path).unwrap();
    notified.set_nonblocking(true).unwrap();
    let notified = tokio::net::UnixDatagram::from_std(notified).unwrap();
    let recv = async || {
        let mut buffer = [0; 256];
        let length = with_deadline("notification", notified.recv(&mut buffer)).await;
        String::from_utf8(buffer[..length.unwrap()].to_vec()).unwrap()
    };
    let mut program = bridge_program();
    program
        .env("NOTIFY_SOCKET", &path)
        .args(["--bind", "127.0.0.1:0"]);
    let mut bridge = RunningBridge::spawn(program).await;
    assert_eq!(recv().await, "READY=1\n");
    bridge.signal("HUP").await;
    let reloading = recv().await;
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert_eq!(recv().await, "READY=1\n");
    bridge.signal("TERM").await;
    assert_eq!(recv().await, "STOPPING=1\n");
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_watchdog_of_the_service_manager_is_fed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let notified = UnixDatagram::bind(&path).unwrap();
    notified.set_nonblocking(true).unwrap();
    let notified = tokio::net::UnixDatagram::from_std(notified).unwrap();
    let mut program = bridge_program();
    program
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "20000");
    program.args(["--bind", "127.0.0.1:0"]);
    let _bridge = RunningBridge::spawn(program).await;
    let mut fed = 0;
    while fed < 3 {
        let mut buffer = [0; 256];
        let length = with_deadline("notification", notified.recv(&mut buffer)).await;
        fed += usize::from(&buffer[..length.unwrap()] == b"WATCHDOG=1\n");
    }
}

/// systemd names the stream of the journal in `JOURNAL_STREAM`, which children with another stderr inherit.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn lines_have_a_priority_if_stderr_is_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    for (flag, value, start) in [
        (
            "--bind",
            "0.0.0.0:0",
            "<3>ERROR bridge::program: 0.0.0.0:0 can",
        ),
        ("--config", "absent.toml", "<3>error: "),
    ] {
        for is_journal in [true, false] {
            let stderr = std::fs::File::create(&path).unwrap();
            let file = stderr.metadata().unwrap();
            let inode = file.ino() + u64::from(!is_journal);
            let mut program = bridge_program();
            program
                .args([flag, value])
                .env("JOURNAL_STREAM", format!("{}:{inode}", file.dev()))
                .stderr(Stdio::from(stderr));
            let ended = with_deadline("end", program.status()).await.unwrap();
            let log = std::fs::read_to_string(&path).unwrap();
            assert_eq!(ended.code(), Some(2), "{log}");
            assert_eq!(log.starts_with(start), is_journal, "{log}");
            assert_eq!(log.contains("<3>"), is_journal, "{log}");
        }
    }
}
