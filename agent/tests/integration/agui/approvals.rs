//! Approvals of a person in runs of frontends that use the AG-UI protocol.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Thread, find, paint_tool, post, resume, text, types};
use crate::kit::*;

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

/// Lets an approval expire. Returns the id of its interrupt.
async fn expire_approval(bed: &TestBed, thread: &mut Thread<'_>) -> Value {
    thread.say("/add_card {}");
    let events = thread.run(json!({})).await;
    bed.wait_for_running(0).await;
    thread.say("hello");
    events.last().unwrap()["outcome"]["interrupts"][0]["id"].clone()
}

fn approve_add_card() -> Value {
    json!({ "forwardedProps": { "approve": ["add_card"] } })
}

#[tokio::test]
async fn a_message_after_an_expired_approval_is_answered() {
    let bed = start_with_short_approvals().await;
    let _page = bed.connect_page().await;
    let mut thread = Thread::new(&bed, approve_add_card());
    expire_approval(&bed, &mut thread).await;
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
    let mut thread = Thread::new(&bed, approve_add_card());
    let interrupt = &expire_approval(&bed, &mut thread).await;
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
