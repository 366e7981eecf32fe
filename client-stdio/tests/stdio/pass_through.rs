//! Tests that every message is forwarded unchanged.

use serde_json::{Value, json};

use crate::client::{Client, Era, command};
use crate::raw_server::{EventStream, RawServer};

/// Fields that a model of the protocol would lose or change: unknown fields, the order of keys,
/// many digits, unusual forms of numbers, and half of a surrogate pair.
const ODD: &str = r#""zz":{"b":[1.50,-0,1e400,123456789012345678901234567890],"a":"\ud800\u00e9é/\/"},"unknown":null"#;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"debug","progressToken":"t-1","vendor/x":1.50}"#;

/// Requests of every kind: the method, the parameters and the result.
const REQUESTS: [(&str, &str, &str); 13] = [
    (
        "tools/list",
        "",
        r#"{"tools":[{"name":"a","icons":[],"vendor":1.50}],"nextCursor":"c"}"#,
    ),
    (
        "tools/call",
        r#""name":"a","arguments":{"n":1.50}"#,
        r#"{"content":[{"type":"vendor"}],"structuredContent":{"n":1.50}}"#,
    ),
    (
        "tools/call",
        r#""name":"a""#,
        r#"{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"url"}}},"requestState":"sealed"}"#,
    ),
    (
        "tools/call",
        r#""name":"a","inputResponses":{"q":{"action":"accept"}},"requestState":"sealed""#,
        r#"{"resultType":"complete","content":[]}"#,
    ),
    (
        "prompts/list",
        "",
        r#"{"prompts":[{"name":"p","vendor":1.50}]}"#,
    ),
    (
        "prompts/get",
        r#""name":"p","arguments":{"x":"y"}"#,
        r#"{"messages":[{"role":"user","content":{"type":"image"}}]}"#,
    ),
    (
        "resources/list",
        r#""cursor":"c""#,
        r#"{"resources":[{"uri":"a://b","vendor":1.50}]}"#,
    ),
    (
        "resources/templates/list",
        "",
        r#"{"resourceTemplates":[{"uriTemplate":"a://{b}"}]}"#,
    ),
    (
        "resources/read",
        r#""uri":"a://b""#,
        r#"{"contents":[{"uri":"a://b","blob":"AA==","vendor":1.50}]}"#,
    ),
    ("resources/subscribe", r#""uri":"a://b""#, "{}"),
    (
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"p"}"#,
        r#"{"completion":{"values":["a"],"total":1.50}}"#,
    ),
    ("logging/setLevel", r#""level":"debug""#, "{}"),
    ("vendor/method", r#""anything":true"#, r#"{"vendor":1.50}"#),
];

async fn connect(server: &mut RawServer, era: Era) -> (Client, Option<EventStream>) {
    server.connect(command(&server.url()), era).await
}

/// Returns a request with parameters, `META` and `ODD`.
fn request(id: usize, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"params":{{{params}{comma}{META},{ODD}}},"jsonrpc":"2.0","vendor":1.50,"id":"r-{id}","method":"{method}"}}"#
    )
}

#[tokio::test]
async fn requests_and_answers_are_forwarded_unchanged() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let (mut client, _events) = connect(&mut server, era).await;
        for (number, (method, params, result)) in REQUESTS.into_iter().enumerate() {
            let request = request(number, method, params);
            client.send_line(&request).await;
            let received = server.post(method).await;
            assert_eq!(received.text, request);
            let response = format!(
                r#"{{"result":{result},"vendor":1.50,"id":"r-{number}",{ODD},"jsonrpc":"2.0"}}"#
            );
            if number % 2 == 0 {
                received.json(&response);
            } else {
                received.stream().send(&response).await;
            }
            assert_eq!(
                client.next_line().await.unwrap(),
                response,
                "{era:?} {method}"
            );
        }
    }
}

