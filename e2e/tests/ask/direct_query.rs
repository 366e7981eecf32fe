//! Queries that a frontend sends to the agent directly, with the token of its page.

use e2e::{BreakMode, Format, PageTool, Turn};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::direct_client::{client, put_query, read_events, script};
use crate::test_bed::QueryTestBed;

#[tokio::test]
async fn a_frontend_queries_the_agent_with_the_token_of_its_page() {
    let bed = QueryTestBed::start(Format::Anthropic, script()).await;
    let page = bed.page(vec![PageTool::echo()]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let events = read_events(put_query(&bed, bed.bridge.token(), None, &body).await).await;
    assert_eq!(events[0]["type"], "query_accepted");
    assert_eq!(
        events.last().unwrap()["type"],
        "query_complete",
        "{events:?}"
    );
    assert_eq!(events.last().unwrap()["result"], "Done.");
    page.next_call().await;
    assert!(
        page.try_next_query_message().await.is_none(),
        "the page's socket receives nothing"
    );
    bed.assert_idle_without_leaks().await;

    for (bearer, token) in [
        ("a-token-of-nobody-0123456789", None),
        (bed.endpoint.token(), None),
    ] {
        let body = json!({ "uuid": "q-2", "prompt": "Hello" });
        let answer = put_query(&bed, bearer, token, &body).await;
        assert!(answer.status().is_client_error(), "{answer:?}");
        let problem: Value = answer.json().await.unwrap();
        assert!(problem["error"].is_string(), "{problem}");
        assert!(!problem.to_string().contains(bearer), "{problem}");
    }
    bed.assert_idle_without_leaks().await;
    assert_eq!(bed.provider.exchanges().len(), 2);
}

#[tokio::test]
async fn a_uuid_in_use_is_rejected() {
    let turn = Turn::from_text("one").pause_after(1).text("two");
    let bed = QueryTestBed::start(Format::OpenAi, turn).await;
    let _page = bed.page(vec![]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let first = put_query(&bed, bed.bridge.token(), None, &body).await;
    bed.provider.wait_for_first_byte(0).await;
    let second = put_query(&bed, bed.bridge.token(), None, &body).await;
    assert_eq!(second.status(), StatusCode::CONFLICT);
    bed.provider.resume_one();
    assert_eq!(read_events(first).await.last().unwrap()["result"], "onetwo");
    bed.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_disconnect_and_a_delete_both_cancel() {
    let turn = Turn::from_text("one")
        .text("two")
        .broken(1, BreakMode::Hang);
    let bed = QueryTestBed::start(Format::Gemini, turn).await;
    let _page = bed.page(vec![]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let answer = put_query(&bed, bed.bridge.token(), None, &body).await;
    bed.provider.wait_for_first_byte(0).await;
    drop(answer);
    bed.assert_idle_without_leaks().await;
    let body = json!({ "uuid": "q-2", "prompt": "Hello" });
    let answer = put_query(&bed, bed.bridge.token(), None, &body).await;
    bed.provider.wait_for_first_byte(1).await;
    let url = format!("{}/query/q-2", bed.endpoint.url());
    let delete = client().request(Method::DELETE, &url);
    // Only the owner of a query may cancel it.
    let delete = |bearer: &str| delete.try_clone().unwrap().bearer_auth(bearer).send();
    let (own, other) = (bed.bridge.token(), "a-token-of-nobody-0123456789");
    assert_eq!(delete(other).await.unwrap().status(), 404);
    assert_eq!(delete(own).await.unwrap().status(), 204);
    let events = read_events(answer).await;
    assert_eq!(events.last().unwrap()["type"], "query_cancel", "{events:?}");
    bed.assert_idle_without_leaks().await;
    assert_eq!(delete(own).await.unwrap().status(), 404);
}
