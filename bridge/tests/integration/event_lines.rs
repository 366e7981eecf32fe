//! The lines of event streams. Some readers end a line not only at CR and LF, but also at U+0085,
//! U+2028 and U+2029. [`EventStream`] checks that no event contains one of these; the tests here
//! send them on each kind of stream.

use serde_json::{Value, json};

use crate::kit::*;

const SEPARATORS: &str = "a\u{2028}b\u{2029}c\u{85}d";

#[tokio::test]
async fn the_stream_of_a_call_and_its_replay_have_no_line_separators() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let capabilities = json!({ "elicitation": {} });
    let client = McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await;
    let meta = json!({ "progressToken": SEPARATORS });
    let params = json!({ "name": "echo", "arguments": {}, "_meta": meta });
    let events = client.request_stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let id = call.request_id.0;
    let question = json!({ "key": "k", "method": "elicitation/create", "params": {
        "message": SEPARATORS, "requestedSchema": { "type": "object", "properties": {} } } });
    for message in [
        json!({ "type": "call-progress", "requestId": id, "progress": 1, "message": SEPARATORS }),
        json!({ "type": "call-log", "requestId": id, "level": "error", "data": SEPARATORS }),
        json!({ "type": "client-requests", "requestId": id, "requests": [question] }),
    ] {
        page.send_json(message).await;
    }
    let first = events.first_event_id().await;
    // A request may overtake the others.
    for _ in 0..3 {
        let message = events.next().await.unwrap();
        let params = &message["params"];
        let text = match message["method"].as_str().unwrap() {
            "notifications/progress" => {
                assert_eq!(params["progressToken"], SEPARATORS);
                &params["message"]
            }
            "notifications/message" => &params["data"],
            _ => &params["message"],
        };
        assert_eq!(text, SEPARATORS, "{message}");
    }
    let value = json!({ "text": SEPARATORS });
    page.respond_to(&id.as_str().into(), value.clone()).await;
    for mut events in [events, client.resume(&first).await] {
        let result = events.find_response().await["result"].take();
        assert_eq!(result["structuredContent"], value);
        assert_eq!(result_text(&result), value.to_string());
    }
}

#[tokio::test]
async fn streams_of_notifications_have_no_line_separators() {
    let bridge = start_bridge().await;
    let uri = format!("board://{SEPARATORS}");
    let client = StatelessClient::new(&bridge);
    let params = json!({ "notifications": { "resourceSubscriptions": [uri] } });
    let mut events = EventStream::new(client.send("subscriptions/listen", params).await);
    let method = "notifications/subscriptions/acknowledged";
    let acknowledged = events.find_method(method).await;
    let echoed = &acknowledged["params"]["notifications"];
    assert_eq!(echoed["resourceSubscriptions"], json!([uri]));
}

#[tokio::test]
async fn a_response_as_a_single_event_has_no_line_separators() {
    let bridge = start_bridge().await;
    let tool = json!({ "name": "echo", "description": SEPARATORS });
    let mut page = Page::with_tools(&bridge, "s", &[tool]).await;
    let client = StatelessClient::new(&bridge);
    let request = async |method: &str, params: Value| {
        let request = client.build(method, params);
        let mut request = request.build().unwrap();
        let events_only = "text/event-stream".parse().unwrap();
        request.headers_mut().insert("accept", events_only);
        let response = http_client().execute(request);
        let response = with_deadline("response", response).await.unwrap();
        EventStream::new(response).find_response().await
    };
    request("tools/list", json!({})).await;
    let call = request("tools/call", json!({ "name": "echo", "arguments": {} }));
    let (answer, _call) = tokio::join!(call, page.serve_call(json!(SEPARATORS)));
    assert_eq!(result_text(&answer["result"]), SEPARATORS);
}