#[tokio::test]
async fn errors_are_forwarded_unchanged_with_any_status() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let (mut client, _events) = connect(&mut server, era).await;
        for (number, status) in [200, 400, 500].into_iter().enumerate() {
            client.send_line(&request(number, "prompts/get", "")).await;
            let error = format!(
                r#"{{"jsonrpc":"2.0","id":"r-{number}","error":{{"code":-32042,"message":"m","data":{{"elicitations":[{{"mode":"url"}}],{ODD}}},"vendor":1.50}}}}"#
            );
            server
                .post("prompts/get")
                .await
                .json_with_status(status, &error);
            assert_eq!(client.next_line().await.unwrap(), error, "{era:?} {status}");
        }
    }
}

#[tokio::test]
async fn messages_during_a_call_are_forwarded_unchanged() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let (mut client, _events) = connect(&mut server, era).await;
        client
            .send_line(&request(1, "tools/call", r#""name":"a""#))
            .await;
        let stream = server.post("tools/call").await.stream();
        for message in [
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t-1","progress":1.50,{ODD}}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"debug","data":{{{ODD}}}}}}}"#
            ),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/vendor","params":{{{ODD}}},"vendor":1.50}}"#
            ),
            format!(r#"{{"jsonrpc":"2.0","id":"r-1","result":{{"content":[],{ODD}}}}}"#),
        ] {
            stream.send(&message).await;
            assert_eq!(client.next_line().await.unwrap(), message, "{era:?}");
        }
    }
}

#[tokio::test]
async fn requests_of_the_server_and_replies_are_forwarded_unchanged() {
    let mut server = RawServer::start().await;
    let (mut client, events) = connect(&mut server, Era::Session).await;
    let events = events.unwrap();
    for (number, method) in [
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
        "ping",
        "vendor/method",
    ]
    .into_iter()
    .enumerate()
    {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{"mode":"url","url":"https://a.b/",{ODD}}},"vendor":1.50}}"#
        );
        events.send(&request).await;
        assert_eq!(client.next_line().await.unwrap(), request);
        let reply = if number % 2 == 0 {
            format!(
                r#"{{"jsonrpc":"2.0","id":{number},"result":{{"action":"accept",{ODD}}},"vendor":1.50}}"#
            )
        } else {
            format!(
                r#"{{"jsonrpc":"2.0","id":{number},"error":{{"code":-1,"message":"no",{ODD}}}}}"#
            )
        };
        client.send_line(&reply).await;
        let received = server.reply().await;
        assert_eq!(received.text, reply);
        received.accept();
    }
}

#[tokio::test]
async fn notifications_are_forwarded_unchanged_in_both_directions() {
    let mut server = RawServer::start().await;
    let (mut client, events) = connect(&mut server, Era::Session).await;
    let events = events.unwrap();
    for method in [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/elicitation/complete",
        "notifications/message",
    ] {
        let message =
            format!(r#"{{"method":"{method}","params":{{"uri":"a://b",{ODD}}},"jsonrpc":"2.0"}}"#);
        events.send(&message).await;
        assert_eq!(client.next_line().await.unwrap(), message);
    }
    for method in ["notifications/roots/list_changed", "notifications/progress"] {
        let message = format!(
            r#"{{"method":"{method}","params":{{"progressToken":7,{ODD}}},"jsonrpc":"2.0"}}"#
        );
        client.send_line(&message).await;
        let received = server.post(method).await;
        assert_eq!(received.text, message);
        received.accept();
    }
}

#[tokio::test]
async fn cancellations_are_forwarded_in_the_way_of_each_era() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let (mut client, events) = connect(&mut server, era).await;
        client
            .send_line(&request(1, "tools/call", r#""name":"a""#))
            .await;
        let stream = server.post("tools/call").await.stream();
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"r-1","reason":"enough",{ODD}}}}}"#
        );
        client.send_line(&cancel).await;
        let Some(events) = events else {
            stream.closed().await;
            continue;
        };
        let received = server.post("notifications/cancelled").await;
        assert_eq!(received.text, cancel);
        received.accept();

        let request = r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{}}"#;
        let cancel = cancel.replace(r#""r-1""#, "5");
        for message in [request, &cancel] {
            events.send(message).await;
            assert_eq!(client.next_line().await.unwrap(), message);
        }
    }
}

