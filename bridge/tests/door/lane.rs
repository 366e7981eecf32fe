//! The lane answers as rmcp does: each request goes once as it is, and once with a member that the
//! lane does not know and rmcp does not mind.

use std::time::{Duration, Instant};

use bridge::{Config, Running};
use bridge_protocol::BridgeToPage;
use serde_json::{Value, json};

use crate::kit::*;

const V2026: &str = "2026-07-28";

fn tools() -> Vec<Value> {
    let promised = json!({ "type": "object", "required": ["n"] });
    let mut header = echo_tool();
    header["name"] = json!("header");
    header["inputSchema"]["properties"]["n"]["x-mcp-header"] = json!("N");
    let unions = json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
        "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    vec![
        echo_tool(),
        json!({ "name": "told", "title": "Told", "annotations": { "readOnlyHint": true } }),
        json!({ "name": "picture", "icons": [{ "src": "a.png" }] }),
        json!({ "name": "blocks", "_meta": { "a/b": [1] } }),
        json!({ "name": "wrong" }),
        json!({ "name": "fails" }),
        json!({ "name": "breaks its promise", "outputSchema": promised }),
        json!({ "name": "marked", "_meta": { "mcp-web/asksClient": false } }),
        json!({ "name": "unions", "inputSchema": unions }),
        header,
    ]
}

/// A page that answers each call by the tool's name.
async fn answering(mut page: Page) {
    while let Some(message) = page.idle().await {
        let BridgeToPage::ToolCall(call) = message else {
            continue;
        };
        let id = &call.request_id;
        page.say_json(json!({ "type": "call-received", "requestId": id }))
            .await;
        let response = |member: Value| {
            let mut response = json!({ "type": "call-response", "requestId": id });
            response
                .as_object_mut()
                .unwrap()
                .extend(member.as_object().unwrap().clone());
            response
        };
        let answer = match call.tool_name.as_str() {
            "told" => {
                let progress = json!({ "type": "call-progress", "requestId": id, "progress": 1,
                    "total": 2, "message": "half" });
                page.say_json(progress).await;
                response(json!({ "result": "plain \"words\"\né" }))
            }
            "picture" => response(json!({ "result": "data:image/png;base64,AAAA" })),
            "blocks" => response(json!({ "content": [
                { "type": "text", "text": "t", "annotations": { "priority": 1.0 } },
                { "type": "resource_link", "uri": "a:b", "name": "n" },
                { "type": "resource", "resource": { "uri": "a:b", "text": "r" } }],
                "structuredContent": { "a": [null, 1.5] }, "_meta": { "k": 1 } })),
            "wrong" => response(json!({ "content": [
                { "type": "text", "text": "t", "annotations": { "priority": "high" } }] })),
            "fails" => json!({ "type": "call-error", "requestId": id, "code": "HandlerFailed",
                "message": "no", "data": { "why": 1 } }),
            "breaks its promise" => response(json!({ "result": { "m": 1 } })),
            _ => response(json!({ "result": { "input": raw_value(&call.tool_input),
                "client": call.context.client.unwrap().info.name } })),
        };
        page.say_json(answer).await;
    }
}

fn raw_value(raw: &serde_json::value::RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap()
}

/// A request in the words that a client sends.
#[derive(Clone)]
struct Sent {
    body: String,
    headers: Vec<(&'static str, String)>,
}

impl Sent {
    fn header(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers
            .extend(value.map(|value| (name, value.to_owned())));
        self
    }

    fn twice(mut self, name: &'static str) -> Self {
        let (_, value) = self.headers.iter().find(|(it, _)| *it == name).unwrap();
        self.headers.push((name, value.clone()));
        self
    }

    /// The same with something that only rmcp takes.
    fn for_rmcp(&self) -> Self {
        let body = match self.body.strip_prefix('{') {
            Some(rest) => format!("{{\"unknownToTheLane\":true,{rest}"),
            None => self.body.clone(),
        };
        Self {
            body,
            headers: self.headers.clone(),
        }
    }
}

/// The bridge, and a client of each era.
struct World {
    bridge: Running,
    client: McpClient,
}

impl World {
    async fn with_a_page() -> Self {
        let bridge = bridge().await;
        let page = Page::with_tools(&bridge, "s", &tools()).await;
        tokio::spawn(answering(page));
        Self::of(bridge).await
    }

    async fn of(bridge: Running) -> Self {
        let client = McpClient::connect(&bridge, TOKEN).await;
        Self { bridge, client }
    }

