//! Clients behind `mcp-web-stdio`, some of which end their session at a line of more than 10 MiB.

use bridge::{Config, Profile, Profiles, Results, ServerHandle};
use bridge_protocol::Kind;
use serde_json::{Value, json};

use crate::kit::*;

/// The `User-Agent` of `mcp-web-stdio`.
const STDIO: &str = "mcp-web-stdio/2.0.0";

/// The lowest limit that can be configured.
const LIMIT: usize = 256 * 1024;

const LISTS: [(Kind, &str, &str); 4] = [
    (Kind::Tool, "tools/list", "tools"),
    (Kind::Prompt, "prompts/list", "prompts"),
    (Kind::Resource, "resources/list", "resources"),
    (
        Kind::ResourceTemplate,
        "resources/templates/list",
        "resourceTemplates",
    ),
];

async fn start_limited_bridge() -> ServerHandle {
    start_limited_bridge_with(Profiles::default()).await
}

async fn start_limited_bridge_with(profiles: Profiles) -> ServerHandle {
    let results = Results {
        max_stdio_message_bytes: LIMIT,
        ..Results::default()
    };
    let mut config = config_with_results(results);
    config.page_limits.max_definition_bytes = 16 * LIMIT;
    config.profiles = profiles;
    start_bridge_with(config).await
}

async fn stdio_client(bridge: &ServerHandle) -> McpClient {
    let capabilities = json!({ "elicitation": {} });
    McpClient::connect_with_user_agent(bridge, STDIO, capabilities).await
}

/// The line that `mcp-web-stdio` writes for the response to a request.
async fn response_line(response: reqwest::Response) -> String {
    let text = with_deadline("body", response.text()).await.unwrap();
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.next_back().unwrap_or(&text).to_owned()
}

#[tokio::test]
async fn results_are_cut_for_the_buffer_of_the_sdks_unless_a_profile_allows_more() {
    let buffer = 10 * 1024 * 1024;
    let larger = Profile {
        max_result_bytes: Some(2 * buffer),
        ..Profile::default()
    };
    let with_profile = Config {
        profiles: test_client_profile(larger),
        ..test_config()
    };
    // As text and as structured content, it is 12 MB.
    let value = json!({ "text": "x".repeat(6_000_000) });
    let expected = [
        (test_config(), STDIO, false),
        (test_config(), "node", true),
        (with_profile, STDIO, true),
    ];
    for (config, user_agent, is_whole) in expected {
        let bridge = start_bridge_with(config).await;
        let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
        let client = McpClient::connect_with_user_agent(&bridge, user_agent, json!({})).await;
        let params = json!({ "name": "echo", "arguments": {} });
        let call = async { response_line(client.start_request("tools/call", params).await).await };
        let (line, _call) = tokio::join!(call, page.serve_call(value.clone()));
        // Node reads a pipe in chunks, whose last one may have a part of the next line.
        let fits = line.len() + 64 * 1024 <= buffer;
        assert_eq!(fits, !is_whole, "{} bytes", line.len());
        let answer: Value = serde_json::from_str(&line).unwrap();
        let result = &answer["result"];
        assert_eq!(result.get("structuredContent").is_some(), is_whole);
        assert!(result_text(result).contains(&"x".repeat(6_000_000)));
    }
}

#[tokio::test]
async fn line_separators_count_as_they_are_sent_in_an_event() {
    let bridge = start_limited_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = stdio_client(&bridge).await;
    for text in ["\u{85}", "\u{2028}", "\"\n", "é→😀"] {
        let text = text.repeat(60_000);
        let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": 1 } });
        let events = client.request_stream(7, "tools/call", params);
        let handler = async {
            let call = page.recv_call().await;
            let id = &call.request_id;
            page.send_json(json!({ "type": "call-progress", "requestId": id, "progress": 1 }))
                .await;
            page.respond(&call, json!(text)).await;
        };
        let (mut events, ()) = tokio::join!(events, handler);
        let result = loop {
            let event = events.next_event().await.unwrap();
            let data = event_field(&event, "data").unwrap();
            assert!(data.len() <= LIMIT, "{} bytes", data.len());
            if data.contains("\"result\"") {
                break serde_json::from_str::<Value>(data).unwrap()["result"].take();
            }
        };
        let is_cut = result["_meta"]["mcp-web/cut"]["handle"].is_string();
        assert_eq!(is_cut, !text.contains('"'), "{} bytes", text.len());
    }
}