#[tokio::test]
async fn requests_of_2026_07_28_have_the_standard_headers() {
    let mut server = RawServer::start().await;
    let (mut client, _) = connect(&mut server, Era::Stateless).await;
    client
        .send_line(&request(1, "resources/read", r#""uri":"a://b""#))
        .await;
    let received = server.post("resources/read").await;
    for (name, value) in [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "resources/read"),
        ("mcp-name", "a://b"),
    ] {
        assert_eq!(received.header(name), Some(value));
    }
    assert_eq!(received.header("last-event-id"), None);
}

#[tokio::test]
async fn a_call_that_lacks_headers_is_repeated_with_them_once() {
    let mut server = RawServer::start().await;
    let (mut client, _) = connect(&mut server, Era::Stateless).await;
    let call = request(
        1,
        "tools/call",
        r#""name":"a","arguments":{"region":"west"}"#,
    );
    client.send_line(&call).await;
    let mismatch = r#"{"jsonrpc":"2.0","id":"r-1","error":{"code":-32020,"message":"m"}}"#;
    let received = server.post("tools/call").await;
    assert_eq!(received.header("mcp-param-region"), None);
    received.json_with_status(400, mismatch);
    let list = server.post("tools/list").await;
    assert_eq!(list.header("mcp-protocol-version"), Some("2026-07-28"));
    list.answer(&json!({ "tools": [], "nextCursor": "more" }));
    let list = server.post("tools/list").await;
    assert_eq!(list.message()["params"]["cursor"], "more");
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let schema = json!({ "type": "object", "properties": { "region": region } });
    list.answer(&json!({ "tools": [{ "name": "a", "inputSchema": schema }] }));
    let received = server.post("tools/call").await;
    assert_eq!(received.header("mcp-param-region"), Some("west"));
    assert_eq!(received.text, call);
    received.json_with_status(400, mismatch);
    assert_eq!(client.next_line().await.unwrap(), mismatch);
}

#[tokio::test]
async fn an_initialize_of_2026_07_28_is_forwarded_like_any_request() {
    let mut server = RawServer::start().await;
    let (mut client, _) = connect(&mut server, Era::Stateless).await;
    for (number, method) in ["tools/list", "initialize", "tools/list"]
        .into_iter()
        .enumerate()
    {
        let request = request(number, method, "");
        client.send_line(&request).await;
        let received = server.post(method).await;
        assert_eq!(received.text, request);
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":"r-{number}","error":{{"code":-32601,"message":"m"}}}}"#
        );
        received.json_with_status(404, &error);
        assert_eq!(client.next_line().await.unwrap(), error);
    }
}

#[tokio::test]
async fn an_invalid_line_gets_an_error_and_later_lines_are_served() {
    let mut server = RawServer::start().await;
    let (mut client, _events) = connect(&mut server, Era::Session).await;
    for (line, code) in [
        ("no json", -32700),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
    ] {
        client.send_line(line).await;
        let error: Value = serde_json::from_str(&client.next_line().await.unwrap()).unwrap();
        assert_eq!(error["error"]["code"], code, "{line}");
        assert_eq!(error["id"], json!(null));
    }
    let request = request(1, "tools/call", r#""name":"a""#);
    client.send_line(&request).await;
    client.send_line(&request).await;
    let error: Value = serde_json::from_str(&client.next_line().await.unwrap()).unwrap();
    assert_eq!(error["error"]["code"], -32600, "its id is in use");
    let response = r#"{"jsonrpc":"2.0","id":"r-1","result":{}}"#;
    server.post("tools/call").await.json(response);
    assert_eq!(client.next_line().await.unwrap(), response);
}
