//! What the bridge reads of a page: how many frames, and what after the page was refused.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bridge::{Config, Tabs};
use bridge_protocol::{BridgeToPage, CallReceived, PageToBridge};
use serde_json::json;

use crate::kit::*;

const EVIL: &str = "https://evil.example";

const ACTIVITY: &str = r#"{"type":"activity","timestamp":1}"#;

/// A thread that opens socket after socket without a token, and sends the same frames as fast as it
/// can.
struct Flood {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    fn start(address: &str, origin: Option<&'static str>, first: &[u8], repeated: &[u8]) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let request = upgrade_request(address, "/ws?session=flood", origin);
        let (address, over) = (address.to_owned(), Arc::clone(&is_over));
        let begin = [request.as_bytes(), first].concat();
        let frames = repeated.repeat(1_000);
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let mut socket = TcpStream::connect(&address).unwrap();
                let timeout = Some(Duration::from_millis(100));
                socket.set_write_timeout(timeout).unwrap();
                socket.write_all(&begin).unwrap();
                let mut sent = 0;
                while !over.load(Ordering::Relaxed) {
                    match socket.write(&frames[sent..]) {
                        Ok(bytes) => sent = (sent + bytes) % frames.len(),
                        // The socket is full, because the bridge has paused reading.
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(_) => break,
                    }
                }
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// As many connections as the bridge has threads send nothing but tiny frames, without a token.
#[tokio::test]
async fn tiny_frames_of_strangers_do_not_starve_calls() {
    let mut program = bridge_program()
        .env("TOKIO_WORKER_THREADS", "1")
        .args(["--bind", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let url = listening_url(&mut program).await;
    let address = url.strip_prefix("http://").unwrap();
    let mut page = Page::connect_to(address, "s", TOKEN).await;
    page.register(&[echo_tool()]).await;
    let activity = frame(FINAL | TEXT, ACTIVITY);
    let empty = frame(CONTINUATION, "");
    for (kind, origin, first, repeated) in [
        ("activity", None, Vec::new(), activity),
        ("continuation frames", None, frame(TEXT, "{"), empty),
        ("pings", None, Vec::new(), frame(PING, "")),
        ("a refused origin", Some(EVIL), Vec::new(), frame(PING, "")),
    ] {
        let _flood = Flood::start(address, origin, &first, &repeated);
        let calls = async {
            for n in 0..20 {
                let call = post_tool_call_to(&url, TOKEN, "echo", json!({ "n": n }));
                let ((status, answer), ()) = tokio::join!(call, page.echo_call());
                assert_eq!(status, 200, "{kind}: {answer}");
            }
        };
        with_deadline(&format!("answers beside {kind}"), calls).await;
    }
}

/// A configuration with this number of frames per second.
fn config_with_rate(max_frames_per_second: usize) -> Config {
    let tabs = Tabs {
        max_frames_per_second,
        ..Tabs::default()
    };
    Config {
        tabs,
        ..test_config()
    }
}

#[tokio::test]
async fn frames_above_max_frames_per_second_delay_a_page_and_nothing_is_lost() {
    let config = Config {
        // The receipt of the call comes much later than this.
        call_receipt: Duration::from_millis(100),
        ..config_with_rate(200)
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let call = page.recv_matching(|message| match message {
            BridgeToPage::ToolCall(call) => Some(call),
            _ => None,
        });
        let request_id = call.await.request_id;
        for n in 0..400 {
            let progress = json!({ "type": "call-progress", "requestId": request_id.0,
                "progress": n });
            page.send_json(progress).await;
        }
        let receipt = CallReceived {
            request_id: request_id.clone(),
        };
        page.send(PageToBridge::CallReceived(receipt)).await;
        page.respond_to(&request_id, json!({ "n": 7 })).await;
    };
    let started = std::time::Instant::now();
    let call = post_tool_call(&bridge, "echo", json!({}));
    let ((_, answer), ()) = tokio::join!(call, handler);
    assert_eq!(answer["structuredContent"]["n"], 7, "{answer}");
    // Two hundred frames come at once, and the others within a second.
    assert!(started.elapsed() > Duration::from_millis(900));
}

#[tokio::test]
async fn little_is_read_of_a_socket_after_its_close_frame() {
    let bridge = start_bridge().await;
    let address = bridge.local_addr().to_string();
    let mut refused = RawSocket::open(&address, "/ws?session=s", Some(EVIL)).await;
    let flood = frame(PING, &"x".repeat(100)).repeat(1_000);
    let mut sent = 0;
    while refused.try_send(&flood).await {
        sent += flood.len();
        // Beside what the bridge reads, the buffers of both sockets take some megabytes.
        assert!(sent < 32 * 1024 * 1024, "{sent} bytes were taken");
    }
}
