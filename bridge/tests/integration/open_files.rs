//! The limit of open files of the program. Each connection is an open file.
#![cfg(target_os = "linux")]

use std::io;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::kit::*;

/// Starts the program in a shell that has set a limit, and returns it with its address.
async fn start_with_limit(ulimit: &str) -> (Child, SocketAddr) {
    let mut program = Command::new("sh");
    let script = format!("ulimit {ulimit} && exec \"$0\" bridge --bind=127.0.0.1:0 --log=warn");
    let program = program
        .args(["-c", &script])
        .arg(built_program("mcp-web"))
        .env_clear()
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut program = program.spawn().unwrap();
    let url = listening_url(&mut program).await;
    (program, url.trim_start_matches("http://").parse().unwrap())
}

async fn is_served(address: SocketAddr) -> io::Result<bool> {
    let mut socket = TcpStream::connect(address).await?;
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    socket.write_all(request).await?;
    let mut response = String::new();
    socket.read_to_string(&mut response).await?;
    Ok(response.ends_with("ok"))
}

#[tokio::test]
async fn the_program_raises_its_limit_of_open_files() {
    let (program, _) = start_with_limit("-S -n 64").await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", program.id().unwrap()));
    let limits = limits.unwrap();
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let files: Vec<_> = files.unwrap().split_whitespace().collect();
    let (soft, hard) = (files[3], files[4]);
    assert_eq!(soft, hard);
    assert_ne!(soft, "64");
}

#[tokio::test]
async fn without_free_files_the_program_waits_and_serves_again_when_there_are_some() {
    let (mut program, address) = start_with_limit("-n 40").await;
    let started = Instant::now();
    let connections: Vec<_> = (0..60)
        .map(|_| std::net::TcpStream::connect(address).unwrap())
        .collect();
    let waiting = is_served(address);
    tokio::pin!(waiting);
    let mut log = program.stderr.take().unwrap();
    let mut text = String::new();
    let logged = async {
        while !text.contains("no connection can be accepted") {
            let mut chunk = [0; 4096];
            let read = log.read(&mut chunk).await.unwrap();
            assert_ne!(read, 0, "{text}");
            text += std::str::from_utf8(&chunk[..read]).unwrap();
        }
    };
    tokio::select! {
        biased;
        served = &mut waiting => panic!("{served:?}"),
        () = with_deadline("log of the program", logged) => {}
    }
    drop(connections);
    assert!(with_deadline("response", waiting).await.unwrap());
    // One line a second: the program does not spin.
    program.start_kill().unwrap();
    with_deadline("log", log.read_to_string(&mut text))
        .await
        .unwrap();
    let lines = text.matches("no connection can be accepted").count();
    let most = started.elapsed().as_secs() + 1;
    assert!(lines as u64 <= most, "{lines} in {:?}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(20));
}
