//! Threads of AG-UI as conversations of the agent.

use serde_json::{Value, json};

use crate::kit::*;

/// Runs the last message of a thread to its end.
async fn run(bed: &TestBed, messages: &Value) {
    let url = format!("http://{}/agui", bed.agent.local_addr());
    let input = json!({ "threadId": "thread", "runId": "run", "messages": messages });
    let request = http_client().post(url).json(&input).bearer_auth(TOKEN);
    let events = EventStream::open_unnamed(streaming(request)).await;
    let last = events.last().await;
    bed.wait_for_running(0).await;
    assert_eq!(last["type"], "RUN_FINISHED", "{last}");
}

/// Returns the prompts of the conversation, as the page reads them at its bridge.
async fn prompts(bed: &TestBed) -> Vec<String> {
    let url = format!("{}/conversations/thread", bed.bridge.url());
    let (status, conversation) = status_and_body(http_client().get(url).bearer_auth(TOKEN)).await;
    assert_eq!(status, 200, "{conversation}");
    let messages = conversation["messages"].as_array().unwrap().iter();
    let prompts = messages.filter(|message| message["role"] == "user");
    prompts
        .map(|it| it["text"].as_str().unwrap().to_owned())
        .collect()
}

fn user(text: &str) -> Value {
    json!({ "id": "u", "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "id": "a", "role": "assistant", "content": text })
}

#[tokio::test]
async fn a_thread_is_a_conversation_and_continues_before_a_message_that_is_changed() {
    let bed = TestBed::start().await;
    let _page = bed.connect_page().await;
    run(&bed, &json!([user("one")])).await;
    run(&bed, &json!([user("one"), assistant("1"), user("two")])).await;
    assert_eq!(prompts(&bed).await, ["one", "two"]);
    // The person has changed the second message.
    run(&bed, &json!([user("one"), assistant("1"), user("other")])).await;
    assert_eq!(prompts(&bed).await, ["one", "other"]);
    run(
        &bed,
        &json!([
            user("one"),
            assistant("1"),
            user("other"),
            assistant("2"),
            user("three")
        ]),
    )
    .await;
    assert_eq!(prompts(&bed).await, ["one", "other", "three"]);
    // This client does not keep the messages of the thread.
    run(&bed, &json!([user("four")])).await;
    assert_eq!(prompts(&bed).await, ["one", "other", "three", "four"]);
}
