//! A frontend asks the agent itself, with the token of its page.

use e2e::{Break, Format, NativeItem, Turn};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::asking::Asking;
use crate::curl::{client, events, put, script};

#[tokio::test]
async fn a_frontend_asks_the_agent_itself_with_the_token_of_its_page() {
    let asking = Asking::start(Format::Anthropic, script()).await;
    let page = asking.page(vec![NativeItem::echo()]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let told = events(put(&asking, asking.world.token(), None, &body).await).await;
    assert_eq!(told[0]["type"], "query_accepted");
    assert_eq!(told.last().unwrap()["type"], "query_complete", "{told:?}");
    assert_eq!(told.last().unwrap()["result"], "Done.");
    page.called().await;
    assert!(
        page.told_already().await.is_none(),
        "its socket hears nothing"
    );
    asking.at_rest().await;

    for (bearer, token) in [
        ("a-token-of-nobody-0123456789", None),
        (asking.place.token(), None),
    ] {
        let body = json!({ "uuid": "q-2", "prompt": "Hello" });
        let answer = put(&asking, bearer, token, &body).await;
        assert!(answer.status().is_client_error(), "{answer:?}");
        let problem: Value = answer.json().await.unwrap();
        assert!(problem["error"].is_string(), "{problem}");
        assert!(!problem.to_string().contains(bearer), "{problem}");
    }
    asking.at_rest().await;
    assert_eq!(asking.provider.exchanges().len(), 2);
}

#[tokio::test]
async fn the_same_uuid_is_refused_while_it_is_answered() {
    let turn = Turn::saying("one").pausing(1).text("two");
    let asking = Asking::start(Format::OpenAi, turn).await;
    let _page = asking.page(vec![]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let first = put(&asking, asking.world.token(), None, &body).await;
    asking.provider.answering(0).await;
    let second = put(&asking, asking.world.token(), None, &body).await;
    assert_eq!(second.status(), StatusCode::CONFLICT);
    asking.provider.go_on();
    assert_eq!(events(first).await.last().unwrap()["result"], "onetwo");
    asking.at_rest().await;
}

#[tokio::test]
async fn a_reader_that_goes_away_and_a_delete_cancel() {
    let turn = Turn::saying("one").text("two").broken(1, Break::Hang);
    let asking = Asking::start(Format::Gemini, turn).await;
    let _page = asking.page(vec![]).await;
    let body = json!({ "uuid": "q-1", "prompt": "Hello" });
    let answer = put(&asking, asking.world.token(), None, &body).await;
    asking.provider.answering(0).await;
    drop(answer);
    asking.at_rest().await;
    let body = json!({ "uuid": "q-2", "prompt": "Hello" });
    let answer = put(&asking, asking.world.token(), None, &body).await;
    asking.provider.answering(1).await;
    let url = format!("{}/query/q-2", asking.place.url());
    let delete = client().request(Method::DELETE, &url);
    // Whose query it is may cancel it, nobody else.
    let delete = |bearer: &str| delete.try_clone().unwrap().bearer_auth(bearer).send();
    let (own, other) = (asking.world.token(), "a-token-of-nobody-0123456789");
    assert_eq!(delete(other).await.unwrap().status(), 404);
    assert_eq!(delete(own).await.unwrap().status(), 204);
    let told = events(answer).await;
    assert_eq!(told.last().unwrap()["type"], "query_cancel", "{told:?}");
    asking.at_rest().await;
    assert_eq!(delete(own).await.unwrap().status(), 404);
}
