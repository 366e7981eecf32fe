//! Text that JavaScript has cut in the middle of a surrogate pair, from frontends.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::kit::*;

/// Stands for the text in the messages of these tests.
const CUT: &str = "CUT";

/// Sets a body with the text as JavaScript writes it. It is valid JSON.
fn with_body(request: RequestBuilder, body: &Value) -> RequestBuilder {
    let body = body.to_string().replace(CUT, r"cut \ud83d");
    let request = request.header("content-type", "application/json");
    streaming(request.body(body).bearer_auth(TOKEN))
}

fn agui(bed: &TestBed, members: Value) -> RequestBuilder {
    let mut input = json!({ "threadId": "thread", "runId": "run", "state": {},
        "messages": [{ "id": "u", "role": "user", "content": "Hello" }] });
    let members = members.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(members);
    let url = format!("http://{}/agui", bed.agent.local_addr());
    with_body(http_client().post(url), &input)
}

fn query(bed: &TestBed, members: Value) -> RequestBuilder {
    let mut query = prompt("Hello");
    let members = members.as_object().unwrap().clone();
    query.as_object_mut().unwrap().extend(members);
    let url = bed.agent.url();
    with_body(http_client().put(url), &query)
}

/// A thread whose last message is the user's.
fn thread(messages: Value) -> Value {
    let mut messages = messages;
    let last = json!({ "id": "u", "role": "user", "content": "Go on" });
    messages.as_array_mut().unwrap().push(last);
    json!({ "messages": messages })
}

/// The call of a tool and its result in a thread.
fn call_and_result(arguments: &str, result: Value) -> Value {
    let mut message = json!({ "id": "t", "role": "tool", "toolCallId": "c", "content": "done" });
    let members = result.as_object().unwrap().clone();
    message.as_object_mut().unwrap().extend(members);
    thread(json!([
        { "id": "u", "role": "user", "content": "Hello" },
        { "id": "a", "role": "assistant", "content": CUT, "toolCalls": [{ "id": "c",
            "type": "function", "function": { "name": "paint", "arguments": arguments } }] },
        message,
    ]))
}

#[tokio::test]
async fn a_run_reads_cut_text_anywhere() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let schema = json!({ "type": "object", "description": CUT,
        "properties": { "CUT": { "enum": [CUT] } } });
    for members in [
        json!({ "messages": [{ "id": CUT, "role": "user", "content": CUT }] }),
        json!({ "messages": [{ "id": "u", "role": "user", "name": CUT,
            "content": [{ "type": "text", "text": CUT }] }] }),
        thread(json!([{ "id": "s", "role": "system", "content": CUT }])),
        thread(json!([{ "id": "r", "role": "reasoning", "content": CUT }])),
        call_and_result(r#"{"a":"CUT"}"#, json!({})),
        call_and_result("CUT", json!({ "content": CUT })),
        call_and_result(
            "{}",
            json!({ "content": [{ "type": "text", "text": CUT }] }),
        ),
        call_and_result("{}", json!({ "error": CUT })),
        json!({ "state": { "CUT": [CUT] } }),
        json!({ "tools": [{ "name": "paint", "description": CUT, "parameters": schema }] }),
        json!({ "context": [{ "description": CUT, "value": CUT }] }),
        json!({ "context": [{ "description": "d", "value": { "CUT": CUT } }] }),
        json!({ "forwardedProps": { "CUT": CUT } }),
        json!({ "parentRunId": CUT, "CUT": CUT }),
    ] {
        let request = agui(&bed, members.clone());
        let response = with_deadline("answer", request.send()).await.unwrap();
        assert_eq!(response.status(), 200, "{members}");
        let events = EventStream::from_response(response).without_names();
        let events = events.collect().await;
        assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED", "{members}");
        bed.wait_for_running(0).await;
    }
}

#[tokio::test]
async fn a_query_reads_cut_text_anywhere() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let schema = json!({ "type": "object", "description": CUT });
    for members in [
        json!({ "prompt": CUT }),
        json!({ "context": [{ "name": CUT, "type": "ephemeral", "value": { "CUT": CUT },
            "description": CUT, "schema": schema }] }),
        json!({ "tools": [{ "name": CUT, "description": CUT, "inputSchema": schema,
            "outputSchema": schema }] }),
        json!({ "approve": [CUT] }),
        json!({ "attachments": [{ "name": CUT, "mimeType": "text/plain", "data": "aGk=" }] }),
    ] {
        let request = query(&bed, members.clone());
        let response = with_deadline("answer", request.send()).await.unwrap();
        assert_eq!(response.status(), 200, "{members}");
        let last = EventStream::from_response(response).last().await;
        assert_eq!(last["type"], "query_complete", "{members}: {last}");
        bed.wait_for_running(0).await;
    }
}

#[tokio::test]
async fn a_conversation_stores_cut_text_as_the_page_reads_it() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    for request in [
        agui(
            &bed,
            json!({ "messages": [{ "id": "u", "role": "user", "content": CUT }] }),
        ),
        query(&bed, json!({ "prompt": CUT, "conversation": "thread" })),
    ] {
        let response = with_deadline("answer", request.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        with_deadline("end", response.bytes()).await.unwrap();
        bed.wait_for_running(0).await;
    }
    let url = format!("{}/conversations/thread", bed.bridge.url());
    let (status, conversation) = status_and_body(http_client().get(url).bearer_auth(TOKEN)).await;
    assert_eq!(status, 200, "{conversation}");
    let messages = conversation["messages"].as_array().unwrap().iter();
    let prompts = messages.filter(|message| message["role"] == "user");
    let prompts: Vec<_> = prompts.map(|message| &message["text"]).collect();
    assert_eq!(prompts, ["cut \u{fffd}", "cut \u{fffd}"]);
}
