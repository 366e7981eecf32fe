//! The tokens, hosts and origins that are accepted.

use super::*;

#[tokio::test]
async fn a_bare_or_bearer_header_token_overrides_the_token_in_the_url() {
    let (bridge, _page) = start_compat_with_tool().await;
    let lists_sessions = async |path: &str, header: Option<&str>| {
        let mut request = http_request(&bridge, Method::POST, path).json(&message(1, "tools/list"));
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let answer = json_body(send(request).await).await;
        answer["result"]["tools"][0]["name"] == "list_sessions"
    };
    let url_with_token = format!("/?token={TOKEN}");
    assert!(lists_sessions("/", Some(TOKEN)).await);
    assert!(lists_sessions("/", Some(&format!("Bearer {TOKEN}"))).await);
    assert!(lists_sessions(&url_with_token, None).await);
    assert!(!lists_sessions(&url_with_token, Some("Bearer another")).await);
    assert!(lists_sessions("/?token=another", Some(TOKEN)).await);
}

#[tokio::test]
async fn requests_without_token_or_query_are_32600_missing_authentication() {
    let bridge = start_bridge_with(compat_config()).await;
    for method in ["initialize", "tools/list", "tools/call", "ping"] {
        let response =
            send(http_request(&bridge, Method::POST, "/").json(&message(3, method))).await;
        assert_eq!(response.status(), 200);
        let expected = json!({ "jsonrpc": "2.0", "id": 3,
            "error": { "code": -32600, "message": "MissingAuthentication" } });
        assert_eq!(json_body(response).await, expected, "{method}");
    }
}

#[tokio::test]
async fn any_token_is_accepted_on_loopback_unless_tokens_are_configured() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::open(&bridge, "s").await;
    page.authenticate("s", json!({ "authToken": "x" })).await;
    assert_eq!(page.recv().await["type"], "authenticated");
    let request = http_request(&bridge, Method::POST, "/").bearer_auth("x");
    let answer = json_body(send(request.json(&message(1, "tools/list"))).await).await;
    assert_eq!(answer["result"]["tools"][0]["name"], "list_sessions");

    let mut config = compat_config();
    config.tokens.tokens = vec![TOKEN.to_owned()];
    let bridge = start_bridge_with(config).await;
    let request = http_request(&bridge, Method::POST, "/").bearer_auth("x");
    let answer = json_body(send(request.json(&message(1, "tools/list"))).await).await;
    let expected = json!({ "code": -32600, "message": "InvalidAuthentication" });
    assert_eq!(answer["error"], expected);
}

#[tokio::test]
async fn a_non_loopback_address_enforces_tokens_and_origins() {
    let mut config = compat_config();
    config.network.bind = ([0, 0, 0, 0], 0).into();
    config.network.allowed_origins = vec!["https://app.example.com".to_owned()];
    config.tokens.tokens = vec![TOKEN.to_owned()];
    let bridge = start_bridge_with(config).await;
    let port = bridge.local_addr().port();
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let list = message(1, "tools/list");
    let request = http_client()
        .post(url(&format!("/?token={TOKEN}")))
        .json(&list);
    let answer = json_body(send(request).await).await;
    assert_eq!(answer["error"]["message"], "MissingAuthentication");
    let request = http_client().post(url("/")).bearer_auth(TOKEN).json(&list);
    let from_page = request.header("origin", "http://localhost:5173");
    assert_eq!(send(from_page).await.status(), 403);
    let request = http_client().post(url("/")).bearer_auth(TOKEN).json(&list);
    assert_eq!(send(request).await.status(), 200);

    // The id of an MCP session is not enough without a token.
    let request = http_client().post(url("/")).bearer_auth(TOKEN);
    let response = send(request.json(&message(1, "initialize"))).await;
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let request = http_client()
        .delete(url("/"))
        .header("mcp-session-id", &session);
    assert_eq!(send(request).await.status(), 404);
    let request = http_client()
        .delete(url("/"))
        .header("mcp-session-id", &session);
    assert_eq!(send(request.bearer_auth(TOKEN)).await.status(), 200);
}

#[tokio::test]
async fn a_non_loopback_allowed_host_disables_anonymous_access() {
    let mut config = compat_config();
    config.network.allowed_hosts = vec!["loopback".to_owned(), "bridge.example.com".to_owned()];
    let bridge = start_bridge_with(config).await;
    let list = message(1, "tools/list");
    let request = http_request(&bridge, Method::POST, "/").bearer_auth("x");
    let request = request.header("host", "bridge.example.com");
    let answer = json_body(send(request.json(&list)).await).await;
    assert_eq!(answer["error"]["message"], "InvalidAuthentication");
    let request = http_request(&bridge, Method::POST, &format!("/?token={TOKEN}"));
    let answer = json_body(send(request.json(&list)).await).await;
    assert_eq!(answer["error"]["message"], "MissingAuthentication");
    let report = http_request(&bridge, Method::PUT, &format!("/query/{UUID}/complete"));
    let report = send(report.json(&json!({ "message": "done" }))).await;
    assert_eq!(report.status(), 401);

    let mut config = compat_config();
    config.network.allowed_hosts = vec!["localhost:80".to_owned(), "loopback".to_owned()];
    let bridge = start_bridge_with(config).await;
    let request = http_request(&bridge, Method::POST, "/").bearer_auth("x");
    let answer = json_body(send(request.json(&list)).await).await;
    assert!(answer["result"].is_object(), "{answer}");
}

#[tokio::test]
async fn host_and_origin_are_checked_on_every_path() {
    let mut config = compat_config();
    config.network.allowed_origins = vec!["https://app.example.com".to_owned()];
    let bridge = start_bridge_with(config).await;
    for path in ["/", "/mcp", "/some/path", "/tools"] {
        for (header, value, status) in [
            ("origin", "http://localhost:5173", 200),
            ("origin", "https://app.example.com", 200),
            ("origin", "https://evil.example", 403),
            ("origin", "null", 403),
            ("host", "evil.example", 403),
        ] {
            let request = http_request(&bridge, Method::POST, path).bearer_auth(TOKEN);
            let request = request
                .header(header, value)
                .json(&message(1, "tools/list"));
            let response = send(request).await;
            assert_eq!(response.status(), status, "{path} {value}");
        }
    }
}

#[tokio::test]
async fn an_unknown_meta_query_id_is_32600_query_not_found() {
    let (bridge, _page) = start_compat_with_tool().await;
    let params = json!({ "name": "t", "_meta": { "queryId": "nobody's" } });
    let answer = rpc_call(&bridge, "tools/call", params).await;
    let expected = json!({ "code": -32600, "message": "QueryNotFound" });
    assert_eq!(answer["error"], expected);
}