/// An item of a list with many bytes.
fn item(kind: Kind, number: usize) -> (Kind, Value) {
    let name = format!("item-{number}");
    let uri = format!("board://{number}");
    let mut item = json!({ "name": name, "description": "x".repeat(10_000) });
    match kind {
        Kind::Resource => item["uri"] = json!(uri),
        Kind::ResourceTemplate => item["uriTemplate"] = json!(format!("{uri}/{{id}}")),
        Kind::Tool | Kind::Prompt => {}
    }
    (kind, item)
}

#[tokio::test]
async fn long_lists_have_several_pages() {
    let bridge = start_limited_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    for (kind, ..) in LISTS {
        let items: Vec<_> = (0..40).map(|number| item(kind, number)).collect();
        page.register_items(&items).await;
    }
    let client = stdio_client(&bridge).await;
    let stateless = StatelessClient::new(&bridge);
    for (_, method, key) in LISTS {
        for is_stateless in [false, true] {
            let mut names = Vec::new();
            let (mut pages, mut params) = (0, json!({}));
            loop {
                let response = if is_stateless {
                    let request = stateless.build(method, params.clone());
                    let request = request.header("user-agent", STDIO);
                    with_deadline("response", request.send()).await.unwrap()
                } else {
                    client.start_request(method, params).await
                };
                let line = response_line(response).await;
                assert!(line.len() <= LIMIT, "{method}: {} bytes", line.len());
                let answer: Value = serde_json::from_str(&line).unwrap();
                let entries = answer["result"][key].as_array().unwrap();
                let listed = entries.iter().map(|entry| entry["name"].to_string());
                names.extend(listed.filter(|name| name.contains("item-")));
                pages += 1;
                match answer["result"].get("nextCursor") {
                    Some(cursor) => params = json!({ "cursor": cursor }),
                    None => break,
                }
            }
            assert!(pages > 1, "{method}");
            let listed = names.len();
            names.sort();
            names.dedup();
            assert_eq!((listed, names.len()), (40, 40), "{method}");
        }
    }
    // Other clients get the list at once.
    let other = McpClient::connect(&bridge, TOKEN).await;
    assert!(other.tool_names().await.len() > 40);
}

#[tokio::test]
async fn a_profile_allows_more_in_every_list() {
    let larger = Profile {
        max_result_bytes: Some(16 * LIMIT),
        ..Profile::default()
    };
    let bridge = start_limited_bridge_with(test_client_profile(larger)).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let client = stdio_client(&bridge).await;
    let stateless = StatelessClient::new(&bridge);
    for (kind, method, _) in LISTS {
        let items: Vec<_> = (0..40).map(|number| item(kind, number)).collect();
        page.register_items(&items).await;
        let request = stateless.build(method, json!({}));
        let request = request.header("user-agent", STDIO).send();
        let stateless = with_deadline("response", request).await.unwrap();
        for response in [client.start_request(method, json!({})).await, stateless] {
            let line = response_line(response).await;
            assert!(line.len() > LIMIT, "{method}: {} bytes", line.len());
            assert!(!line.contains("nextCursor"), "{method}");
        }
    }
}

#[tokio::test]
async fn requests_to_the_client_are_limited() {
    let bridge = start_limited_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = stdio_client(&bridge).await;
    let handler = async {
        let call = page.recv_call().await;
        let requests = [question("k", LIMIT)];
        page.send_json(
            json!({ "type": "client-requests", "requestId": call.request_id,
            "requests": requests }),
        )
        .await;
        let responses = page.recv_client_responses().await;
        let message = &responses[0].error.as_ref().unwrap().message;
        assert!(message.contains(&format!("takes {LIMIT}")), "{message}");
        page.respond(&call, json!("done")).await;
    };
    let (answer, ()) = tokio::join!(client.call("echo", json!({})), handler);
    assert_eq!(result_text(&answer["result"]), "done");
}

