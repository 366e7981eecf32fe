//! Bodies of requests that come too slowly, and bodies of callers that are not known.

use std::time::Duration;

use bridge::{Config, HttpTimeouts, ServerHandle};
use serde_json::{Value, json};

use crate::compat::kit::compat_config;
use crate::kit::mock_agent::UUID;
use crate::kit::raw_http::{connect_and_send, read_to_end};
use crate::kit::*;

/// The routes that read a body, with the part of their path after the id of a query.
const QUERY_ROUTES: [(&str, &str); 5] = [
    ("PUT", ""),
    ("POST", "/progress"),
    ("PUT", "/complete"),
    ("PUT", "/fail"),
    ("PUT", "/cancel"),
];

/// The head of a request with a body of 4 MB, and the first byte of the body.
fn head_and_first_byte(method: &str, path: &str, headers: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: 4000000\r\n{headers}\r\n{{"
    )
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// The status of a response, and its JSON body.
fn status_and_json(response: &str) -> (u16, Value) {
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((response, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let body = serde_json::from_str(body).unwrap_or_default();
    (status.unwrap_or_else(|| panic!("{response:?}")), body)
}

/// Waits for the end of a connection, and checks the response for a body that was too slow.
async fn assert_timed_out(bridge: &ServerHandle, request: &str) {
    let response = read_to_end(connect_and_send(bridge, request).await).await;
    let (status, body) = status_and_json(&response);
    assert_eq!(status, 408, "{request} {response}");
    assert_eq!(body["error"], "RequestTimeout", "{request} {response}");
    assert!(body["message"].as_str().unwrap().len() > 40, "{body}");
    assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
}

/// A configuration in which bodies must come within a moment.
fn impatient_config() -> Config {
    Config {
        http_timeouts: HttpTimeouts {
            request_body_progress_within: Duration::from_millis(100),
            ..HttpTimeouts::default()
        },
        ..test_config()
    }
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_408_on_every_route() {
    let bridge = start_bridge_with(impatient_config()).await;
    let _page = Page::with_tools(&bridge, "asks", &[echo_tool()]).await;
    let open = http_client().put(format!("{}/query/{UUID}", bridge.url()));
    let (status, opened) =
        mock_agent::send_for_json(open.bearer_auth(TOKEN).json(&json!({}))).await;
    assert_eq!(status, 200, "{opened}");
    let query_token = opened["token"].as_str().unwrap();

    // Requests with an `Origin` pass the router.
    for origin in ["", "origin: http://localhost:1\r\n"] {
        for path in ["/tool-call", "/mcp", "/"] {
            let headers = bearer(TOKEN) + origin;
            assert_timed_out(&bridge, &head_and_first_byte("POST", path, &headers)).await;
        }
    }
    for (method, report) in QUERY_ROUTES {
        let token = if report.is_empty() {
            TOKEN
        } else {
            query_token
        };
        let path = format!("/query/{UUID}{report}");
        let request = head_and_first_byte(method, &path, &bearer(token));
        assert_timed_out(&bridge, &request).await;
    }
}

#[tokio::test]
async fn the_wait_for_a_whole_body_is_limited() {
    let config = Config {
        http_timeouts: HttpTimeouts {
            request_body_within: Duration::from_millis(100),
            ..HttpTimeouts::default()
        },
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let request = head_and_first_byte("POST", "/mcp", &bearer(TOKEN));
    assert_timed_out(&bridge, &request).await;
}

#[tokio::test]
async fn the_body_of_a_caller_without_a_valid_token_is_not_read() {
    let mut config = test_config();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    let bridge = start_bridge_with(config).await;
    let mut routes: Vec<_> = QUERY_ROUTES
        .iter()
        .map(|(method, report)| (*method, format!("/query/{UUID}{report}")))
        .collect();
    routes.extend(["/tool-call", "/mcp", "/"].map(|path| ("POST", path.to_owned())));
    for (method, path) in &routes {
        for headers in [String::new(), bearer(OTHER_TOKEN)] {
            let request = head_and_first_byte(method, path, &headers);
            let response = read_to_end(connect_and_send(&bridge, &request).await).await;
            let (status, body) = status_and_json(&response);
            // To the token of somebody else, the query does not exist.
            assert!([401, 404].contains(&status), "{request} {response}");
            assert!(body["error"].is_string(), "{request} {response}");
        }
    }
    // Where the id of a query is the credential, it is in the path.
    let bridge = start_bridge_with(compat_config()).await;
    for (method, report) in &QUERY_ROUTES[1..] {
        let path = format!("/query/{UUID}{report}");
        let request = head_and_first_byte(method, &path, "");
        let response = read_to_end(connect_and_send(&bridge, &request).await).await;
        assert_eq!(status_and_json(&response).0, 404, "{request} {response}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_valid_token_a_compat_body_has_5_s() {
    let mut config = compat_config();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    let bridge = start_bridge_with(config).await;
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n";
    for headers in [String::new(), bearer(OTHER_TOKEN)] {
        let started = tokio::time::Instant::now();
        assert_timed_out(&bridge, &format!("{head}{headers}\r\n{{")).await;
        assert_eq!(started.elapsed().as_secs(), 5);
    }
    // The same with a token has the time of every request, which is 15 s.
    let started = tokio::time::Instant::now();
    assert_timed_out(&bridge, &format!("{head}{}\r\n{{", bearer(TOKEN))).await;
    assert_eq!(started.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn without_a_valid_token_a_compat_body_has_64_kib() {
    let bridge = start_bridge_with(compat_config()).await;
    let message = |bytes: usize| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        message.to_string() + &" ".repeat(bytes - message.to_string().len())
    };
    let post = async |body: String, token: Option<&str>| {
        let request = http_client().post(bridge.url()).body(body);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        mock_agent::send_for_json(request).await
    };
    let (status, answer) = post(message(65_536), None).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["error"]["message"], "MissingAuthentication");
    let (status, answer) = post(message(65_537), None).await;
    assert_eq!((status, &answer["error"]), (413, &json!("RequestTooLarge")));
    assert!(answer["message"].as_str().unwrap().contains("Bearer"));
    let (status, answer) = post(message(65_537), Some(TOKEN)).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["result"]["tools"].is_array(), "{answer}");
}
