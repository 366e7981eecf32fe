//! A bridge, a page that responds according to the name of the tool, and clients of both protocol
//! eras that send each request on both paths.

use bridge::ServerHandle;
use bridge_protocol::BridgeToPage;
use serde_json::{Value, json};

use crate::kit::*;

pub(crate) fn tools() -> Vec<Value> {
    let output_schema = json!({ "type": "object", "required": ["n"] });
    let mut header = echo_tool();
    header["name"] = json!("header");
    header["inputSchema"]["properties"]["n"]["x-mcp-header"] = json!("N");
    let unions = json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
        "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    vec![
        echo_tool(),
        json!({ "name": "progress", "title": "Progress", "annotations": { "readOnlyHint": true } }),
        json!({ "name": "picture", "icons": [{ "src": "a.png" }] }),
        json!({ "name": "blocks", "_meta": { "a/b": [1] } }),
        json!({ "name": "malformed" }),
        json!({ "name": "fails" }),
        json!({ "name": "violates its schema", "outputSchema": output_schema }),
        json!({ "name": "opted_out", "_meta": { "mcp-web/asksClient": false } }),
        json!({ "name": "unions", "inputSchema": unions }),
        header,
    ]
}

/// Responds to each call of the page according to the name of the tool.
pub(crate) async fn serve_tools(mut page: Page) {
    while let Some(message) = page.recv_without_deadline().await {
        let BridgeToPage::ToolCall(call) = message else {
            continue;
        };
        let id = &call.request_id;
        page.send_json(json!({ "type": "call-received", "requestId": id }))
            .await;
        let response = |members: Value| {
            with_members(json!({ "type": "call-response", "requestId": id }), members)
        };
        let message = match call.tool_name.as_str() {
            "progress" => {
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
            "malformed" => response(json!({ "content": [
                { "type": "text", "text": "t", "annotations": { "priority": "high" } }] })),
            "fails" => json!({ "type": "call-error", "requestId": id, "code": "HandlerFailed",
                "message": "no", "data": { "why": 1 } }),
            "violates its schema" => response(json!({ "result": { "m": 1 } })),
            _ => {
                let input: Value = serde_json::from_str(call.tool_input.get()).unwrap();
                let client = &call.context.client.as_ref().unwrap().info.name;
                response(json!({ "result": { "input": input, "client": client } }))
            }
        };
        page.send_json(message).await;
    }
}

/// A request with its exact body and headers.
#[derive(Clone)]
pub(super) struct RawRequest {
    pub(super) body: String,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl RawRequest {
    pub(super) fn with_header(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers
            .extend(value.map(|value| (name, value.to_owned())));
        self
    }

    pub(super) fn with_repeated_header(mut self, name: &'static str) -> Self {
        let (_, value) = self
            .headers
            .iter()
            .find(|(other, _)| *other == name)
            .unwrap();
        self.headers.push((name, value.clone()));
        self
    }

    /// The request with a member that the fast path does not know, so that rmcp serves it.
    pub(super) fn for_rmcp(&self) -> Self {
        let body = match self.body.strip_prefix('{') {
            Some(rest) => format!("{{\"unknownToTheFastPath\":true,{rest}"),
            None => self.body.clone(),
        };
        Self {
            body,
            headers: self.headers.clone(),
        }
    }
}

/// The bridge, and a client with an MCP session.
pub(super) struct Harness {
    pub(super) bridge: ServerHandle,
    pub(super) client: McpClient,
}

impl Harness {
    pub(super) async fn with_page() -> Self {
        let bridge = start_bridge().await;
        let page = Page::with_tools(&bridge, "s", &tools()).await;
        tokio::spawn(serve_tools(page));
        Self::new(bridge).await
    }

    pub(super) async fn new(bridge: ServerHandle) -> Self {
        let client = McpClient::connect(&bridge, TOKEN).await;
        Self { bridge, client }
    }

    /// A request in the MCP session.
    pub(super) fn in_session(&self, body: String) -> RawRequest {
        let headers = vec![
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-session-id", self.client.session.clone()),
        ];
        RawRequest { body, headers }
    }

    /// A request of MCP 2026-07-28.
    pub(super) fn stateless(&self, method: &str, params: Value) -> RawRequest {
        let params = with_client_meta(params, CLIENT_NAME, &json!({}));
        let mut headers = stateless_headers(method, &params);
        let accept = "application/json, text/event-stream";
        headers.push(("accept", accept.to_owned()));
        let body = rpc_request(1, method, params).to_string();
        RawRequest { body, headers }
    }

    /// A tool call in each protocol era.
    pub(super) fn call_in_both_eras(&self, params: Value) -> [RawRequest; 2] {
        let body = rpc_request(1, "tools/call", params.clone()).to_string();
        [self.in_session(body), self.stateless("tools/call", params)]
    }

    pub(super) async fn send(&self, request: &RawRequest) -> RawResponse {
        let mut post = http_client()
            .post(format!("{}/mcp", self.bridge.url()))
            .bearer_auth(TOKEN)
            .body(request.body.clone());
        for (name, value) in &request.headers {
            post = post.header(*name, value);
        }
        let response = with_deadline("response", post.send()).await.unwrap();
        let status = response.status().as_u16();
        let content_type = response.headers().get("content-type");
        let is_json = content_type.is_some_and(|value| value == "application/json");
        let text = with_deadline("body", response.text()).await.unwrap();
        let parse = |text: &str| serde_json::from_str::<Value>(text).ok().map(normalized);
        let messages = match parse(&text) {
            Some(message) => vec![message],
            None => text
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .filter_map(parse)
                .collect(),
        };
        RawResponse {
            status,
            is_json,
            messages,
        }
    }

    /// Sends the request as it is and for rmcp. Both responses must be the same.
    pub(super) async fn assert_same(&self, request: &RawRequest) -> RawResponse {
        let as_is = self.send(request).await;
        let by_rmcp = self.send(&request.for_rmcp()).await;
        let RawRequest { body, headers } = request;
        assert_eq!(as_is.status, by_rmcp.status, "{headers:?} {body}");
        assert_eq!(as_is.messages, by_rmcp.messages, "{headers:?} {body}");
        as_is
    }

    /// Sends the request like `assert_same`, and checks that the fast path served it. rmcp always
    /// responds with a stream, but so does the fast path when the page is slow, so this function
    /// retries.
    pub(super) async fn assert_fast_path(&self, request: RawRequest) -> Value {
        for _ in 0..MAX_SLOW_RESPONSES {
            let mut response = self.assert_same(&request).await;
            assert_eq!(response.status, 200);
            if response.is_json {
                return response.messages.pop().unwrap();
            }
        }
        panic!("rmcp served {:?} {}", request.headers, request.body);
    }
}

/// The maximum number of retries: on a busy machine the page may be slow several times in a row.
const MAX_SLOW_RESPONSES: usize = 20;

#[derive(Debug)]
pub(super) struct RawResponse {
    pub(super) status: u16,
    pub(super) is_json: bool,
    pub(super) messages: Vec<Value>,
}

/// Converts progress numbers to floats, because rmcp sends 1.0 where the page sent 1.
fn normalized(mut message: Value) -> Value {
    for pointer in ["/params/progress", "/params/total"] {
        if let Some(number) = message.pointer_mut(pointer) {
            *number = json!(number.as_f64());
        }
    }
    message
}
