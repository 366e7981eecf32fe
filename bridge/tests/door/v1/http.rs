//! "MCP over HTTP".

use bridge::{Config, Running};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::client::*;
use super::kit::*;
use crate::agent::UUID;
use crate::kit::*;

fn message(id: u64, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method })
}

async fn json_of(response: Response) -> Value {
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("application/json"), "{kind}");
    response.json().await.unwrap()
}

/// Opens an MCP session and gives its id.
async fn initialized(bridge: &Running) -> String {
    let response = post(bridge, &message(1, "initialize")).await;
    assert_eq!(response.status(), 200);
    let id = response.headers()["mcp-session-id"].to_str().unwrap();
    id.to_owned()
}

async fn with_session(bridge: &Running, method: Method, session: &str) -> Response {
    let request = asking(bridge, method, "/").bearer_auth(TOKEN);
    sent(request.header("mcp-session-id", session)).await
}

#[tokio::test]
async fn initialize_answers_2024_11_05_and_a_session_without_capabilities_or_client_info() {
    let bridge = bridge_with(compat()).await;
    let params = json!({ "protocolVersion": "2025-06-18" });
    let message = json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params });
    let response = post(&bridge, &message).await;
    assert_eq!(response.status(), 200);
    let session = response.headers()["mcp-session-id"].clone();
    assert!(!session.is_empty());
    let answer = json_of(response).await;
    let about = json_of(sent(asking(&bridge, Method::GET, "/")).await).await;
    assert!(about["description"].is_string());
    let expected = json!({ "jsonrpc": "2.0", "id": "a", "result": {
        "protocolVersion": "2024-11-05",
        "capabilities": { "tools": { "listChanged": true }, "resources": {}, "prompts": {} },
        "serverInfo": about } });
    assert_eq!(answer, expected);
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let response = post(&bridge, &told).await;
    assert_eq!(response.status(), 202);
    assert_eq!(response.text().await.unwrap(), "");
}

#[tokio::test]
async fn post_on_any_path_answers_one_json_body() {
    let bridge = bridge_with(compat()).await;
    for path in [
        "/",
        "/mcp",
        "/some/path",
        "/tools",
        "/sessions",
        "/healthz",
        "/ws",
        "/sdk",
    ] {
        for accept in [
            "*/*",
            "application/json, text/event-stream",
            "text/event-stream",
        ] {
            let request = asking(&bridge, Method::POST, path).header("accept", accept);
            let request = request.bearer_auth(TOKEN).json(&message(7, "tools/list"));
            let response = sent(request).await;
            assert_eq!(response.status(), 200, "{path}");
            let answer = json_of(response).await;
            assert_eq!(answer["id"], 7, "{path}");
            let name = &answer["result"]["tools"][0]["name"];
            assert_eq!(name, "get_connection_status", "{path}");
        }
    }
}

#[tokio::test]
async fn ids_that_repeat_between_parallel_calls_are_each_answered() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    settled(&bridge, &mut page, "s", "t").await;
    let call = |n: u64| {
        let params = json!({ "name": "t", "arguments": { "n": n } });
        result(&bridge, "tools/call", params)
    };
    let answering = async {
        let calls = [page.call().await, page.call().await, page.call().await];
        for call in calls.iter().rev() {
            page.respond(call, call["toolInput"]["n"].clone()).await;
        }
    };
    let (one, two, three, ()) = tokio::join!(call(1), call(2), call(3), answering);
    assert_eq!(
        [text_of(&one), text_of(&two), text_of(&three)],
        ["1", "2", "3"]
    );
}

#[tokio::test]
async fn the_header_token_bare_or_bearer_wins_over_the_url() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    settled(&bridge, &mut page, "s", "t").await;
    let sees = async |path: &str, header: Option<&str>| {
        let mut request = asking(&bridge, Method::POST, path).json(&message(1, "tools/list"));
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let answer = json_of(sent(request).await).await;
        answer["result"]["tools"][0]["name"] == "list_sessions"
    };
    let in_url = format!("/?token={TOKEN}");
    assert!(sees("/", Some(TOKEN)).await);
    assert!(sees("/", Some(&format!("Bearer {TOKEN}"))).await);
    assert!(sees(&in_url, None).await);
    assert!(!sees(&in_url, Some("Bearer another")).await);
    assert!(sees("/?token=another", Some(TOKEN)).await);
}