    fn legacy(&self, body: String) -> Sent {
        let headers = vec![
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-session-id", self.client.session.clone()),
        ];
        Sent { body, headers }
    }

    /// `params` with what a client of 2026-07-28 says of itself in each request.
    fn modern(&self, method: &str, mut params: Value) -> Sent {
        let own = [
            ("protocolVersion", json!(V2026)),
            (
                "clientInfo",
                json!({ "name": "door-test", "version": "1.0.0" }),
            ),
            ("clientCapabilities", json!({})),
        ];
        for (key, value) in own {
            let key = format!("io.modelcontextprotocol/{key}");
            let meta = &params["_meta"];
            if (meta.is_null() || meta.is_object()) && meta.get(&key).is_none() {
                params["_meta"][key] = value;
            }
        }
        let mut headers = vec![
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-protocol-version", V2026.to_owned()),
            ("mcp-method", method.to_owned()),
        ];
        if let Some(name) = params["name"].as_str() {
            headers.push(("mcp-name", name.to_owned()));
        }
        let body = request(1, method, params).to_string();
        Sent { body, headers }
    }

    fn both(&self, params: Value) -> [Sent; 2] {
        let body = request(1, "tools/call", params.clone()).to_string();
        [self.legacy(body), self.modern("tools/call", params)]
    }

    async fn send(&self, sent: &Sent) -> Heard {
        let mut post = http()
            .post(format!("{}/mcp", self.bridge.url()))
            .bearer_auth(TOKEN)
            .body(sent.body.clone());
        for (name, value) in &sent.headers {
            post = post.header(*name, value);
        }
        let response = soon("answer", post.send()).await.unwrap();
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type");
        let is_json = kind.is_some_and(|kind| kind == "application/json");
        let text = soon("body", response.text()).await.unwrap();
        let parse = |text: &str| serde_json::from_str::<Value>(text).ok().map(normal);
        let messages = match parse(&text) {
            Some(message) => vec![message],
            None => text
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .filter_map(parse)
                .collect(),
        };
        Heard {
            status,
            is_json,
            messages,
        }
    }

    /// Sends it both ways: what is heard must be the same.
    async fn same(&self, sent: &Sent) -> Heard {
        let (ours, theirs) = (self.send(sent).await, self.send(&sent.for_rmcp()).await);
        let Sent { body, headers } = sent;
        assert_eq!(ours.status, theirs.status, "{headers:?} {body}");
        assert_eq!(ours.messages, theirs.messages, "{headers:?} {body}");
        ours
    }

