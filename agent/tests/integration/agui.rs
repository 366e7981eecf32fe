//! Runs of frontends that use the AG-UI protocol.

use std::time::Duration;

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
async fn a_call_is_made_when_the_person_approves_it() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let approve = json!({ "forwardedProps": { "approve": ["add_card"] } });
    let mut thread = Thread::new(&bed, approve);
    thread.say("/add_card {\"title\": \"Milk\"}");
    let events = thread.run(json!({})).await;
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{events:?}");
    let interrupt = &outcome["interrupts"][0];
    assert_eq!(interrupt["toolCallId"], "run-1-call-1");
    assert!(interrupt["expiresAt"].as_str().unwrap().ends_with('Z'));

    // Another token, and a request without an answer, change nothing.
    let stranger = "token-of-somebody-else-0123456789";
    let request = thread.request(stranger, resume(&interrupt["id"], true));
    assert_eq!(status_and_body(request).await.0, 404);
    thread.say("and now?");
    let events = thread.run(json!({})).await;
    assert_eq!(types(&events), ["RUN_STARTED", "RUN_FINISHED"]);
    assert_eq!(events[1]["outcome"]["interrupts"][0], *interrupt);
    thread.messages.pop();

    let events = thread.start(resume(&interrupt["id"], true)).await;
    let call = page.recv_call().await;
    page.respond(&call, json!("added")).await;
    let events = thread.finish(events).await;
    let result = find(&events, "TOOL_CALL_RESULT");
    assert_eq!(
        (&result["toolCallId"], &result["content"]),
        (&json!("run-1-call-1"), &json!("added"))
    );
    assert!(!types(&events).contains(&"TOOL_CALL_START"));
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_repeated_resume_runs_nothing_although_the_thread_ends_with_the_prompt() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let approve = json!({ "forwardedProps": { "approve": ["add_card"] } });
    let mut thread = Thread::new(&bed, approve);
    thread.say("/add_card {\"title\": \"Milk\"}");
    let prompt = thread.messages.clone();
    let events = thread.run(json!({})).await;
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    let answer = resume(&interrupt["id"], true);
    // This client keeps no messages of the assistant.
    thread.messages.clone_from(&prompt);
    let events = thread.start(answer.clone()).await;
    let call = page.recv_call().await;
    let repeat = async |thread: &mut Thread<'_>| {
        let (status, refused) = status_and_body(thread.request(TOKEN, answer.clone())).await;
        assert_eq!(
            (status, &refused["code"]),
            (404, &json!("QueryNotFound")),
            "{refused}"
        );
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("does not wait any more"), "{message}");
    };
    repeat(&mut thread).await;
    page.respond(&call, json!("added")).await;
    thread.finish(events).await;
    bed.wait_for_running(0).await;
    thread.messages.clone_from(&prompt);
    repeat(&mut thread).await;
    let given_up = json!({ "resume": [{ "interruptId": interrupt["id"], "status": "cancelled" }] });
    let request = thread.request(TOKEN, given_up);
    assert_eq!(
        status_and_body(request).await.0,
        404,
        "the prompt is the same"
    );
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_request_that_continues_a_query_counts_until_the_query_has_ended() {
    let bed = TestBed::start_with(agent::Config {
        // A frontend has an eighth of it.
        max_all_body_bytes: 400_000,
        ..settings()
    })
    .await;
    let mut page = bed.connect_page().await;
    let approve = json!({ "forwardedProps": { "approve": ["add_card"] } });
    let mut thread = Thread::new(&bed, approve);
    thread.say("/add_card {}");
    let events = thread.run(json!({})).await;
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    let mut resumed = resume(&interrupt["id"], true);
    resumed["state"] = json!({ "notes": "x".repeat(30_000) });
    let events = thread.start(resumed).await;
    let call = page.recv_call().await;
    let other = |run: &str| {
        let asked = json!([{ "id": "m", "role": "user", "content": "x".repeat(10_000) }]);
        let input = json!({ "threadId": "other", "runId": run, "messages": asked });
        streaming(post(&bed, &input).bearer_auth(TOKEN))
    };
    let (status, refused) = status_and_body(other("a")).await;
    assert_eq!(
        (status, &refused["code"]),
        (429, &json!("QueryLimitExceeded")),
        "{refused}"
    );
    page.respond(&call, json!("added")).await;
    thread.finish(events).await;
    bed.wait_for_running(0).await;
    let events = EventStream::open_unnamed(other("b")).await;
    assert_eq!(events.last().await["type"], "RUN_FINISHED");
}

fn resume(interrupt: &Value, is_approved: bool) -> Value {
    json!({ "resume": [{ "interruptId": interrupt, "status": "resolved",
        "payload": { "approved": is_approved } }] })
}