#[tokio::test]
async fn neither_token_nor_query_is_32600_missing_authentication() {
    let bridge = bridge_with(compat()).await;
    for method in ["initialize", "tools/list", "tools/call", "ping"] {
        let response = sent(asking(&bridge, Method::POST, "/").json(&message(3, method))).await;
        assert_eq!(response.status(), 200);
        let expected = json!({ "jsonrpc": "2.0", "id": 3,
            "error": { "code": -32600, "message": "MissingAuthentication" } });
        assert_eq!(json_of(response).await, expected, "{method}");
    }
}

#[tokio::test]
async fn any_token_opens_a_realm_on_loopback_only_where_none_is_configured() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::open(&bridge, "s").await;
    page.authenticate("s", json!({ "authToken": "x" })).await;
    assert_eq!(page.hear().await["type"], "authenticated");
    let request = asking(&bridge, Method::POST, "/").bearer_auth("x");
    let answer = json_of(sent(request.json(&message(1, "tools/list"))).await).await;
    assert_eq!(answer["result"]["tools"][0]["name"], "list_sessions");

    let config = Config {
        tokens: vec![TOKEN.to_owned()],
        ..compat()
    };
    let bridge = bridge_with(config).await;
    let request = asking(&bridge, Method::POST, "/").bearer_auth("x");
    let answer = json_of(sent(request.json(&message(1, "tools/list"))).await).await;
    let expected = json!({ "code": -32600, "message": "InvalidAuthentication" });
    assert_eq!(answer["error"], expected);
}

#[tokio::test]
async fn off_loopback_the_configured_policy_counts() {
    let config = Config {
        bind: ([0, 0, 0, 0], 0).into(),
        tokens: vec![TOKEN.to_owned()],
        allowed_origins: vec!["https://app.example.com".to_owned()],
        ..compat()
    };
    let bridge = bridge_with(config).await;
    let port = bridge.local_addr().port();
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let listing = message(1, "tools/list");
    let request = http().post(url(&format!("/?token={TOKEN}"))).json(&listing);
    let answer = json_of(sent(request).await).await;
    assert_eq!(answer["error"]["message"], "MissingAuthentication");
    let request = http().post(url("/")).bearer_auth(TOKEN).json(&listing);
    let from_page = request.header("origin", "http://localhost:5173");
    assert_eq!(sent(from_page).await.status(), 403);
    let request = http().post(url("/")).bearer_auth(TOKEN).json(&listing);
    assert_eq!(sent(request).await.status(), 200);

    // An MCP session's id alone opens nothing.
    let request = http().post(url("/")).bearer_auth(TOKEN);
    let response = sent(request.json(&message(1, "initialize"))).await;
    let session = response.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let request = http().delete(url("/")).header("mcp-session-id", &session);
    assert_eq!(sent(request).await.status(), 404);
    let request = http().delete(url("/")).header("mcp-session-id", &session);
    assert_eq!(sent(request.bearer_auth(TOKEN)).await.status(), 200);
}

#[tokio::test]
async fn behind_a_proxy_under_another_name_the_bridge_is_no_more_open_than_elsewhere() {
    let config = Config {
        allowed_hosts: vec!["loopback".to_owned(), "bridge.example.com".to_owned()],
        ..compat()
    };
    let bridge = bridge_with(config).await;
    let listing = message(1, "tools/list");
    let request = asking(&bridge, Method::POST, "/").bearer_auth("x");
    let request = request.header("host", "bridge.example.com");
    let answer = json_of(sent(request.json(&listing)).await).await;
    assert_eq!(answer["error"]["message"], "InvalidAuthentication");
    let request = asking(&bridge, Method::POST, &format!("/?token={TOKEN}"));
    let answer = json_of(sent(request.json(&listing)).await).await;
    assert_eq!(answer["error"]["message"], "MissingAuthentication");
    let report = asking(&bridge, Method::PUT, &format!("/query/{UUID}/complete"));
    let report = sent(report.json(&json!({ "message": "done" }))).await;
    assert_eq!(report.status(), 401);

    let config = Config {
        allowed_hosts: vec!["localhost:80".to_owned(), "loopback".to_owned()],
        ..compat()
    };
    let bridge = bridge_with(config).await;
    let request = asking(&bridge, Method::POST, "/").bearer_auth("x");
    let answer = json_of(sent(request.json(&listing)).await).await;
    assert!(answer["result"].is_object(), "{answer}");
}

