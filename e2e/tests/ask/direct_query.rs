//! A frontend asks the agent itself, with the token of its page.

use e2e::{BreakMode, Format, NativeItem, Turn};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::direct_client::{client, events, put_query, script};
use crate::test_bed::QueryTestBed;

#[tokio::test]
async fn a_frontend_asks_the_agent_itself_with_the_token_of_its_page() {
    let asking = QueryTestBed::start(Format::Anthropic, script()).await;
    let page = asking.page(vec![NativeItem::echo()]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let told = events(put_query(&asking, asking.world.token(), None, &body).await).await;
    assert_eq!(told[0]["type"], "query_accepted");
    assert_eq!(told.last().unwrap()["type"], "query_complete", "{told:?}");
    assert_eq!(told.last().unwrap()["result"], "Done.");
    page.next_call().await;
    assert!(
        page.try_next_query_message().await.is_none(),
        "its socket hears nothing"
    );
    asking.assert_idle_without_leaks().await;

    for (bearer, token) in [
        ("a-token-of-nobody-0123456789", None),
        (asking.endpoint.token(), None),
    ] {
        let body = json!({ "uuid": "q-2", "prompt": "Hello" });
        let answer = put_query(&asking, bearer, token, &body).await;
        assert!(answer.status().is_client_error(), "{answer:?}");
        let problem: Value = answer.json().await.unwrap();
        assert!(problem["error"].is_string(), "{problem}");
        assert!(!problem.to_string().contains(bearer), "{problem}");
    }
    asking.assert_idle_without_leaks().await;
    assert_eq!(asking.provider.exchanges().len(), 2);
}

#[tokio::test]
async fn the_same_uuid_is_refused_while_it_is_answered() {
    let turn = Turn::from_text("one").pause_after(1).text("two");
    let asking = QueryTestBed::start(Format::OpenAi, turn).await;
    let _page = asking.page(vec![]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let first = put_query(&asking, asking.world.token(), None, &body).await;
    asking.provider.wait_for_first_byte(0).await;
    let second = put_query(&asking, asking.world.token(), None, &body).await;
    assert_eq!(second.status(), StatusCode::CONFLICT);
    asking.provider.resume_one();
    assert_eq!(events(first).await.last().unwrap()["result"], "onetwo");
    asking.assert_idle_without_leaks().await;
}

#[tokio::test]
async fn a_disconnect_and_a_delete_both_cancel() {
    let turn = Turn::from_text("one")
        .text("two")
        .broken(1, BreakMode::Hang);
    let asking = QueryTestBed::start(Format::Gemini, turn).await;
    let _page = asking.page(vec![]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let answer = put_query(&asking, asking.world.token(), None, &body).await;
    asking.provider.wait_for_first_byte(0).await;
    drop(answer);
    asking.assert_idle_without_leaks().await;
    let body = json!({ "uuid": "q-2", "prompt": "Hello" });
    let answer = put_query(&asking, asking.world.token(), None, &body).await;
    asking.provider.wait_for_first_byte(1).await;
    let url = format!("{}/query/q-2", asking.endpoint.url());
    let delete = client().request(Method::DELETE, &url);
    // Whose query it is may cancel it, nobody else.
    let delete = |bearer: &str| delete.try_clone().unwrap().bearer_auth(bearer).send();
    let (own, other) = (asking.world.token(), "a-token-of-nobody-0123456789");
    assert_eq!(delete(other).await.unwrap().status(), 404);
    assert_eq!(delete(own).await.unwrap().status(), 204);
    let told = events(answer).await;
    assert_eq!(told.last().unwrap()["type"], "query_cancel", "{told:?}");
    asking.assert_idle_without_leaks().await;
    assert_eq!(delete(own).await.unwrap().status(), 404);
}
