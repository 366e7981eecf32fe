//! Runs of frontends that use the AG-UI protocol.

mod approvals;

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::kit::*;

/// A thread as a client sees it: all messages, and the events of the last run.
struct Thread<'a> {
    bed: &'a TestBed,
    messages: Vec<Value>,
    /// The number of runs so far.
    runs: usize,
    /// The members that each request has in addition.
    members: Value,
}

impl<'a> Thread<'a> {
    fn new(bed: &'a TestBed, members: Value) -> Self {
        Self {
            bed,
            messages: Vec::new(),
            runs: 0,
            members,
        }
    }

    fn say(&mut self, text: &str) {
        self.messages
            .push(json!({ "id": "m", "role": "user", "content": text }));
    }

    /// Creates the request of the next run with this token.
    fn request(&mut self, token: &str, more: Value) -> RequestBuilder {
        self.runs += 1;
        let mut input = json!({ "threadId": "thread", "runId": format!("run-{}", self.runs),
            "protocolVersion": "1.0", "messages": self.messages });
        for members in [&self.members, &more] {
            let members = members.as_object().unwrap().clone();
            input.as_object_mut().unwrap().extend(members);
        }
        streaming(post(self.bed, &input).bearer_auth(token))
    }

    /// Starts the next run.
    async fn start(&mut self, more: Value) -> EventStream {
        EventStream::open_unnamed(self.request(TOKEN, more)).await
    }

    /// Reads the rest of a run, and adds its messages to the thread.
    async fn finish(&mut self, events: EventStream) -> Vec<Value> {
        let events = events.collect().await;
        for event in &events {
            match event["type"].as_str().unwrap() {
                "TOOL_CALL_START" => self.messages.push(json!({ "id": "a", "role": "assistant",
                    "toolCalls": [{ "id": event["toolCallId"], "type": "function",
                        "function": { "name": event["toolCallName"], "arguments": "{}" } }] })),
                "TEXT_MESSAGE_CONTENT" => self
                    .messages
                    .push(json!({ "id": "a", "role": "assistant", "content": event["delta"] })),
                _ => {}
            }
        }
        events
    }

    async fn run(&mut self, more: Value) -> Vec<Value> {
        let events = self.start(more).await;
        self.finish(events).await
    }
}

fn post(bed: &TestBed, input: &Value) -> RequestBuilder {
    let url = format!("http://{}/agui", bed.agent.local_addr());
    http_client().post(url).json(input)
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

fn text(events: &[Value]) -> String {
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    deltas.collect()
}

fn find<'e>(events: &'e [Value], kind: &str) -> &'e Value {
    let mut events_of_kind = events.iter().filter(|event| event["type"] == kind);
    events_of_kind
        .next()
        .unwrap_or_else(|| panic!("no {kind}: {events:?}"))
}

fn resume(interrupt: &Value, is_approved: bool) -> Value {
    json!({ "resume": [{ "interruptId": interrupt, "status": "resolved",
        "payload": { "approved": is_approved } }] })
}

fn paint_tool() -> Value {
    json!({ "tools": [{ "name": "paint", "description": "Paints", "parameters": {} }] })
}

/// [`EventStream`] checks each event.
#[tokio::test]
async fn the_events_of_a_run_have_no_line_separators() {
    let separators = "a\u{2028}b\u{2029}c\u{85}d";
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, json!({}));
    thread.say(&format!("/add_card {}", json!({ "title": separators })));
    let events = thread.start(json!({})).await;
    let call = page.recv_call().await;
    page.respond(&call, json!({ "id": separators })).await;
    let events = thread.finish(events).await;
    let arguments = find(&events, "TOOL_CALL_ARGS")["delta"].to_string();
    let result = find(&events, "TOOL_CALL_RESULT")["content"].to_string();
    for text in [arguments, result] {
        assert!(text.contains(separators), "{text}");
    }
}