#[tokio::test]
async fn loopback_origins_may_connect_and_host_and_foreign_origins_are_checked_on_every_path() {
    let config = Config {
        allowed_origins: vec!["https://app.example.com".to_owned()],
        ..compat()
    };
    let bridge = bridge_with(config).await;
    for path in ["/", "/mcp", "/some/path", "/tools"] {
        for (header, value, status) in [
            ("origin", "http://localhost:5173", 200),
            ("origin", "https://app.example.com", 200),
            ("origin", "https://evil.example", 403),
            ("origin", "null", 403),
            ("host", "evil.example", 403),
        ] {
            let request = asking(&bridge, Method::POST, path).bearer_auth(TOKEN);
            let request = request
                .header(header, value)
                .json(&message(1, "tools/list"));
            let response = sent(request).await;
            assert_eq!(response.status(), status, "{path} {value}");
        }
    }
}

#[tokio::test]
async fn meta_query_id_of_no_query_is_32600_query_not_found() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    settled(&bridge, &mut page, "s", "t").await;
    let params = json!({ "name": "t", "_meta": { "queryId": "nobody's" } });
    let answer = ask(&bridge, "tools/call", params).await;
    let expected = json!({ "code": -32600, "message": "QueryNotFound" });
    assert_eq!(answer["error"], expected);
}

#[tokio::test]
async fn mcp_session_id_is_optional_and_an_unknown_one_is_404() {
    let bridge = bridge_with(compat()).await;
    let session = initialized(&bridge).await;
    for (id, status) in [(session.as_str(), 200), ("unknown", 404)] {
        let request = asking(&bridge, Method::POST, "/").bearer_auth(TOKEN);
        let request = request.header("mcp-session-id", id);
        let response = sent(request.json(&message(1, "tools/list"))).await;
        assert_eq!(response.status(), status);
        if status == 404 {
            let expected = json!({ "error": "MCP session not found" });
            assert_eq!(json_of(response).await, expected);
        }
    }
}

#[tokio::test]
async fn delete_ends_a_session_once() {
    let bridge = bridge_with(compat()).await;
    let session = initialized(&bridge).await;
    let response = with_session(&bridge, Method::DELETE, &session).await;
    assert_eq!(response.status(), 200);
    assert_eq!(json_of(response).await, json!({ "success": true }));
    let response = with_session(&bridge, Method::DELETE, &session).await;
    assert_eq!(response.status(), 404);
    assert_eq!(
        json_of(response).await,
        json!({ "error": "MCP session not found" })
    );
    let response = sent(asking(&bridge, Method::DELETE, "/").bearer_auth(TOKEN)).await;
    assert_eq!(response.status(), 400);
    let expected = json!({ "error": "Mcp-Session-Id header required" });
    assert_eq!(json_of(response).await, expected);
}

#[tokio::test]
async fn cors_is_on_every_answer_and_options_is_200_and_empty() {
    let bridge = bridge_with(compat()).await;
    let paths = [
        "/",
        "/mcp",
        "/tool-call",
        "/healthz",
        "/sdk/nothing",
        "/any",
    ];
    for (method, path) in paths
        .iter()
        .flat_map(|path| [Method::OPTIONS, Method::GET, Method::POST].map(|method| (method, path)))
    {
        let response = sent(asking(&bridge, method.clone(), path)).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            header("access-control-allow-origin"),
            "*",
            "{method} {path}"
        );
        let methods = "GET, POST, PUT, DELETE, OPTIONS";
        assert_eq!(header("access-control-allow-methods"), methods);
        let headers = "Content-Type, Authorization, Mcp-Session-Id";
        assert_eq!(header("access-control-allow-headers"), headers);
        assert_eq!(header("access-control-expose-headers"), "Mcp-Session-Id");
        if method == Method::OPTIONS {
            assert_eq!(response.status(), 200);
            assert_eq!(response.text().await.unwrap(), "");
        }
    }
    let request = asking(&bridge, Method::GET, "/").header("origin", "https://evil.example");
    let refused = sent(request).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.headers()["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn other_methods_are_404_not_found() {
    let bridge = bridge_with(compat()).await;
    for method in [Method::PUT, Method::PATCH] {
        let response = sent(asking(&bridge, method, "/any")).await;
        assert_eq!(response.status(), 404);
        assert_eq!(json_of(response).await, json!({ "error": "Not Found" }));
    }
}

