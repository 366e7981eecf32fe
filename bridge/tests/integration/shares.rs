//! Limits that all clients share: one of them cannot use them up for the others.

use std::time::Duration;

use bridge::{Config, PageLimits, PageTimings, Profile, Results, ServerHandle};
use bridge_protocol::ErrorCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::kit::*;

/// The address of a client that takes as much as it gets.
pub(crate) const GREEDY: &str = "192.0.2.66";

/// The address of another client.
pub(crate) const OTHER: &str = "192.0.2.1";

/// A configuration in which a test names the addresses of its clients.
pub(crate) fn config_with_addresses() -> Config {
    let mut config = test_config();
    config.network.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    config
}

/// Another token for each number.
fn token(number: usize) -> String {
    format!("token-that-a-client-made-itself-{number}")
}

/// Opens the socket of a page from this address.
async fn open_page(bridge: &ServerHandle, session: &str, address: &str) -> Page {
    let headers = [("x-forwarded-for", address)];
    Page::open_with_headers(&bridge.local_addr().to_string(), session, &headers).await
}

/// Connects a page from this address.
pub(crate) async fn connect_page(bridge: &ServerHandle, token: &str, address: &str) -> Page {
    let mut page = open_page(bridge, "s", address).await;
    page.authenticate("s", token).await;
    page.recv_authenticated().await;
    page
}