#[tokio::test]
async fn a_run_has_text_calls_and_the_results_of_the_page() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, json!({}));
    thread.say("/add_card {\"title\": \"Milk\"}");
    let events = thread.start(json!({})).await;
    let call = page.recv_call().await;
    page.respond(&call, json!({ "id": 7 })).await;
    let events = thread.finish(events).await;
    let expected = [
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ];
    assert_eq!(types(&events), expected);
    assert_eq!(
        (&events[0]["threadId"], &events[0]["runId"]),
        (&json!("thread"), &json!("run-1"))
    );
    assert_eq!(events[1]["toolCallId"], "run-1-call-1");
    assert_eq!(events[2]["delta"], "{\"title\":\"Milk\"}");
    assert_eq!(events[4]["content"], "{\"id\":7}");
    assert_eq!(events[8]["outcome"], json!({ "type": "success" }));
    assert_eq!(events[8]["result"], events[6]["delta"]);
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn ids_are_unique_although_a_client_repeats_those_of_its_runs() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut thread = Thread::new(&bed, json!({}));
        thread.say("hello");
        let events = thread.run(json!({})).await;
        assert_eq!(events[0]["runId"], "run-1");
        ids.push(find(&events, "TEXT_MESSAGE_START")["messageId"].clone());
        bed.wait_for_running(0).await;
    }
    assert_eq!(ids[0], "run-1-message-1");
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn the_next_run_brings_the_result_of_the_clients_tool() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, paint_tool());
    thread.say("/paint {\"colour\": \"red\"}\n/add_card {}");
    let events = thread.start(json!({})).await;
    let call = page.recv_call().await;
    page.respond(&call, json!("added")).await;
    let events = thread.finish(events).await;
    let finished = events.last().unwrap();
    let pending = json!({ "type": "success", "pendingToolCallIds": ["run-1-call-1"] });
    assert_eq!(finished["outcome"], pending, "{events:?}");
    assert_eq!(
        find(&events, "TOOL_CALL_RESULT")["toolCallId"],
        "run-1-call-2"
    );

    thread.messages.push(json!({ "id": "t", "role": "tool",
        "toolCallId": "run-1-call-1", "content": "it is red" }));
    let events = thread.run(json!({})).await;
    assert_eq!(events[0]["runId"], "run-2");
    assert!(!types(&events).contains(&"TOOL_CALL_RESULT"), "{events:?}");
    let text = text(&events);
    assert!(
        text.contains("it is red") && text.contains("added"),
        "{text}"
    );
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_person_who_continues_leaves_the_call_of_the_client_unanswered() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, paint_tool());
    thread.say("/paint {}");
    thread.run(json!({})).await;
    thread.say("never mind");
    let text = text(&thread.run(json!({})).await);
    assert!(text.contains("The app has not made this call"), "{text}");
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn the_model_changes_the_state_that_the_application_shares() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, json!({ "state": { "page": 1, "filter": "late" } }));
    thread.say("/update_state {\"changes\": {\"page\": 2, \"filter\": null}}");
    let events = thread.run(json!({})).await;
    let snapshot = &find(&events, "STATE_SNAPSHOT")["snapshot"];
    assert_eq!(*snapshot, json!({ "page": 2 }));

    // The application changes the state while the query waits for it.
    let mut thread = Thread::new(&bed, paint_tool());
    thread.say("/paint {}\n\n/update_state {\"changes\": {\"filter\": \"all\"}}");
    let events = thread.run(json!({ "state": { "page": 1 } })).await;
    let call = &events.last().unwrap()["outcome"]["pendingToolCallIds"][0];
    thread.messages.push(json!({ "id": "t", "role": "tool",
        "toolCallId": call, "content": "it is red" }));
    let events = thread.run(json!({ "state": { "page": 2 } })).await;
    let snapshot = &find(&events, "STATE_SNAPSHOT")["snapshot"];
    assert_eq!(*snapshot, json!({ "page": 2, "filter": "all" }));

    let mut thread = Thread::new(&bed, json!({ "state": {} }));
    thread.say("/update_state {}");
    let events = thread.run(json!({})).await;
    assert!(!types(&events).contains(&"STATE_SNAPSHOT"), "{events:?}");

    let url = format!("http://{}/metrics", bed.agent.local_addr());
    let metrics = http_client()
        .get(url)
        .bearer_auth(METRICS_TOKEN)
        .send()
        .await;
    let metrics = metrics.unwrap().text().await.unwrap();
    // Two changes of the state, and a call of the client's own tool.
    let counted = r#"mcp_web_agent_tool_calls_total{source="client",outcome="ok"} 3"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_client_that_disconnects_cancels_the_query() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, json!({}));
    thread.say("/add_card {}");
    let events = thread.start(json!({})).await;
    let call = page.recv_call().await;
    drop(events);
    page.expect_cancel(&call).await;
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_from_elsewhere_has_that_outcome() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, json!({}));
    thread.say("/add_card {}");
    let events = thread.start(json!({})).await;
    page.recv_call().await;
    let url = format!("{}/run-1", bed.agent.url());
    let cancelled = http_client().delete(url).bearer_auth(TOKEN).send().await;
    assert_eq!(cancelled.unwrap().status(), 204);
    let events = thread.finish(events).await;
    let finished = events.last().unwrap();
    assert_eq!(finished["outcome"], json!({ "type": "cancelled" }));
    // The call has a result: a thread with a call that has none cannot be continued.
    assert!(types(&events).contains(&"TOOL_CALL_RESULT"));
}