#[tokio::test]
async fn plain_get_on_any_path_gives_the_info_body_without_a_token() {
    let config = Config {
        name: "my-bridge".to_owned(),
        ..compat()
    };
    let bridge = bridge_with(config).await;
    for path in ["/", "/mcp", "/any/path"] {
        let response = sent(asking(&bridge, Method::GET, path)).await;
        assert_eq!(response.status(), 200);
        let about = json_of(response).await;
        assert_eq!(about["name"], "my-bridge");
        assert!(about["description"].is_string() && about["version"].is_string());
    }
}

#[tokio::test]
async fn other_routes_keep_their_meaning() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    settled(&bridge, &mut page, "s", "t").await;
    let get = async |path: &str| sent(asking(&bridge, Method::GET, path).bearer_auth(TOKEN)).await;
    assert_eq!(get("/healthz").await.text().await.unwrap(), "ok");
    let sessions = json_of(get("/sessions").await).await;
    assert_eq!(sessions["sessions"][0]["session_id"], "s");
    let tools = json_of(get("/tools").await).await;
    let last = tools["tools"].as_array().unwrap().last().unwrap();
    assert_eq!(last["name"], "t");
    let (called, ()) = tokio::join!(tool_call(&bridge, "t", json!({ "n": 1 })), page.echo());
    assert_eq!(called.1["structuredContent"], json!({ "n": 1 }));
    assert_eq!(get("/sdk/no-such-file").await.status(), 404);
}

#[tokio::test]
async fn an_unparsable_body_is_32603_with_id_0() {
    let bridge = bridge_with(compat()).await;
    for body in ["", "{", "nonsense", "null"] {
        let request = asking(&bridge, Method::POST, "/")
            .bearer_auth(TOKEN)
            .body(body);
        let response = sent(request).await;
        assert_eq!(response.status(), 200, "{body}");
        let expected = json!({ "jsonrpc": "2.0", "id": 0,
            "error": { "code": -32603, "message": "InternalError" } });
        assert_eq!(json_of(response).await, expected, "{body}");
    }
}

#[tokio::test]
async fn an_unknown_method_is_32601_and_without_a_page_32600() {
    let bridge = bridge_with(compat()).await;
    let methods = [
        "ping",
        "prompts/get",
        "logging/setLevel",
        "resources/templates/list",
        "x",
    ];
    for method in methods {
        let answer = ask(&bridge, method, json!({})).await;
        let expected = json!({ "code": -32600, "message": "NoSessionsFound" });
        assert_eq!(answer["error"], expected, "{method}");
    }
    let _page = V1Page::connect(&bridge, "s").await;
    for method in methods {
        let answer = ask(&bridge, method, json!({})).await;
        let expected = json!({ "code": -32601, "message": "UnknownMethod" });
        assert_eq!(answer["error"], expected, "{method}");
    }
}

#[tokio::test]
async fn an_unknown_meta_session_id_on_a_list_with_one_page_is_32602_with_data() {
    let bridge = bridge_with(compat()).await;
    let _page = V1Page::connect(&bridge, "s").await;
    let params = json!({ "_meta": { "sessionId": "nobody" } });
    for method in ["tools/list", "resources/list", "prompts/list"] {
        let answer = ask(&bridge, method, params.clone()).await;
        let message = "No session found for the provided authentication";
        let expected = json!({ "code": -32602, "message": message, "data": {
            "error": "SessionNotFound", "error_message": message, "error_is_fatal": true } });
        assert_eq!(answer["error"], expected, "{method}");
    }
    let mut params = params;
    params["name"] = json!("t");
    let called = result(&bridge, "tools/call", params).await;
    assert_eq!(called["isError"], true);
    assert_eq!(printed(&called), json!({ "error": "SessionNotFound" }));
}

#[tokio::test]
async fn a_body_over_the_limit_is_413() {
    let config = Config {
        max_request_bytes: 1000,
        ..compat()
    };
    let bridge = bridge_with(config).await;
    let request = asking(&bridge, Method::POST, "/").bearer_auth(TOKEN);
    let response = sent(request.body("x".repeat(1001))).await;
    assert_eq!(response.status(), 413);
}

mod streams {
    use std::time::Duration;

    use super::*;

    async fn listen(bridge: &Running, session: Option<&str>) -> Events {
        let mut request = asking(bridge, Method::GET, "/").header("accept", "text/event-stream");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        let response = sent(request.bearer_auth(TOKEN)).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events::of(response)
    }

