//! A page is loaded anew while its agent is at work.

use std::time::Duration;

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::event_streams::{Rest, World, streaming};
use super::{query, told};
use crate::kit::mock_agent::UUID;
use crate::kit::{McpClient, Page, TOKEN, echo_tool, http_client, with_deadline};

async fn attach(page: &mut Page) {
    page.send_json(json!({ "type": "query_attach", "uuid": UUID }))
        .await;
}

/// Until the bridge knows that the document is gone.
async fn without_page(bridge: &ServerHandle) {
    let gone = async {
        loop {
            let sessions = http_client().get(format!("{}/sessions", bridge.url()));
            let answer = sessions.bearer_auth(TOKEN).send().await.unwrap();
            let sessions: Value = answer.json().await.unwrap();
            if sessions["sessions"] == json!([]) {
                return;
            }
        }
    };
    with_deadline("end of the page", gone).await;
}

#[tokio::test]
async fn a_reloaded_page_reattaches_receives_progress_again_and_serves_calls() {
    let World { events, rest } = streaming(json!({})).await;
    let Rest {
        bridge,
        agent: _agent,
        mut page,
        token,
    } = rest;
    let client = McpClient::connect(&bridge, &token).await;
    events.send_text_progress("one").await;
    assert_eq!(told(&mut page).await["content"]["text"], "one");
    page.close().await;
    without_page(&bridge).await;
    // Both wait, and are answered by the new document.
    let url = bridge.url();
    let listing = tokio::spawn({
        let tools = http_client()
            .get(format!("{url}/tools"))
            .bearer_auth(&token);
        async move { tools.send().await.unwrap().json::<Value>().await.unwrap() }
    });
    let calling = tokio::spawn(async move { client.call("echo", json!({ "a": 1 })).await });
    events.send_text_progress("two").await;

    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    attach(&mut page).await;
    let heard = [
        told(&mut page).await,
        told(&mut page).await,
        told(&mut page).await,
    ];
    assert_eq!(heard[0]["type"], "query_accepted");
    let said = |told: &Value| (told["number"].clone(), told["content"]["text"].clone());
    assert_eq!(said(&heard[1]), (json!(1), json!("one")));
    assert_eq!(said(&heard[2]), (json!(2), json!("two")));
    assert!(!calling.is_finished() && !listing.is_finished());
    page.register(&[echo_tool()]).await;
    page.echo_call().await;
    let answer = with_deadline("answer", calling).await.unwrap();
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({ "a": 1 }),
        "{answer}"
    );
    let listed = with_deadline("list", listing).await.unwrap();
    assert_eq!(listed["tools"][0]["name"], "echo");
    events
        .send_event("query_complete", json!({ "result": "done" }))
        .await;
    let complete = told(&mut page).await;
    assert_eq!(complete["toolCalls"][0]["tool"], "echo", "{complete}");
}

#[tokio::test]
async fn calls_waiting_for_a_reloading_page_fail_when_the_query_ends() {
    let World { events, rest } = streaming(json!({})).await;
    let Rest {
        bridge,
        mut agent,
        page,
        token,
    } = rest;
    let client = McpClient::connect(&bridge, &token).await;
    page.close().await;
    without_page(&bridge).await;
    let calling = tokio::spawn(async move { client.call("echo", json!({})).await });
    // Until it is there: what comes after it on another connection need not come after it.
    let mut other = Page::connect(&bridge, "other", TOKEN).await;
    attach(&mut other).await;
    assert_eq!(told(&mut other).await["code"], "QueryNotFound");
    drop(events);
    let answer = with_deadline("answer", calling).await.unwrap();
    let refused = answer["result"]["isError"] == true || answer["error"].is_object();
    assert!(refused, "{answer}");
    let stop = agent.next_request().await;
    assert_eq!(stop.method.as_str(), "DELETE");
    stop.respond(404);
}

#[tokio::test]
async fn a_page_reattaching_after_the_end_receives_the_outcome() {
    let World { events, rest } = streaming(json!({})).await;
    let Rest { bridge, page, .. } = rest;
    page.close().await;
    without_page(&bridge).await;
    let why = json!({ "error": "no", "code": "ModelRefused" });
    events.send_event("query_failure", why).await;
    events.wait_closed().await;
    let mut other = Page::connect(&bridge, "other", TOKEN).await;
    attach(&mut other).await;
    assert_eq!(told(&mut other).await["code"], "QueryNotFound");
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    attach(&mut page).await;
    assert_eq!(told(&mut page).await["type"], "query_accepted");
    assert_eq!(told(&mut page).await["code"], "ModelRefused");
}

#[tokio::test]
async fn a_query_ends_when_its_page_does_not_reattach_in_time() {
    let mut agent = crate::kit::mock_agent::MockAgent::start().await;
    let mut config = agent.config();
    config.agent.query_attach = Duration::from_millis(50);
    let bridge = crate::kit::start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "asks", TOKEN).await;
    page.send_json(query(UUID)).await;
    let events = agent.next_request().await.respond_with_stream().await;
    assert_eq!(told(&mut page).await["type"], "query_accepted");
    page.close().await;
    events.wait_closed().await;
    let stop = agent.next_request().await;
    assert_eq!(stop.method.as_str(), "DELETE");
    stop.respond(204);
}

#[tokio::test]
async fn a_query_fails_after_its_own_timeout() {
    let mut world = streaming(json!({ "timeout": 50 })).await;
    let failure = told(&mut world.rest.page).await;
    assert_eq!(failure["code"], "QueryTimeout", "{failure}");
    assert!(failure["reason"].as_str().unwrap().contains("`timeout`"));
    world.events.wait_closed().await;
}

#[tokio::test]
async fn attaching_with_a_too_long_query_id_closes_the_page() {
    let World { rest, events } = streaming(json!({})).await;
    let mut page = rest.page;
    let endless = json!({ "type": "query_attach", "uuid": "x".repeat(129) });
    page.send_json(endless).await;
    assert_eq!(page.recv_close().await.0, 1008);
    drop(events);
}