#[tokio::test]
async fn a_run_whose_id_cannot_be_that_of_a_query_gets_another_query() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    for id in ["..", ".", "a/b", "run?x#y", "%2e%2e"] {
        let mut thread = Thread::new(&bed, json!({ "runId": id }));
        thread.say("hello");
        let events = thread.run(json!({})).await;
        assert_eq!(events[0]["runId"], id);
        assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED", "{events:?}");
        bed.wait_for_running(0).await;
    }
}

#[tokio::test]
async fn requests_that_cannot_be_answered_are_refused_with_a_status() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let user = json!({ "id": "1", "role": "user", "content": "hello" });
    let input = |messages: Value| json!({ "threadId": "t", "runId": "r", "messages": messages });
    let asked = input(json!([user]));
    let authorized = |input: &Value| streaming(post(&bed, input)).bearer_auth(TOKEN);
    let late_result = input(json!([
        user,
        { "id": "2", "role": "assistant", "toolCalls": [{ "id": "c", "type": "function",
            "function": { "name": "paint", "arguments": "{}" } }] },
        { "id": "3", "role": "tool", "toolCallId": "c", "content": "red" },
    ]));
    let mut resumed = input(json!([]));
    resumed["resume"] = resume(&json!("gone"), true)["resume"].clone();
    for (request, status, code, part) in [
        (
            streaming(post(&bed, &asked)),
            401,
            "MissingAuthentication",
            "Bearer",
        ),
        (
            post(&bed, &asked).bearer_auth(TOKEN),
            400,
            "ProtocolViolation",
            "text/event-stream",
        ),
        (
            as_bridge(streaming(post(&bed, &asked))),
            400,
            "ProtocolViolation",
            "PUT /query",
        ),
        (
            authorized(&json!({})),
            400,
            "ProtocolViolation",
            "RunAgentInput",
        ),
        (
            authorized(&input(json!([]))),
            400,
            "ProtocolViolation",
            "no message of the user",
        ),
        (
            authorized(&resumed),
            404,
            "QueryNotFound",
            "send the message of the user again",
        ),
        (
            authorized(&late_result),
            404,
            "QueryNotFound",
            "result of a call belongs to does not wait any more",
        ),
    ] {
        let (actual, body) = status_and_body(request).await;
        assert_eq!(
            (actual, body["code"].as_str()),
            (status, Some(code)),
            "{body}"
        );
        assert!(body["message"].as_str().unwrap().contains(part), "{body}");
    }
    bed.wait_for_running(0).await;
}