    #[tokio::test]
    async fn a_missing_or_unknown_id_is_one_32600_event() {
        let bridge = bridge_with(compat()).await;
        let missing = "Mcp-Session-Id header required for SSE stream";
        for (id, message) in [(None, missing), (Some("unknown"), "MCP session not found")] {
            let mut events = listen(&bridge, id).await;
            let expected = json!({ "jsonrpc": "2.0",
                "error": { "code": -32600, "message": message } });
            assert_eq!(events.next().await, Some(expected));
            assert_eq!(events.next().await, None);
            assert_eq!(events.last_id, None, "bare events");
        }
    }

    #[tokio::test]
    async fn one_list_changed_per_register_tool_and_per_page_close_of_the_token() {
        let bridge = bridge_with(compat()).await;
        let session = initialized(&bridge).await;
        let mut events = listen(&bridge, Some(&session)).await;
        let mut page = V1Page::connect(&bridge, "s").await;
        for name in ["t", "u", "t", "t"] {
            page.register_tool(tool(name)).await;
        }
        settled(&bridge, &mut page, "s", "u").await;
        let mut bare = V1Page::connect(&bridge, "bare").await;
        bare.register_resource(json!({ "uri": "a:b", "name": "n" }))
            .await;
        bare.go_away().await;
        let mut stranger = V1Page::open(&bridge, "stranger").await;
        stranger
            .authenticate("stranger", json!({ "authToken": "another-token" }))
            .await;
        stranger.register_tool(tool("t")).await;
        page.go_away().await;
        let expected = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        for _ in 0..6 {
            assert_eq!(events.next().await.as_ref(), Some(&expected));
        }
        // Nothing was told twice: the end of the stream comes next.
        let ended = with_session(&bridge, Method::DELETE, &session).await;
        assert_eq!(ended.status(), 200);
        assert_eq!(events.next().await, None);
    }

    #[tokio::test]
    async fn a_newer_stream_of_a_session_takes_the_place_of_the_older() {
        let bridge = bridge_with(compat()).await;
        let session = initialized(&bridge).await;
        let mut older = listen(&bridge, Some(&session)).await;
        let mut newer = listen(&bridge, Some(&session)).await;
        assert_eq!(older.next().await, None);
        let mut page = V1Page::connect(&bridge, "s").await;
        page.register_tool(tool("t")).await;
        let told = newer.next().await.unwrap();
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }

    #[tokio::test]
    async fn a_session_ends_when_it_has_been_idle_and_gives_its_place_back() {
        let config = Config {
            mcp_session_idle: Duration::from_millis(50),
            max_mcp_sessions: 1,
            ..compat()
        };
        let bridge = bridge_with(config).await;
        let session = initialized(&bridge).await;
        let again = async {
            loop {
                let response = post(&bridge, &message(1, "initialize")).await;
                if response.headers().contains_key("mcp-session-id") {
                    return;
                }
                let answer = json_of(response).await;
                assert_eq!(answer["error"]["message"], "SessionLimitExceeded");
            }
        };
        soon("place of the idle session", again).await;
        let request = asking(&bridge, Method::POST, "/").bearer_auth(TOKEN);
        let request = request.header("mcp-session-id", session);
        let response = sent(request.json(&message(1, "tools/list"))).await;
        assert_eq!(response.status(), 404);
    }

    #[tokio::test]
    async fn more_sessions_than_max_clients_of_a_token_are_refused() {
        let config = Config {
            max_clients: 1,
            ..compat()
        };
        let bridge = bridge_with(config).await;
        let session = initialized(&bridge).await;
        let answer = json_of(post(&bridge, &message(2, "initialize")).await).await;
        let expected = json!({ "code": -32600, "message": "SessionLimitExceeded" });
        assert_eq!(answer["error"], expected);
        let ended = with_session(&bridge, Method::DELETE, &session).await;
        assert_eq!(ended.status(), 200);
        initialized(&bridge).await;
    }

    #[tokio::test]
    async fn a_session_is_its_tokens_own() {
        let bridge = bridge_with(compat()).await;
        let session = initialized(&bridge).await;
        let request = asking(&bridge, Method::DELETE, "/").bearer_auth("another-token");
        let response = sent(request.header("mcp-session-id", &session)).await;
        assert_eq!(response.status(), 404);
        let request = asking(&bridge, Method::DELETE, "/");
        let response = sent(request.header("mcp-session-id", &session)).await;
        assert_eq!(
            response.status(),
            200,
            "on loopback the id is secret enough"
        );
    }
}