/// Starts an agent that refuses a call at once if the person does not approve it.
async fn start_with_short_approvals() -> TestBed {
    let mut config = settings();
    config.limits.approval_timeout = Duration::from_millis(1);
    TestBed::start_with(config).await
}

#[tokio::test]
async fn a_call_without_approval_is_not_made() {
    let bed = start_with_short_approvals().await;
    let _page = bed.connect_page().await;
    let approve = json!({ "forwardedProps": { "approve": ["add_card"] } });
    let mut thread = Thread::new(&bed, approve);
    thread.say("/add_card {}");
    let events = thread.run(json!({})).await;
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    bed.wait_for_running(0).await;
    // The query has gone on, and the client reads how.
    let events = thread.run(resume(&interrupt["id"], true)).await;
    let result = find(&events, "TOOL_CALL_RESULT")["content"].as_str();
    assert!(result.unwrap().contains("Nobody approved"), "{result:?}");
    assert_eq!(events.last().unwrap()["outcome"]["type"], "success");
}

#[tokio::test]
async fn a_call_of_the_client_beside_an_approval_is_pending_in_the_run_after_it() {
    let bed = TestBed::start().await;
    let mut page = bed.connect_page().await;
    let mut members = paint_tool();
    members["forwardedProps"] = json!({ "approve": ["add_card"] });
    let mut thread = Thread::new(&bed, members);
    thread.say("/add_card {}\n/paint {}");
    let events = thread.run(json!({})).await;
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{events:?}");
    let events = thread
        .start(resume(&outcome["interrupts"][0]["id"], true))
        .await;
    let call = page.recv_call().await;
    page.respond(&call, json!("added")).await;
    let events = thread.finish(events).await;
    let pending = json!({ "type": "success", "pendingToolCallIds": ["run-1-call-2"] });
    assert_eq!(events.last().unwrap()["outcome"], pending, "{events:?}");
    thread.messages.push(json!({ "id": "t", "role": "tool",
        "toolCallId": "run-1-call-2", "content": "it is red" }));
    let text = text(&thread.run(json!({})).await);
    assert!(
        text.contains("it is red") && text.contains("added"),
        "{text}"
    );
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_message_after_an_expired_approval_is_answered() {
    let bed = start_with_short_approvals().await;
    let _page = bed.connect_page().await;
    let approve = json!({ "forwardedProps": { "approve": ["add_card"] } });
    let mut thread = Thread::new(&bed, approve);
    thread.say("/add_card {}");
    thread.run(json!({})).await;
    bed.wait_for_running(0).await;
    thread.say("hello");
    let events = thread.run(json!({})).await;
    assert_eq!(events[0]["runId"], "run-2");
    assert!(
        text(&events).contains("no language model here"),
        "{events:?}"
    );
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_message_that_gives_up_an_expired_approval_is_answered() {
    let bed = start_with_short_approvals().await;
    let _page = bed.connect_page().await;
    let approve = json!({ "forwardedProps": { "approve": ["add_card"] } });
    let mut thread = Thread::new(&bed, approve);
    thread.say("/add_card {}");
    let events = thread.run(json!({})).await;
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0]["id"];
    bed.wait_for_running(0).await;
    thread.say("hello");
    // `HttpAgent` answers each interrupt, and does not resolve those that have expired.
    let late = thread.request(TOKEN, resume(interrupt, true));
    assert_eq!(status_and_body(late).await.0, 404);
    let given_up = json!({ "resume": [{ "interruptId": interrupt, "status": "cancelled" }] });
    let events = thread.run(given_up).await;
    assert!(
        text(&events).contains("no language model here"),
        "{events:?}"
    );
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_refused_request_does_not_end_the_query_that_waits() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, paint_tool());
    thread.say("/paint {}");
    thread.run(json!({})).await;
    let messages = std::mem::take(&mut thread.messages);
    let nothing = thread.request(TOKEN, json!({}));
    assert_eq!(status_and_body(nothing).await.0, 400);
    thread.messages = messages;
    thread.messages.push(json!({ "id": "t", "role": "tool",
        "toolCallId": "run-1-call-1", "content": "it is red" }));
    let text = text(&thread.run(json!({})).await);
    assert!(text.contains("it is red"), "{text}");
    bed.wait_for_running(0).await;
}

#[tokio::test]
async fn a_thread_that_was_changed_does_not_continue_the_run() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, paint_tool());
    thread.say("/paint {}");
    thread.run(json!({})).await;
    bed.wait_for_running(1).await;
    thread.messages.clear();
    thread.say("hello");
    let events = thread.run(json!({})).await;
    assert!(!text(&events).contains("has not made this call"));
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
    let metrics = http_client().get(url).bearer_auth(CREDENTIAL).send().await;
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