/// A question to the client with a text of this size.
fn question(key: &str, bytes: usize) -> Value {
    json!({ "key": key, "method": "elicitation/create", "params": {
        "message": "x".repeat(bytes),
        "requestedSchema": { "type": "object", "properties": {} } } })
}

#[tokio::test]
async fn questions_of_the_stateless_protocol_are_limited() {
    let bridge = start_limited_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = StatelessClient::with_capabilities(&bridge, json!({ "elicitation": {} }));
    // The last ones are too large together.
    let rounds = [
        vec![question("a", LIMIT)],
        vec![question("b", LIMIT / 2), question("c", LIMIT / 2)],
    ];
    for questions in rounds {
        let is_single = questions.len() == 1;
        let params = json!({ "name": "echo", "arguments": {} });
        let request = client.build("tools/call", params);
        let request = request.header("user-agent", STDIO).send();
        let call = async { response_line(with_deadline("response", request).await.unwrap()).await };
        let handler = async {
            let call = page.recv_call().await;
            let id = &call.request_id;
            page.send_json(
                json!({ "type": "client-requests", "requestId": id, "requests": questions }),
            )
            .await;
            if is_single {
                let responses = page.recv_client_responses().await;
                assert!(responses[0].error.is_some());
                page.respond(&call, json!("done")).await;
            }
        };
        let (line, ()) = tokio::join!(call, handler);
        assert!(line.len() <= LIMIT, "{} bytes", line.len());
        let answer: Value = serde_json::from_str(&line).unwrap();
        if is_single {
            assert_eq!(result_text(&answer["result"]), "done");
        } else {
            assert_eq!(answer["error"]["data"]["code"], "ResultTooLarge");
        }
    }
}

#[tokio::test]
async fn prompts_resources_and_errors_are_limited() {
    let bridge = start_limited_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    page.register_items(&[
        item(Kind::Tool, 0),
        item(Kind::Prompt, 0),
        item(Kind::Resource, 0),
    ])
    .await;
    let client = stdio_client(&bridge).await;
    let large = "x".repeat(LIMIT);
    let contents = json!({ "contents": [{ "uri": "board://0", "text": large }] });
    let content = json!({ "type": "text", "text": large });
    let messages = json!({ "messages": [{ "role": "user", "content": content }] });
    let error = json!({ "type": "call-error", "code": "HandlerFailed", "message": large });
    let names = json!({ "name": "item-0" });
    let uri = json!({ "uri": "board://0" });
    let response = |result: Value| json!({ "type": "call-response", "result": result });
    for (method, params, answer) in [
        ("resources/read", &uri, response(contents)),
        ("prompts/get", &names, response(messages)),
        ("resources/read", &uri, error.clone()),
        ("prompts/get", &names, error.clone()),
        ("tools/call", &names, error.clone()),
    ] {
        let request =
            async { response_line(client.start_request(method, params.clone()).await).await };
        let prefix = match method {
            "tools/call" => "tool-call",
            "prompts/get" => "prompt-get",
            _ => "resource-read",
        };
        let handler = async {
            let call = page.recv_type(prefix).await;
            let id = json!({ "requestId": call["requestId"] });
            page.send_json(with_members(answer.clone(), id)).await;
        };
        let (line, ()) = tokio::join!(request, handler);
        assert!(line.len() <= LIMIT, "{method}: {} bytes", line.len());
        let answer: Value = serde_json::from_str(&line).unwrap();
        let code = &answer["error"]["data"]["code"];
        if method == "tools/call" {
            assert_eq!(answer["result"]["isError"], true, "{answer}");
        } else {
            assert_eq!(code, "ResultTooLarge", "{method}: {}", &line[..200]);
        }
    }
}
