//! A page that is loaded again takes its query up.

use bridge_protocol::{PageToBridge, QueryAttach};
use e2e::{Format, NativeItem, NativePage, Script, Turn};
use serde_json::json;

use crate::asking::{Asking, Heard, query};

async fn attach(page: &NativePage, uuid: &str) {
    let uuid = uuid.into();
    page.say(PageToBridge::QueryAttach(QueryAttach { uuid }))
        .await;
}

#[tokio::test]
async fn a_page_that_is_loaded_again_hears_what_it_missed() {
    let script = Script::new([
        Turn::saying("one ")
            .pausing(1)
            .call("echo", json!({ "n": 1 })),
        Turn::saying("two"),
    ]);
    let asking = Asking::start(Format::OpenAi, script).await;
    let page = asking.page(vec![NativeItem::echo()]).await;
    page.ask(query("q-1", "Hello")).await;
    Heard::default().until(&page, "q-1", "text").await;
    page.close(1001).await;
    // The model goes on meanwhile, and wants a tool: it waits for the page.
    asking.provider.go_on();
    asking.provider.ended(0).await;
    let page = asking.page(vec![NativeItem::echo()]).await;
    attach(&page, "q-1").await;
    let heard = Heard::listen(&page, "q-1").await;
    assert_eq!(
        heard.story(),
        [
            "accepted",
            "says one ",
            r#"calls 1 echo {"n":1}"#,
            "ended 1 echo",
            "says two",
            r#"completes "two""#,
        ]
    );
    asking.at_rest().await;
    attach(&page, "q-unknown").await;
    let heard = Heard::listen(&page, "q-unknown").await;
    assert_eq!(heard.last()["code"], "QueryNotFound");
}
