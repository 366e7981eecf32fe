//! Everything except plain results of tools, between an app and a client with all capabilities, over
//! all transports and eras: progress, logs and requests of handlers, prompts, resources, templates,
//! completions, subscriptions. The apps are in `native_program` and `node_app`.

use e2e::{ClientEvent, Era, FullClient, TestBed, Transport};
use rmcp::model::ErrorCode;
use rmcp::service::ServiceError;
use serde_json::json;

/// Actions of this journey in an app that are not done by a client.
pub(crate) trait App {
    /// Waits until the app is notified that a client has subscribed to `notes://all`.
    async fn wait_for_subscriber(&mut self);
    /// Makes the app report that `notes://all` has changed.
    async fn update_notes(&mut self);
}

/// Checks everything that an app offers which is connected already.
pub(crate) async fn check_app(bed: &TestBed, app: &mut impl App, transport: Transport, era: Era) {
    let mut client = FullClient::connect(bed, transport, era).await;
    receives_reports_and_answers_requests(&client).await;
    gets_prompts(&client).await;
    reads_resources(&client, era).await;
    receives_updates(&mut client, app).await;
}

async fn receives_reports_and_answers_requests(client: &FullClient) {
    let result = client.call("ask", json!({})).await.unwrap();
    let expected = json!({
        "first": ["Ada", "hello", "file:///home/ada"],
        "second": "Ada",
    });
    assert_eq!(result.structured_content, Some(expected));
    // The events may arrive on different streams, so in any order.
    let events = [client.next_event().await, client.next_event().await];
    for event in [
        ClientEvent::Progress(1.0),
        ClientEvent::Log(json!({ "asks": 3 })),
    ] {
        assert!(events.contains(&event), "{event:?} in {events:?}");
    }
}

async fn gets_prompts(client: &FullClient) {
    let prompt = client.prompt("greet", json!({ "whom": "Bob" })).await;
    let prompt = serde_json::to_value(prompt.unwrap()).unwrap();
    assert_eq!(prompt["messages"][0]["content"]["text"], "Ada greets Bob");
    assert_eq!(client.complete_prompt("greet", "whom", "B").await, ["Bob"]);
}

async fn reads_resources(client: &FullClient, era: Era) {
    let read = async |uri| {
        let result = client.read(uri).await.unwrap();
        serde_json::to_value(result).unwrap()["contents"][0]["text"].take()
    };
    assert_eq!(read("notes://all").await, "every note");
    assert_eq!(read("notes://note/7").await, "the note 7");
    let ids = client
        .complete_resource("notes://note/{id}", "id", "1")
        .await;
    assert_eq!(ids, ["1", "12"]);

    let unknown = client.read("other://thing").await.unwrap_err();
    let ServiceError::McpError(error) = unknown else {
        panic!("{unknown}");
    };
    let code = match era {
        Era::Initialize => -32002,
        Era::Discover => -32602,
    };
    assert_eq!(error.code, ErrorCode(code), "{error}");
}

async fn receives_updates(client: &mut FullClient, app: &mut impl App) {
    client.subscribe("notes://all").await;
    app.wait_for_subscriber().await;
    app.update_notes().await;
    assert_eq!(
        client.next_event().await,
        ClientEvent::Updated("notes://all".to_owned())
    );
}
