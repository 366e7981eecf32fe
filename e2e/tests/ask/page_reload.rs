//! A reloaded page attaches to its query.

use bridge_protocol::{PageToBridge, QueryAttach};
use e2e::{Format, PageTool, QueryPage, Script, Turn};
use serde_json::json;

use crate::test_bed::{QueryEvents, QueryTestBed, query};

async fn attach(page: &QueryPage, uuid: &str) {
    let uuid = uuid.into();
    page.send(PageToBridge::QueryAttach(QueryAttach { uuid }))
        .await;
}

#[tokio::test]
async fn a_reloaded_page_gets_the_events_it_missed() {
    let script = Script::new([
        Turn::from_text("one ")
            .pause_after(1)
            .call("echo", json!({ "n": 1 })),
        Turn::from_text("two"),
    ]);
    let bed = QueryTestBed::start(Format::OpenAi, script).await;
    let page = bed.page(vec![PageTool::echo()]).await;
    page.send_query(query("q-1", "Hello")).await;
    QueryEvents::default()
        .collect_until(&page, "q-1", "text")
        .await;
    page.close().await;
    // The model continues meanwhile and calls a tool, which waits for the page.
    bed.provider.resume_one();
    bed.provider.wait_for_end(0).await;
    let page = bed.page(vec![PageTool::echo()]).await;
    attach(&page, "q-1").await;
    let events = QueryEvents::collect_rest(&page, "q-1").await;
    assert_eq!(
        events.summary(),
        [
            "accepted",
            "says one ",
            r#"calls 1 echo {"n":1}"#,
            "ended 1 echo",
            "says two",
            r#"completes "two""#,
        ]
    );
    bed.assert_idle_without_leaks().await;
    attach(&page, "q-unknown").await;
    let events = QueryEvents::collect_rest(&page, "q-unknown").await;
    assert_eq!(events.last()["code"], "QueryNotFound");
}