    /// rmcp answers these with streams; the lane too, when the page is slow: it may be asked again.
    async fn is_the_lanes(&self, sent: Sent) -> Value {
        for _ in 0..MOST_SLOW_ANSWERS {
            let mut heard = self.same(&sent).await;
            assert_eq!(heard.status, 200);
            if heard.is_json {
                return heard.messages.pop().unwrap();
            }
        }
        panic!("rmcp served {:?} {}", sent.headers, sent.body);
    }
}

/// On a busy machine a page may be slow some times in a row.
const MOST_SLOW_ANSWERS: usize = 20;

#[derive(Debug)]
struct Heard {
    status: u16,
    is_json: bool,
    messages: Vec<Value>,
}

/// rmcp says 1.0 for a page's 1.
fn normal(mut message: Value) -> Value {
    for place in ["/params/progress", "/params/total"] {
        if let Some(number) = message.pointer_mut(place) {
            *number = json!(number.as_f64());
        }
    }
    message
}

#[tokio::test]
async fn a_call_is_answered_alike() {
    let world = World::with_a_page().await;
    for params in [
        json!({ "name": "echo", "arguments": { "n": 1 } }),
        json!({ "name": "echo" }),
        json!({ "name": "echo", "arguments": null }),
        json!({ "name": "echo", "arguments": { "n": "no number" } }),
        json!({ "name": "echo", "arguments": { "session_id": "s", "n": 2 } }),
        json!({ "name": "echo", "arguments": { "session_id": "none" } }),
        json!({ "name": "echo", "arguments": {}, "_meta": { "sessionId": "s", "traceparent": "x" } }),
        json!({ "name": "echo", "arguments": {}, "_meta": { "sessionId": "none" } }),
        json!({ "name": "nobody's" }),
        json!({ "name": "" }),
        json!({ "name": "t\u{e9}" }),
        json!({ "name": "told" }),
        json!({ "name": "picture" }),
        json!({ "name": "blocks" }),
        json!({ "name": "wrong" }),
        json!({ "name": "fails" }),
        json!({ "name": "marked" }),
        json!({ "name": "breaks its promise" }),
        json!({ "name": "list_session_tools", "arguments": { "session_id": "s" } }),
        json!({ "name": "get_connection_status" }),
        json!({ "name": "get_result", "arguments": { "handle": 7 } }),
        json!({ "name": "call_session_tool", "arguments": {} }),
        json!({ "name": "call_session_tool",
            "arguments": { "tool_name": "echo", "arguments": { "n": 3 } } }),
    ] {
        let ascii = params["name"].as_str().unwrap().is_ascii();
        for sent in world.both(params.clone()) {
            if ascii || sent.headers.iter().all(|(name, _)| *name != "mcp-name") {
                let answer = world.is_the_lanes(sent).await;
                assert_eq!(answer["id"], 1);
            }
        }
    }
}

#[tokio::test]
async fn without_a_page_the_answers_are_alike_too() {
    let world = World::of(bridge().await).await;
    for name in ["echo", "list_active_sessions", "list_session_tools"] {
        for sent in world.both(json!({ "name": name })) {
            world.is_the_lanes(sent).await;
        }
    }
}

#[tokio::test]
async fn a_block_with_a_member_of_the_wrong_kind_is_told_on_both_ways() {
    let world = World::with_a_page().await;
    for sent in world.both(json!({ "name": "wrong" })) {
        let answer = world.is_the_lanes(sent).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = text_of(&answer["result"]);
        assert!(text.contains("`priority`"), "{text}");
    }
}

/// MCP lets a client of 2026-07-28 leave out who it is.
#[tokio::test]
async fn a_client_that_does_not_say_who_it_is_has_no_name_on_both_ways() {
    let world = World::with_a_page().await;
    let named = world.modern("tools/call", json!({ "name": "echo", "arguments": {} }));
    let key = "io.modelcontextprotocol/clientInfo";
    for info in [None, Some(json!(7)), Some(json!({ "version": "1" }))] {
        let mut body: Value = serde_json::from_str(&named.body).unwrap();
        let meta = body["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(key);
        meta.extend(info.map(|info| (key.to_owned(), info)));
        let answer = world
            .is_the_lanes(Sent {
                body: body.to_string(),
                ..named.clone()
            })
            .await;
        let client = &answer["result"]["structuredContent"]["client"];
        assert_eq!(client, "unknown client", "{answer}");
    }
}

#[tokio::test]
async fn ids_come_back_as_they_are() {
    let world = World::with_a_page().await;
    for id in [
        "0",
        "-3",
        "9007199254740993",
        "\"\"",
        "\"a b\"",
        r#""\u0061\n""#,
    ] {
        let body = format!(
            r#" {{"id":{id}, "method":"tools/call","jsonrpc":"2.0","params":{{"name":"echo"}}}}"#
        );
        let sent = world.legacy(body[1..].to_owned());
        let answer = world.is_the_lanes(sent).await;
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap());
    }
}

#[tokio::test]
async fn what_is_wrong_is_rmcps_to_say() {
    let world = World::with_a_page().await;
    let call = json!({ "name": "echo", "arguments": { "n": 1 } });
    let [legacy, modern] = world.both(call.clone());
    let with = |key: &str, value: Value| {
        let mut params = call.clone();
        params[key] = value;
        world.both(params)
    };
    let meta = |key: &str, value: Value| {
        let mut params = call.clone();
        params["_meta"] = json!({ format!("io.modelcontextprotocol/{key}"): value });
        world.modern("tools/call", params)
    };
    let mut wrong = vec![
        legacy.clone().header("mcp-session-id", None),
        legacy.clone().header("mcp-session-id", Some("nobody's")),
        legacy
            .clone()
            .header("mcp-protocol-version", Some("1999-01-01")),
        legacy.clone().header("mcp-protocol-version", Some(V2026)),
        legacy.clone().header("accept", Some("text/html")),
        modern.clone().header("mcp-method", None),
        modern.clone().header("mcp-method", Some("tools/list")),
        modern.clone().header("mcp-name", None),
        modern.clone().header("mcp-name", Some("other")),
        modern
            .clone()
            .header("mcp-name", Some("=?base64?ZWNobw==?=")),
        modern.clone().twice("mcp-name"),
        modern.clone().twice("mcp-method"),
        modern.clone().header("mcp-protocol-version", None),
        modern
            .clone()
            .header("mcp-protocol-version", Some("2025-11-25")),
        meta("protocolVersion", json!("2027-01-01")),
        meta("protocolVersion", json!("2025-11-25")),
        meta("protocolVersion", json!(7)),
        meta("clientCapabilities", json!("none")),
        meta("clientCapabilities", json!({ "roots": 7 })),
        meta("clientCapabilities", json!(null)),
        world.legacy(request(1, "tools/call", json!([])).to_string()),
        world.legacy(request(1, "Tools/Call", call.clone()).to_string()),
    ];
    for (key, value) in [
        ("arguments", json!([1])),
        ("arguments", json!("text")),
        ("name", json!(7)),
        ("name", json!(null)),
        ("_meta", json!(7)),
        ("requestState", json!("of nobody")),
        ("inputResponses", json!({})),
        ("task", json!({ "ttl": 1 })),
    ] {
        wrong.extend(with(key, value));
    }
    for (key, value) in [
        ("jsonrpc", json!("1.0")),
        ("jsonrpc", json!(null)),
        ("id", json!(null)),
        ("id", json!(1.5)),
        ("id", json!({})),
        ("id", json!(true)),
        ("params", json!(null)),
        ("method", json!(7)),
        ("result", json!(1)),
    ] {
        let mut body = request(1, "tools/call", call.clone());
        body[key] = value;
        wrong.push(world.legacy(body.to_string()));
    }
    for body in [
        "",
        "no JSON",
        "[]",
        "7",
        "\"tools/call\"",
        "{\"method\":\"tools/call\"}",
    ] {
        wrong.push(world.legacy(body.to_owned()));
    }
    for sent in wrong {
        world.same(&sent).await;
    }
}

#[tokio::test]
async fn lists_are_alike() {
    let world = World::with_a_page().await;
    for params in [json!({}), json!({ "_meta": { "own": 1 } })] {
        let body = request(1, "tools/list", params.clone()).to_string();
        let legacy = world.is_the_lanes(world.legacy(body)).await;
        let modern = world.is_the_lanes(world.modern("tools/list", params)).await;
        assert_eq!(legacy["result"]["tools"].as_array().unwrap().len(), 15);
        assert_eq!(modern["result"]["ttlMs"], 0);
    }
    let nothing = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    world.is_the_lanes(world.legacy(nothing.to_owned())).await;
    for params in [
        json!({ "cursor": "c" }),
        json!({ "name": "n" }),
        json!(null),
    ] {
        let body = request(1, "tools/list", params).to_string();
        world.same(&world.legacy(body)).await;
    }
}

/// rmcp's model of a tool has eight fields.
#[tokio::test]
async fn a_tools_own_fields_survive_in_a_list() {
    let bridge = bridge().await;
    let tool = json!({ "name": "own", "example.com/own": { "z": 1, "a": null } });
    let _page = Page::with_tools(&bridge, "s", std::slice::from_ref(&tool)).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let listed = client.request("tools/list", json!({})).await;
    let own = &listed["result"]["tools"][5]["example.com/own"];
    assert_eq!(own.to_string(), tool["example.com/own"].to_string());
}

#[tokio::test]
async fn progress_is_told_alike_before_the_answer() {
    let world = World::with_a_page().await;
    for token in [json!("t"), json!(7), json!(1.5), json!({})] {
        for sent in world.both(json!({ "name": "told", "_meta": { "progressToken": token } })) {
            let heard = world.same(&sent).await;
            let wanted = usize::from(token.is_string() || token.is_i64());
            assert_eq!(heard.messages.len(), 1 + wanted, "{heard:?}");
        }
    }
}

#[tokio::test]
async fn a_client_that_takes_events_only_hears_events() {
    let world = World::with_a_page().await;
    for sent in world.both(json!({ "name": "echo" })) {
        let heard = world
            .same(&sent.clone().header("accept", Some("text/event-stream")))
            .await;
        assert!(!heard.is_json && heard.messages.len() == 1);
        for json in [None, Some("*/*"), Some("application/json")] {
            world
                .is_the_lanes(sent.clone().header("accept", json))
                .await;
        }
        let weighed = Some("application/json;q=0.5, text/event-stream");
        world.same(&sent.header("accept", weighed)).await;
    }
}

/// Whom a page may ask takes rmcp's way, unless the tool says that it does not ask.
#[tokio::test]
async fn a_client_that_can_be_asked_is_rmcps_unless_the_tool_never_asks() {
    let world = World::with_a_page().await;
    let able = McpClient::with_capabilities(&world.bridge, TOKEN, json!({ "roots": {} })).await;
    for (tool, is_the_lanes) in [
        ("echo", false),
        ("marked", true),
        ("call_session_tool", false),
        ("list_active_sessions", true),
    ] {
        let declared = json!({ "io.modelcontextprotocol/clientCapabilities": { "roots": {} } });
        let params = json!({ "name": tool, "_meta": declared });
        let modern = world.same(&world.modern("tools/call", params)).await;
        assert_eq!(modern.is_json, is_the_lanes, "{tool}");
        let legacy = request(1, "tools/call", json!({ "name": tool })).to_string();
        let legacy = world
            .legacy(legacy)
            .header("mcp-session-id", Some(&able.session));
        assert_eq!(world.same(&legacy).await.is_json, is_the_lanes, "{tool}");
    }
}

#[tokio::test]
async fn a_marked_tool_that_asks_all_the_same_is_refused_in_the_page() {
    let bridge = bridge().await;
    let tool = json!({ "name": "echo", "_meta": { "mcp-web/asksClient": false } });
    let mut page = Page::with_tools(&bridge, "s", &[tool]).await;
    let able = McpClient::with_capabilities(&bridge, TOKEN, json!({ "roots": {} })).await;
    let handler = async {
        let call = page.call().await;
        let asked = [json!({ "key": "k", "method": "roots/list", "params": {} })];
        page.say_json(
            json!({ "type": "client-requests", "requestId": call.request_id,
            "requests": asked }),
        )
        .await;
        let refused = page
            .hear_some(|message| match message {
                BridgeToPage::ClientResponses(heard) => heard.responses.into_iter().next(),
                _ => None,
            })
            .await;
        page.answer(&call, json!(refused.error.unwrap().message))
            .await;
    };
    let (answer, ()) = tokio::join!(able.call("echo", json!({})), handler);
    let text = text_of(&answer["result"]);
    assert!(text.contains("mcp-web/asksClient"), "{text}");
}

/// SEP-2243: what is in the body must be in the header.
#[tokio::test]
async fn arguments_in_headers_are_rmcps_to_compare() {
    let world = World::with_a_page().await;
    let sent = world.modern(
        "tools/call",
        json!({ "name": "header", "arguments": { "n": 1 } }),
    );
    for (header, status) in [(Some("1"), 200), (Some("2"), 400), (None, 400)] {
        let heard = world
            .same(&sent.clone().header("mcp-param-n", header))
            .await;
        assert_eq!(heard.status, status, "{heard:?}");
    }
}

#[tokio::test]
async fn a_call_that_takes_its_time_is_a_stream_and_can_be_come_back_to() {
    let bridge = bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let events = client.stream(7, "tools/call", params);
    // The answer's head comes without anything from the page.
    let (events, call) = tokio::join!(events, page.call());
    let mut events = events;
    let odd = json!({ "big": 1e300, "text": "\u{2028}\n" });
    let ended = async {
        let first = events.primed().await;
        drop(events);
        first
    };
    let first = ended.await;
    page.answer(&call, odd.clone()).await;
    let mut again = client.resume(&first).await;
    let answer = again.answer().await;
    assert_eq!(answer["result"]["structuredContent"], odd);
    assert_eq!(answer["result"]["isError"], false);
    assert!(again.next().await.is_none());
}

/// A session is idle only when nothing of it goes on, whoever serves it.
#[tokio::test]
async fn a_session_lives_by_its_calls_and_streams() {
    let idle = Duration::from_millis(400);
    let config = Config {
        mcp_session_idle: idle,
        ..on_free_port()
    };
    let bridge = bridge_with(config).await;
    let calling = McpClient::connect(&bridge, TOKEN).await;
    let listening = McpClient::connect(&bridge, TOKEN).await;
    let silent = McpClient::connect(&bridge, TOKEN).await;
    let _stream = listening.listen().await;
    let began = Instant::now();
    while began.elapsed() < 3 * idle {
        calling.call("get_connection_status", json!({})).await;
    }
    let list = request(1, "tools/list", json!({}));
    assert_eq!(calling.post(&list).await.status(), 200);
    assert_eq!(listening.post(&list).await.status(), 200);
    assert_eq!(silent.post(&list).await.status(), 404);
}
