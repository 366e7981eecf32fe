//! The frames that the bridge reads of a page: how many, and which before the page has
//! authenticated and after it was refused.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bridge::{Config, PageLimits, PageTimings};
use bridge_protocol::limits::{MAX_AUTHENTICATE_BYTES, MAX_FRAME_BYTES};
use bridge_protocol::{BridgeToPage, CallReceived, ErrorCode, PageToBridge};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::kit::*;

const EVIL: &str = "https://evil.example";

const FLOOD_TOKEN: &str = "the-token-of-a-flood-0123456789abcdef";

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
    let activity = frame(FINAL | TEXT, ACTIVITY);
    let empty = frame(CONTINUATION, "");
    assert_calls_are_answered_beside([
        ("activity", None, Vec::new(), activity),
        ("continuation frames", None, frame(TEXT, "{"), empty),
        ("pings", None, Vec::new(), frame(PING, "")),
        ("a refused origin", Some(EVIL), Vec::new(), frame(PING, "")),
    ])
    .await;
}

/// Pages of another token send tiny frames, and may send messages.
#[tokio::test]
async fn tiny_frames_of_pages_of_another_token_do_not_starve_calls() {
    let authenticate = json!({ "type": "authenticate", "protocol": 2, "authToken": FLOOD_TOKEN,
        "sessionId": "flood", "documentId": "d" });
    let page = || frame(FINAL | TEXT, &authenticate.to_string());
    let began = [page(), frame(TEXT, "{")].concat();
    let receipt = json!({ "type": "call-received", "requestId": "c0" }).to_string();
    assert_calls_are_answered_beside([
        ("pings", None, page(), frame(PING, "")),
        ("continuation frames", None, began, frame(CONTINUATION, "")),
        ("receipts", None, page(), frame(FINAL | TEXT, &receipt)),
    ])
    .await;
}

/// The name of a [`Flood`], its origin, its first frames and those that it repeats.
type FloodParts = (&'static str, Option<&'static str>, Vec<u8>, Vec<u8>);

/// Calls a page of a bridge with one thread beside each of these floods.
async fn assert_calls_are_answered_beside(floods: impl IntoIterator<Item = FloodParts>) {
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
    for (kind, origin, first, repeated) in floods {
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
    let page_limits = PageLimits {
        max_frames_per_second,
        ..PageLimits::default()
    };
    Config {
        page_limits,
        ..test_config()
    }
}

#[tokio::test]
async fn frames_above_max_frames_per_second_delay_a_page_and_nothing_is_lost() {
    let config = Config {
        // The receipt of the call comes much later than this.
        page_timings: PageTimings {
            call_receipt: Duration::from_millis(100),
            ..PageTimings::default()
        },
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
async fn frames_before_authentication_have_a_separate_rate() {
    let bridge = start_bridge().await;
    let address = bridge.local_addr().to_string();
    let mut socket = RawSocket::open(&address, "/?session=compat", None).await;
    let authenticate = format!(r#"{{"type":"authenticate","authToken":"{TOKEN}"}}"#);
    let frames = [
        frame(FINAL | TEXT, ACTIVITY).repeat(2_000),
        frame(FINAL | TEXT, &authenticate),
    ];
    let started = std::time::Instant::now();
    assert!(socket.try_send(&frames.concat()).await);
    poll_json(&bridge, "/sessions", |body| body["sessions"][0].is_object()).await;
    // A thousand frames are read at once, and the others within a second.
    assert!(started.elapsed() > Duration::from_millis(900));
}

#[tokio::test]
async fn a_first_frame_over_64_kib_is_refused_by_its_header() {
    let bridge = start_bridge().await;
    let address = bridge.local_addr().to_string();
    for length in [MAX_AUTHENTICATE_BYTES + 1, MAX_FRAME_BYTES] {
        let mut socket = RawSocket::open(&address, "/ws?session=s", None).await;
        // Nothing of the payload is sent.
        let header = frame_header(FINAL | TEXT, length as u64);
        assert!(socket.try_send(&header).await);
        let received = socket.recv_to_end().await;
        let received = String::from_utf8_lossy(&received);
        assert!(received.contains("65536 bytes"), "{received}");
    }
    // Nor do several frames make a longer message.
    let mut socket = RawSocket::open(&address, "/ws?session=s", None).await;
    let half = "x".repeat(MAX_AUTHENTICATE_BYTES / 2 + 1);
    assert!(socket.try_send(&frame(TEXT, &half)).await);
    assert!(socket.try_send(&frame(CONTINUATION, &half)).await);
    let received = socket.recv_to_end().await;
    let received = String::from_utf8_lossy(&received);
    assert!(received.contains("65536 bytes"), "{received}");
}

#[tokio::test]
async fn an_authenticate_message_may_have_64_kib() {
    let bridge = start_bridge().await;
    for (excess, is_accepted) in [(0, true), (1, false)] {
        let mut page = Page::open(&bridge, "s", None).await;
        let message = |icon: String| {
            json!({ "type": "authenticate", "protocol": 2, "authToken": TOKEN,
                "app": { "name": "a", "icon": icon } })
            .to_string()
        };
        let rest = MAX_AUTHENTICATE_BYTES - message(String::new()).len();
        page.send_text(message("i".repeat(rest + excess))).await;
        if is_accepted {
            page.recv_authenticated().await;
            continue;
        }
        let failure = page.recv_authentication_failure().await;
        assert_eq!(failure.code, ErrorCode::ProtocolViolation);
        assert!(failure.error.contains("icon"), "{}", failure.error);
        assert_eq!(page.recv_close().await.0, 1008);
    }
    // Once it has authenticated, a page may send more.
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let long = json!({ "name": "long", "description": "x".repeat(2 * MAX_AUTHENTICATE_BYTES) });
    assert_eq!(page.register(&[long]).await.items.len(), 1);
}

#[tokio::test]
async fn a_ping_is_answered_at_once_before_and_after_authentication() {
    // No message that the bridge sends by itself may carry the answer with it.
    let long = Duration::from_secs(600);
    let bridge = start_bridge_with(config_with_page_timings(PageTimings {
        authenticate_within: long,
        heartbeat: long,
        ..PageTimings::default()
    }))
    .await;
    let address = bridge.local_addr().to_string();
    let mut socket = RawSocket::open(&address, "/ws?session=s", None).await;
    const PONG: u8 = FINAL | 0x0a;
    assert!(socket.try_send(&frame(PING, "7")).await);
    assert_eq!(socket.recv_exact(3).await, [PONG, 1, b'7']);

    let mut page = Page::connect(&bridge, "t", TOKEN).await;
    page.register(&[echo_tool()]).await;
    page.send_frame(Message::Ping("8".into())).await.unwrap();
    page.recv_pong("8").await;
}

#[tokio::test]
async fn more_than_eight_pings_before_authentication_close_with_1008() {
    let bridge = start_bridge().await;
    for pings in [8, 9] {
        let mut page = Page::open(&bridge, "s", None).await;
        for _ in 0..pings {
            let ping = Message::Ping(Vec::new().into());
            page.send_frame(ping).await.unwrap();
        }
        if pings == 8 {
            page.authenticate("s", TOKEN).await;
            page.recv_authenticated().await;
        } else {
            let (code, reason) = page.recv_close().await;
            assert_eq!(code, 1008);
            assert!(reason.contains("pings"), "{reason}");
        }
    }
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