/// The response to an attempt to open an MCP session from this address.
async fn initialize(bridge: &ServerHandle, token: &str, address: &str) -> (u16, Value) {
    let info = json!({ "name": "a client", "version": "1" });
    let request = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(token)
        .header("x-forwarded-for", address)
        .json(&initialize_request("2025-06-18", json!({}), info));
    let response = with_deadline("response", request.send()).await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn silent_sockets_of_one_address_do_not_keep_other_pages_out() {
    let page_limits = PageLimits {
        max_pending_pages: Some(8),
        ..PageLimits::default()
    };
    let config = Config {
        page_limits,
        page_timings: PageTimings {
            authenticate_within: Duration::from_secs(3600),
            ..PageTimings::default()
        },
        ..config_with_addresses()
    };
    let bridge = start_bridge_with(config).await;
    let mut silent = Vec::new();
    for number in 0..8 {
        silent.push(open_page(&bridge, &number.to_string(), GREEDY).await);
    }
    let pages = (0..4).map(token);
    for token in pages {
        connect_page(&bridge, &token, OTHER).await;
    }
    let (_, after_s, message) = recv_retry(&mut silent[0]).await;
    assert_eq!(after_s, 1, "{message}");
    assert!(message.contains("this page has sent no token"), "{message}");
    // The socket that was opened last still waits for its token.
    let last = &mut silent[7];
    last.authenticate("7", TOKEN).await;
    last.recv_authenticated().await;
}

#[tokio::test]
async fn the_tokens_of_one_address_do_not_keep_other_pages_out() {
    let mut config = config_with_addresses();
    config.tokens.max_realms = Some(8);
    let bridge = start_bridge_with(config).await;
    let mut greedy = Vec::new();
    for number in 0..8 {
        greedy.push(connect_page(&bridge, &token(number), GREEDY).await);
    }
    let mut refused = open_page(&bridge, "s", GREEDY).await;
    refused.authenticate("s", &token(8)).await;
    let (code, after_s, message) = recv_retry(&mut refused).await;
    let realm_limit = Some(ErrorCode::RealmLimitExceeded.as_str());
    assert_eq!((code.as_deref(), after_s), (realm_limit, 10));
    for part in ["8 tokens", "8 of them from", GREEDY, "`max_realms`"] {
        assert!(message.contains(part), "{message}");
    }

    let mut page = connect_page(&bridge, TOKEN, OTHER).await;
    // The page that makes room waits as long as one that is refused.
    let (code, after_s, message) = recv_retry(&mut greedy[7]).await;
    assert_eq!((code.as_deref(), after_s), (realm_limit, 10), "{message}");
    // Nothing else is taken from anybody.
    greedy[6].register(&[echo_tool()]).await;
    page.register(&[echo_tool()]).await;
}

#[tokio::test]
async fn a_token_without_a_connected_page_makes_room_first() {
    let mut config = config_with_addresses();
    config.tokens.max_realms = Some(4);
    config.page_timings = PageTimings {
        page_grace: Duration::from_secs(3600),
        ..PageTimings::default()
    };
    let bridge = start_bridge_with(config).await;
    let mut connected = Vec::new();
    for number in 0..3 {
        connected.push(connect_page(&bridge, &token(number), GREEDY).await);
    }
    let lost = connect_page(&bridge, TOKEN, GREEDY).await;
    // The page may come back, because its socket ends without a close frame.
    drop(lost);
    poll_json(&bridge, "/sessions", |sessions| {
        sessions["sessions"][0]["connected"] == false
    })
    .await;
    connect_page(&bridge, OTHER_TOKEN, OTHER).await;
    for page in &mut connected {
        page.register(&[echo_tool()]).await;
    }
    let sessions = get_json(&bridge, "/sessions").await;
    assert_eq!(sessions["sessions"], json!([]));
}

/// Opens and closes a page of an app with one tool, whose description has this size in bytes.
async fn close_app(bridge: &ServerHandle, token: &str, address: &str, bytes: usize) {
    let mut page = open_page(bridge, "n", address).await;
    page.send_json(
        json!({ "type": "authenticate", "protocol": 2, "authToken": token,
        "app": { "name": "notes" } }),
    )
    .await;
    page.recv_authenticated().await;
    page.register(&[json!({ "name": "echo", "description": "x".repeat(bytes) })])
        .await;
    page.close().await;
}

/// Whether the tool of a closed app is listed.
async fn is_listed(bridge: &ServerHandle, token: &str) -> bool {
    let client = McpClient::connect(bridge, token).await;
    client.tool_names().await.contains(&"echo".to_owned())
}

#[tokio::test]
async fn closed_apps_of_one_address_do_not_displace_those_of_others() {
    let limits = [
        PageLimits {
            max_catalogues: Some(3),
            ..PageLimits::default()
        },
        PageLimits {
            max_catalogue_bytes: 16 * 1_000,
            ..PageLimits::default()
        },
    ];
    for page_limits in limits {
        // The number of tokens of the greedy address that are listed beside the other one.
        let listed = if page_limits.max_catalogues == Some(3) {
            2
        } else {
            16
        };
        let config = Config {
            page_limits,
            ..config_with_addresses()
        };
        let bridge = start_bridge_with(config).await;
        close_app(&bridge, TOKEN, OTHER, 900).await;
        for number in 0..20 {
            close_app(&bridge, &token(number), GREEDY, 900).await;
        }
        assert!(is_listed(&bridge, TOKEN).await);
        let mut count = 0;
        for number in 0..20 {
            count += usize::from(is_listed(&bridge, &token(number)).await);
        }
        assert_eq!(count, listed);
    }
}

#[tokio::test]
async fn the_closed_apps_of_a_token_are_limited_in_bytes() {
    let page_limits = PageLimits {
        max_catalogue_bytes: 16 * 1_000,
        ..PageLimits::default()
    };
    let bridge = start_bridge_with(Config {
        page_limits,
        ..config_with_addresses()
    })
    .await;
    close_app(&bridge, TOKEN, OTHER, 1_000).await;
    assert!(!is_listed(&bridge, TOKEN).await);
    close_app(&bridge, TOKEN, OTHER, 900).await;
    assert!(is_listed(&bridge, TOKEN).await);
}

#[tokio::test]
async fn the_mcp_sessions_of_one_address_do_not_keep_other_clients_out() {
    let mut config = config_with_addresses();
    config.mcp_sessions.max_mcp_sessions = Some(12);
    config.mcp_sessions.max_clients = 4;
    let bridge = start_bridge_with(config).await;
    let client = McpClient::connect_from(&bridge, TOKEN, OTHER).await;
    for number in 0..40 {
        let (status, _) = initialize(&bridge, &token(number % 17), GREEDY).await;
        assert!(status == 200 || number >= 11, "{number}: {status}");
    }
    // A session that was there before stays, and new ones are served.
    assert_eq!(client.tool_names().await.len(), 5);
    for _ in 0..3 {
        let client = McpClient::connect_from(&bridge, OTHER_TOKEN, OTHER).await;
        assert_eq!(client.tool_names().await.len(), 5);
    }
    assert_eq!(client.tool_names().await.len(), 5);
}

#[tokio::test]
async fn an_idle_mcp_session_makes_room_and_one_with_a_stream_does_not() {
    let mut config = config_with_addresses();
    config.mcp_sessions.max_mcp_sessions = Some(3);
    let bridge = start_bridge_with(config).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(McpClient::connect_from(&bridge, TOKEN, GREEDY).await);
    }
    let _stream = clients[0].listen().await;
    let _other_stream = clients[2].listen().await;
    let client = McpClient::connect_from(&bridge, OTHER_TOKEN, OTHER).await;
    let ping = rpc_request(1, "ping", json!({}));
    for (client, expected) in clients.iter().zip([200, 404, 200]) {
        assert_eq!(client.post(&ping).await.status(), expected);
    }
    assert_eq!(client.post(&ping).await.status(), 200);
}

