//! A bridge, a page that answers by the name of the tool, and clients of both eras that ask twice.

use bridge::ServerHandle;
use bridge_protocol::BridgeToPage;
use serde_json::{Value, json};

use crate::kit::*;

pub(super) const V2026: &str = "2026-07-28";

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
    while let Some(message) = page.recv_without_deadline().await {
        let BridgeToPage::ToolCall(call) = message else {
            continue;
        };
        let id = &call.request_id;
        page.send_json(json!({ "type": "call-received", "requestId": id }))
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
                page.send_json(progress).await;
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
        page.send_json(answer).await;
    }
}

fn raw_value(raw: &serde_json::value::RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap()
}

/// A request in the words that a client sends.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) body: String,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Sent {
    pub(super) fn header(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers
            .extend(value.map(|value| (name, value.to_owned())));
        self
    }

    pub(super) fn twice(mut self, name: &'static str) -> Self {
        let (_, value) = self.headers.iter().find(|(it, _)| *it == name).unwrap();
        self.headers.push((name, value.clone()));
        self
    }

    /// The same with something that only rmcp takes.
    pub(super) fn for_rmcp(&self) -> Self {
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
pub(super) struct World {
    pub(super) bridge: ServerHandle,
    pub(super) client: McpClient,
}

impl World {
    pub(super) async fn with_a_page() -> Self {
        let bridge = start_bridge().await;
        let page = Page::with_tools(&bridge, "s", &tools()).await;
        tokio::spawn(answering(page));
        Self::of(bridge).await
    }

    pub(super) async fn of(bridge: ServerHandle) -> Self {
        let client = McpClient::connect(&bridge, TOKEN).await;
        Self { bridge, client }
    }

    pub(super) fn legacy(&self, body: String) -> Sent {
        let headers = vec![
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-session-id", self.client.session.clone()),
        ];
        Sent { body, headers }
    }

    /// `params` with what a client of 2026-07-28 says of itself in each request.
    pub(super) fn modern(&self, method: &str, mut params: Value) -> Sent {
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
        let body = rpc_request(1, method, params).to_string();
        Sent { body, headers }
    }

    pub(super) fn both(&self, params: Value) -> [Sent; 2] {
        let body = rpc_request(1, "tools/call", params.clone()).to_string();
        [self.legacy(body), self.modern("tools/call", params)]
    }

    pub(super) async fn send(&self, sent: &Sent) -> Heard {
        let mut post = http_client()
            .post(format!("{}/mcp", self.bridge.url()))
            .bearer_auth(TOKEN)
            .body(sent.body.clone());
        for (name, value) in &sent.headers {
            post = post.header(*name, value);
        }
        let response = with_deadline("answer", post.send()).await.unwrap();
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type");
        let is_json = kind.is_some_and(|kind| kind == "application/json");
        let text = with_deadline("body", response.text()).await.unwrap();
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
    pub(super) async fn same(&self, sent: &Sent) -> Heard {
        let (ours, theirs) = (self.send(sent).await, self.send(&sent.for_rmcp()).await);
        let Sent { body, headers } = sent;
        assert_eq!(ours.status, theirs.status, "{headers:?} {body}");
        assert_eq!(ours.messages, theirs.messages, "{headers:?} {body}");
        ours
    }

    /// rmcp answers these with streams; the lane too, when the page is slow: it may be asked again.
    pub(super) async fn is_the_lanes(&self, sent: Sent) -> Value {
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
pub(super) struct Heard {
    pub(super) status: u16,
    pub(super) is_json: bool,
    pub(super) messages: Vec<Value>,
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
