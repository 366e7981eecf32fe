//! Everything except plain results of tools, between an app and a client with all capabilities, over
//! all transports and eras: progress, logs and requests of handlers, prompts, resources, templates,
//! completions, subscriptions. Here the app is a native page.

use bridge_protocol::LogLevel;
use e2e::{
    CallInput, ClientEvent, Era, FullClient, NativeCall, NativeItem, NativeOutcome, NativePage,
    TestBed, Transport,
};
use rmcp::model::ErrorCode;
use rmcp::service::ServiceError;
use serde_json::{Value, json};

#[tokio::test]
async fn over_http_2025() {
    check_all_features(Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn over_http_2026() {
    check_all_features(Transport::Http, Era::Discover).await;
}

#[tokio::test]
async fn over_stdio_2025() {
    check_all_features(Transport::Stdio, Era::Initialize).await;
}

#[tokio::test]
async fn over_stdio_2026() {
    check_all_features(Transport::Stdio, Era::Discover).await;
}

/// What this journey does with an app that is not done by a client.
pub(crate) trait App {
    /// Waits until the app hears that a client has subscribed to `notes://all`.
    async fn wait_for_subscriber(&mut self);
    /// Lets the app tell that `notes://all` changed.
    async fn update_notes(&mut self);
}

impl App for NativePage {
    async fn wait_for_subscriber(&mut self) {
        assert_eq!(self.next_subscriptions().await, ["notes://all"]);
    }

    async fn update_notes(&mut self) {
        self.resource_updated("notes://all").await;
    }
}

async fn check_all_features(transport: Transport, era: Era) {
    let bed = TestBed::bridge().await;
    let mut page = NativePage::open(&bed, "a-page", items()).await;
    check_app(&bed, &mut page, transport, era).await;
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

fn items() -> Vec<NativeItem> {
    let text = |call: NativeCall, text: &str| {
        let CallInput::Resource { uri, .. } = call.request else {
            panic!("not a resource: {:?}", call.request);
        };
        Ok(json!({ "contents": [{ "uri": uri, "text": text }] }).into())
    };
    vec![
        NativeItem::tool("ask", ask),
        NativeItem::prompt("greet", &["whom"], greet)
            .with_completer(|call| completions(call, &["Ada", "Bob"])),
        NativeItem::resource("notes://all", move |call| async move {
            text(call, "every note")
        }),
        NativeItem::template("notes://note/{id}", move |call| async move {
            let CallInput::Resource { variables, .. } = &call.request else {
                panic!("not a resource: {:?}", call.request);
            };
            let id = variables.as_ref().unwrap()["id"].clone();
            text(call, &format!("the note {id}"))
        })
        .with_completer(|call| completions(call, &["1", "12", "2"])),
    ]
}

/// Sends requests to the client in two rounds: three at once, then one.
async fn ask(call: NativeCall) -> NativeOutcome {
    call.progress(1, Some(2), None);
    call.log(LogLevel::Info, &json!({ "asks": 3 }));
    let sampling = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "say hello" } }],
        "maxTokens": 10,
    });
    let first = call.request_client_all(vec![
        ("elicit-1", "elicitation/create", form()),
        ("sample-1", "sampling/createMessage", sampling),
        ("roots-1", "roots/list", json!({})),
    ]);
    let first: Vec<Value> = first.await.into_iter().map(Result::unwrap).collect();
    let second = call
        .request_client("elicit-2", "elicitation/create", form())
        .await;
    let answer = json!({
        "first": [
            first[0]["content"]["name"],
            first[1]["content"]["text"],
            first[2]["roots"][0]["uri"],
        ],
        "second": second.unwrap()["content"]["name"],
    });
    Ok(answer.into())
}

async fn greet(call: NativeCall) -> NativeOutcome {
    let whom = call.input()["whom"].clone();
    let who = call
        .request_client("elicit-1", "elicitation/create", form())
        .await;
    let who = who.unwrap()["content"]["name"].clone();
    let text = format!(
        "{} greets {}",
        who.as_str().unwrap(),
        whom.as_str().unwrap()
    );
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    Ok(json!({ "messages": [message] }).into())
}

async fn completions(call: NativeCall, all: &[&str]) -> NativeOutcome {
    let CallInput::Completion { argument, .. } = call.request else {
        panic!("not a completion: {:?}", call.request);
    };
    let values = all
        .iter()
        .filter(|value| value.starts_with(&argument.value));
    Ok(json!({ "values": values.collect::<Vec<_>>() }).into())
}

fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"],
        },
    })
}