#[tokio::test]
async fn mcp_sessions_in_use_make_room_where_one_address_has_over_a_quarter() {
    let mut config = config_with_addresses();
    config.mcp_sessions.max_mcp_sessions = Some(4);
    let bridge = start_bridge_with(config).await;
    let mut clients = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..4 {
        let client = McpClient::connect_from(&bridge, TOKEN, GREEDY).await;
        streams.push(client.listen().await);
        clients.push(client);
    }
    let client = McpClient::connect_from(&bridge, OTHER_TOKEN, OTHER).await;
    let ping = rpc_request(1, "ping", json!({}));
    for (client, expected) in clients.iter().zip([200, 200, 200, 404]) {
        assert_eq!(client.post(&ping).await.status(), expected);
    }
    assert_eq!(client.post(&ping).await.status(), 200);
}

/// Calls a tool whose result is too large for the client, and returns the handle of the result.
async fn store_result(page: &mut Page, client: &McpClient, text: &str) -> String {
    let call = client.call("echo", json!({}));
    let (answer, _) = tokio::join!(call, page.serve_call(json!(text)));
    let cut = &answer["result"]["_meta"]["mcp-web/cut"];
    cut["handle"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_results_of_one_address_do_not_displace_those_of_others() {
    let config = Config {
        results: Results {
            max_kept_bytes: 400_000,
            ..Results::default()
        },
        profiles: test_client_profile(Profile {
            max_result_bytes: Some(10_000),
            ..Profile::default()
        }),
        ..config_with_addresses()
    };
    let bridge = start_bridge_with(config).await;
    let start = async |token: &str, address| {
        let mut page = connect_page(&bridge, token, address).await;
        page.register(&[echo_tool()]).await;
        (page, McpClient::connect_from(&bridge, token, address).await)
    };
    let text = "x".repeat(90_000);
    let (mut page, client) = start(TOKEN, OTHER).await;
    let handle = store_result(&mut page, &client, &text).await;
    let mut greedy_handles = Vec::new();
    for number in 0..3 {
        let (mut page, client) = start(&token(number), GREEDY).await;
        for _ in 0..4 {
            let handle = store_result(&mut page, &client, &text).await;
            greedy_handles.push((token(number), handle));
        }
    }
    let is_stored = async |token: &str, handle: &str| {
        let client = McpClient::connect(&bridge, token).await;
        let part = json!({ "handle": handle, "offset": 0, "length": 10 });
        error_code(&client.get_result(part).await) != Some("HandleNotFound")
    };
    assert!(is_stored(TOKEN, &handle).await);
    let mut stored = 0;
    for (token, handle) in &greedy_handles {
        stored += usize::from(is_stored(token, handle).await);
    }
    assert_eq!(stored, 3, "the rest of the limit");
    let (token, newest) = greedy_handles.last().unwrap();
    assert!(is_stored(token, newest).await);
}

/// Calls a tool whose answer is this text, and reads only the beginning of the response.
pub(crate) async fn leave_answer_unread(
    bridge: &ServerHandle,
    page: &mut Page,
    text: &str,
) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(bridge.local_addr()).await.unwrap();
    let body = json!({ "toolName": "echo" }).to_string();
    let request = format!(
        "POST /tool-call HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    page.serve_call(json!(text)).await;
    let mut status = [0; 12];
    let response = socket.read_exact(&mut status);
    with_deadline("response", response).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    socket
}

#[tokio::test]
async fn unread_answers_are_limited_in_bytes() {
    let results = Results {
        max_unread_bytes: 30_000_000,
        ..Results::default()
    };
    let bridge = start_bridge_with(Config {
        results,
        ..config_with_addresses()
    })
    .await;
    let mut page = connect_page(&bridge, TOKEN, GREEDY).await;
    page.register(&[echo_tool()]).await;
    let mut other_page = connect_page(&bridge, OTHER_TOKEN, OTHER).await;
    other_page.register(&[echo_tool()]).await;
    let text = "x".repeat(9_000_000);
    let unread = leave_answer_unread(&bridge, &mut page, &text).await;

    let assert_refused = |result: &Value| {
        assert_eq!(error_code(result), Some("ResultTooLarge"), "{result}");
        for part in ["9000", GREEDY, "max_unread_bytes", "look what has changed"] {
            assert!(result_text(result).contains(part), "{part}: {result}");
        }
    };
    let call = post_tool_call(&bridge, "echo", json!({}));
    let ((_, result), _) = tokio::join!(call, page.serve_call(json!(text)));
    assert_refused(&result);
    // Clients that can be asked are served in another way.
    for capabilities in [json!({}), json!({ "elicitation": {} })] {
        let client = McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await;
        let call = client.call("echo", json!({}));
        let (answer, _) = tokio::join!(call, page.serve_call(json!(text)));
        assert_refused(&answer["result"]);
        // Small answers are not affected.
        client.assert_echo(&mut page).await;
    }
    let client = McpClient::connect(&bridge, OTHER_TOKEN).await;
    let call = client.call("echo", json!({}));
    let (answer, _) = tokio::join!(call, other_page.serve_call(json!(text)));
    assert_eq!(result_text(&answer["result"]).len(), text.len());

    drop(unread);
    let delivered = with_deadline("free bytes", async {
        loop {
            let call = post_tool_call(&bridge, "echo", json!({}));
            let ((_, result), _) = tokio::join!(call, page.serve_call(json!(text)));
            if error_code(&result).is_none() {
                return result;
            }
        }
    });
    assert_eq!(result_text(&delivered.await).len(), text.len());
}

#[tokio::test]
async fn an_mcp_session_is_in_use_while_the_body_of_a_request_arrives() {
    let mut config = test_config();
    config.mcp_sessions.max_clients = 2;
    let bridge = start_bridge_with(config).await;
    let sending = McpClient::connect(&bridge, TOKEN).await;
    let idle = McpClient::connect(&bridge, TOKEN).await;
    let body = format!("{:20000}", rpc_request(1, "ping", json!({})).to_string());
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         mcp-session-id: {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: 20000\r\n\
         connection: close\r\nexpect: 100-continue\r\n\r\n",
        sending.session
    );
    let mut socket = TcpStream::connect(bridge.local_addr()).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    // The bridge waits for the body.
    let mut status = [0; 12];
    let interim = socket.read_exact(&mut status);
    with_deadline("interim response", interim).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 100");
    McpClient::connect(&bridge, TOKEN).await;
    let ping = rpc_request(1, "ping", json!({}));
    assert_eq!(idle.post(&ping).await.status(), 404);

    socket.write_all(body.as_bytes()).await.unwrap();
    let mut response = String::new();
    let rest = socket.read_to_string(&mut response);
    with_deadline("response", rest).await.unwrap();
    assert!(response.contains("HTTP/1.1 200"), "{response}");
}

#[tokio::test]
async fn a_client_cannot_choose_its_address_but_a_trusted_proxy_names_it() {
    for (trusts_proxy, counted) in [(false, "127.0.0.1"), (true, OTHER)] {
        let mut config = if trusts_proxy {
            config_with_addresses()
        } else {
            test_config()
        };
        config.mcp_sessions.max_mcp_sessions = Some(1);
        let bridge = start_bridge_with(config).await;
        let client = McpClient::connect(&bridge, TOKEN).await;
        let _stream = client.listen().await;
        let (status, problem) = initialize(&bridge, OTHER_TOKEN, OTHER).await;
        assert_eq!(status, 503);
        let message = problem["message"].as_str().unwrap();
        let by_address = usize::from(!trusts_proxy);
        let share = format!("{by_address} of them from {counted} and 0 with this token");
        assert!(message.contains(&share), "{message}");
    }
}

#[tokio::test]
async fn one_machine_can_use_the_default_limits() {
    let bridge = start_bridge().await;
    let mut pages = Vec::new();
    for number in 0..60 {
        let mut page =
            Page::open(&bridge, &number.to_string(), Some("http://localhost:5173")).await;
        page.authenticate(&number.to_string(), TOKEN).await;
        page.recv_authenticated().await;
        pages.push(page);
    }
    let mut clients = Vec::new();
    for _ in 0..40 {
        clients.push(McpClient::connect(&bridge, TOKEN).await);
    }
    for client in &clients {
        assert_eq!(client.tool_names().await.len(), 5);
    }
}
