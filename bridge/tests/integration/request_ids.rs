//! The ids of HTTP requests: in responses, errors and lines of the log.

use bridge::{Audit, Config, ServerHandle};
use bridge_output::{CapturedLog, LineStyle, LogFormat};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use crate::kit::*;

fn audited_config() -> Config {
    let mut config = test_config();
    config.monitoring.audit = Audit::Calls;
    config
}

fn post(bridge: &ServerHandle, path: &str, body: &Value) -> RequestBuilder {
    let request = http_client().post(format!("{}{path}", bridge.url()));
    request.bearer_auth(TOKEN).json(body)
}

async fn send(request: RequestBuilder) -> Response {
    with_deadline("response", request.send()).await.unwrap()
}

fn header(response: &Response) -> String {
    response.headers()["x-request-id"]
        .to_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn each_error_has_the_id_that_its_response_has() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let message = |method: &str, params: Value| rpc_request(1, method, params);
    let mut ids = Vec::new();
    for (body, expected) in [
        (
            message("prompts/get", json!({ "name": "none" })),
            "of the bridge",
        ),
        (
            message("tools/call", json!({ "name": 5 })),
            "of the parameters",
        ),
        (message("no/such", json!({})), "of rmcp"),
    ] {
        let response = client.post(&body).await;
        let id = header(&response);
        let answer = rpc_response(response).await;
        assert_eq!(
            answer["error"]["data"]["requestId"], id,
            "{expected}: {answer}"
        );
        ids.push(id);
    }
    for body in ["{", "[]"] {
        let response = client.post_text(body.to_owned()).await;
        let id = header(&response);
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["error"]["data"]["requestId"], id, "{body}: {answer}");
        ids.push(id);
    }
    for request in [
        post(&bridge, "/tool-call", &json!({})),
        post(&bridge, "/nowhere", &json!({})),
    ] {
        let response = send(request).await;
        let id = header(&response);
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["requestId"], id, "{answer}");
        ids.push(id);
    }
    // The results of failed calls.
    let call = message("tools/call", json!({ "name": "none", "arguments": {} }));
    let of_mcp = client.post(&call).await;
    let of_http = send(post(&bridge, "/tool-call", &json!({ "toolName": "none" }))).await;
    for response in [of_mcp, of_http] {
        let id = header(&response);
        let answer = rpc_response(response).await;
        let result = answer.get("result").unwrap_or(&answer);
        let error = &result["_meta"]["mcp-web/error"];
        assert_eq!(error["code"], "NoSessionsFound", "{answer}");
        assert_eq!(error["requestId"], id, "{answer}");
        ids.push(id);
    }
    let healthy = send(http_client().get(format!("{}/healthz", bridge.url()))).await;
    ids.push(header(&healthy));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "each request has its own: {ids:?}");
    assert!(ids.iter().all(|id| id.len() == 16), "{ids:?}");
}

#[tokio::test]
async fn only_a_trusted_proxy_chooses_the_id() {
    let chosen = "0af7651916cd43dd8448eb211c80319c";
    for (is_trusted, sent, is_used) in [
        (true, chosen, true),
        (true, "two words", false),
        (false, chosen, false),
    ] {
        let mut config = test_config();
        if is_trusted {
            config.network.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        }
        let bridge = start_bridge_with(config).await;
        let request = http_client().get(format!("{}/healthz", bridge.url()));
        let response = send(request.header("x-request-id", sent)).await;
        assert_eq!(header(&response) == sent, is_used, "{sent}");
    }
}

#[tokio::test]
async fn each_line_about_a_request_has_its_id() {
    let (log, _guard) = CapturedLog::start_with(LineStyle {
        format: LogFormat::Json,
        request_id: bridge::current_request_id,
    });
    let bridge = start_bridge_with(audited_config()).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let call = json!({ "toolName": "echo", "toolInput": { "n": 1 } });
    let (called, ()) = tokio::join!(send(post(&bridge, "/tool-call", &call)), page.echo_call());
    let called = header(&called);
    let foreign = post(&bridge, "/tool-call", &call).header("host", "evil.example");
    let refused = header(&send(foreign).await);
    // The call of an MCP session, which is not served by the task of its connection.
    let client = McpClient::connect(&bridge, TOKEN).await;
    let body = rpc_request(5, "tools/call", json!({ "name": "echo", "arguments": {} }));
    let (response, ()) = tokio::join!(client.post(&body), page.echo_call());
    let of_session = header(&response);
    rpc_response(response).await;

    let text = log.text();
    let lines: Vec<Value> = text
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let id_of = |message: &str, transport: Option<&str>| {
        let found = lines.iter().find(|line| {
            line["message"] == message && transport.is_none_or(|it| line["transport"] == it)
        });
        found.unwrap_or_else(|| panic!("{message} in {text}"))["request_id"].clone()
    };
    assert_eq!(id_of("call", Some("http")), called);
    assert_eq!(id_of("call", Some("mcp")), of_session);
    assert_eq!(id_of("refused", None), refused);
    for message in ["page connected", "MCP session opened"] {
        assert!(id_of(message, None).is_string(), "{message}");
    }
}

/// The program writes nothing else than JSON objects, whatever peers choose.
#[tokio::test]
async fn the_log_of_the_program_is_json_if_configured() {
    use std::process::Stdio;
    use tokio::io::{AsyncBufReadExt, BufReader};

    let mut program = bridge_program();
    program.args([
        "--bind",
        "127.0.0.1:0",
        "--log-format",
        "json",
        "--audit",
        "calls",
    ]);
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = program.spawn().unwrap();
    let mut lines = BufReader::new(program.stderr.take().unwrap()).lines();
    let url = listening_url(&mut program).await;
    let name = "a\"\\\n{\u{202e}\u{2028}\u{7f}\u{1}";
    post_tool_call_to(&url, TOKEN, name, json!({})).await;
    let found = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the program logs");
            let parsed: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            assert!(
                parsed["timestamp"].is_string() && parsed["level"].is_string(),
                "{line}"
            );
            if parsed["target"] == "audit" {
                return parsed;
            }
        }
    };
    let audit = with_deadline("line of the call", found).await;
    assert_eq!(audit["name"], name);
    assert_eq!(audit["code"], "NoSessionsFound");
    assert_eq!(audit["request_id"].as_str().map(str::len), Some(16));
}
