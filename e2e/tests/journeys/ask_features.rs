//! Features of an agent beyond one answer in text: a form that is filled in while the model
//! writes, conversations, pictures, answers that fit a schema, and approval.

use e2e::{
    AgentEndpoint, AgentService, Browser, ColorScheme, Exchange, FolderSite, Format, MockProvider,
    NodeProject, Script, Scripts, TestBed, Turn,
};
use serde_json::{Value, json};

/// A bridge with an agent, and the site of the app.
pub(crate) struct AskBed {
    pub(crate) bridge: TestBed,
    agent: AgentService,
    provider: MockProvider,
    site: FolderSite,
    endpoint: AgentEndpoint,
    _project: NodeProject,
}

impl AskBed {
    pub(crate) async fn start(scripts: impl Into<Scripts>, arguments: &[&str]) -> Self {
        let provider = MockProvider::start(scripts.into()).await;
        let endpoint = AgentEndpoint::reserve();
        let bridge = endpoint.start_bridge(&[]).await;
        let agent =
            AgentService::start(&endpoint, &bridge, &provider, Format::OpenAi, arguments).await;
        let project = NodeProject::copy_of("ask-app");
        project.bundle_with_sdk().await;
        let site = FolderSite::start(project.path().to_owned()).await;
        Self {
            bridge,
            agent,
            provider,
            site,
            endpoint,
            _project: project,
        }
    }

    /// Opens the app, with the token of a user.
    pub(crate) async fn open(&self, app: &str, token: &str) -> Browser {
        let browser = Browser::open().await;
        let (site, bridge) = (self.site.url(), self.bridge.url());
        let url = format!("{site}?bridge={bridge}&token={token}&app={app}");
        browser.goto(&url).await;
        browser
            .wait_for("window.app?.mcpWeb.status.state === 'connected'")
            .await;
        browser
    }

    fn body(&self, exchange: usize) -> Value {
        let exchanges: Vec<Exchange> = self.provider.exchanges();
        exchanges[exchange].body.clone()
    }
}

/// Evaluates an expression in the page, and returns its value.
pub(crate) async fn evaluate(browser: &Browser, script: &str) -> Value {
    browser.eval(&format!("return {script}"), json!(null)).await
}

#[tokio::test]
async fn a_form_is_filled_in_while_the_arguments_are_written() {
    let wishes = "A quiet table at the window, and a cake with six candles after the meal.";
    let arguments = json!({ "name": "Ada", "guests": 4, "wishes": wishes });
    // In the middle of the wishes.
    let script = Script::new([Turn::from_call("fill_form", arguments).pause_after(3)]);
    let bed = AskBed::start(script, &[]).await;
    let browser = bed.open("Booking", bed.bridge.token()).await;
    evaluate(&browser, "void (app.done = app.fillIn())").await;
    browser.wait_for("form.wishes.value.length > 10").await;
    browser.emulate(ColorScheme::Light, 800, 700).await;
    browser.screenshot("ask-form-half-filled").await;
    let form = "[form.name.value, form.guests.value, form.wishes.value]";
    let half = evaluate(&browser, form).await;
    assert_eq!((&half[0], &half[1]), (&json!("Ada"), &json!("4")));
    let written = half[2].as_str().unwrap();
    assert!(
        wishes.starts_with(written) && written != wishes,
        "{written}"
    );

    bed.provider.resume_one();
    let result = evaluate(&browser, "app.done").await;
    assert_eq!(evaluate(&browser, form).await, json!(["Ada", "4", wishes]));
    assert_eq!(result["response"]["arguments"]["guests"], 4);
    assert!(
        result["usage"]["models"]["mock"]["input"].as_u64() > Some(0),
        "{result}"
    );
}

#[tokio::test]
async fn a_picture_that_a_tool_draws_reaches_the_provider() {
    let script = Script::new([
        Turn::from_call("draw_tables", json!({})),
        Turn::from_text("Two are free."),
    ]);
    let bed = AskBed::start(script, &["--pictures", "on"]).await;
    let browser = bed.open("Booking", bed.bridge.token()).await;
    let result = evaluate(
        &browser,
        "app.ask({ prompt: 'Which tables are free?', attachments: [new File(['hi'], 'a.txt', { type: 'text/plain' })] })",
    )
    .await;
    assert_eq!(result["text"], "Two are free.");
    let body = bed.body(1);
    let parts = body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let url = parts[1]["image_url"]["url"].as_str().unwrap();
    // The SDK has scaled it down for the agent.
    let scaled = format!(
        "fetch('{url}').then((it) => it.blob()).then(createImageBitmap).then(({{ width, height }}) => [width, height])"
    );
    assert_eq!(evaluate(&browser, &scaled).await, json!([1568, 784]));
    let asked = bed.body(0)["messages"].to_string();
    for part in ["Booking", "Books tables of a restaurant", "a.txt", "It is "] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
}

#[tokio::test]
async fn an_answer_fits_a_schema_of_zod() {
    let arguments = json!({ "number": 7, "name": "window" });
    let script = Script::new([Turn::from_call("answer", arguments)]);
    let bed = AskBed::start(script, &[]).await;
    let browser = bed.open("Booking", bed.bridge.token()).await;
    let result = evaluate(&browser, "app.table()").await;
    let expected = json!({ "number": 7, "name": "WINDOW", "note": "none" });
    assert_eq!(result["value"], expected, "{result}");
    let tools = bed.body(0)["tools"].clone();
    let mut functions = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["function"]);
    let answer = functions.find(|tool| tool["name"] == "answer").unwrap();
    assert_eq!(answer["parameters"]["required"], json!(["number", "name"]));
}

#[tokio::test]
async fn calls_wait_for_the_user_also_over_a_reload() {
    let script = Script::new([
        Turn::from_call("book", json!({ "guests": 4 })),
        Turn::from_call("book", json!({ "guests": 5 })),
        Turn::from_text("Booked."),
    ]);
    let bed = AskBed::start(script, &[]).await;
    let browser = bed.open("Booking", bed.bridge.token()).await;
    evaluate(&browser, "void app.book()").await;
    browser.wait_for("app.requests.length === 1").await;
    let denied = "app.requests[0].answer(false), app.requests[0].arguments.guests";
    assert_eq!(evaluate(&browser, denied).await, 4);
    browser.wait_for("app.requests.length === 2").await;
    assert_eq!(evaluate(&browser, "app.booked").await, json!([]));
    // The next document gets the request, and its person answers it.
    evaluate(&browser, "void location.reload()").await;
    browser
        .wait_for("window.app?.mcpWeb.openQueries.length === 1")
        .await;
    let attach = "void (app.attached = (async () => {
        const query = app.mcpWeb.attachQuery(app.mcpWeb.openQueries[0]);
        const tools = [];
        for await (const event of query) {
            if (event.type === 'approval-requested') {
                // The bridge also reports the request that was denied before.
                app.button ??= document.body.appendChild(document.createElement('button'));
                Object.assign(app.button, { textContent: 'Book it', onclick: () => query.approve(event.id) });
            }
            if (event.type === 'tool-finished') tools.push(event.outcome ?? 'ok');
        }
        return [tools, (await query.result).text, app.booked];
    })())";
    evaluate(&browser, attach).await;
    browser.press_button("Book it").await;
    let result = evaluate(&browser, "app.attached").await;
    assert_eq!(result, json!([["denied", "ok"], "Booked.", [5]]));
}

#[tokio::test]
async fn a_second_question_knows_the_first_and_none_of_other_users() {
    let script = Script::new([
        Turn::from_text("Table seven.").usage(30, 5),
        Turn::from_text("Six people."),
        Turn::from_text("Others."),
    ]);
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("conversations.db").display().to_string();
    let arguments = [
        "--conversations-file",
        &path,
        "--max-conversation-queries",
        "2",
    ];
    let mut bed = AskBed::start(script, &arguments).await;
    let ada = bed.open("Booking", bed.bridge.token()).await;
    assert_eq!(
        evaluate(&ada, "app.say('c', 'Which table is free?')").await["text"],
        "Table seven."
    );
    evaluate(&ada, "app.say('c', 'How many people fit there?')").await;
    let second = bed.body(1)["messages"].to_string();
    assert!(
        second.contains("Which table is free?") && second.contains("Table seven."),
        "{second}"
    );

    // Another app of the same user, then another user of the same app.
    let token = bed.bridge.token().to_owned();
    let bob = "the-token-of-bob-0123456789abcdef";
    for (app, token) in [("Mail", token.as_str()), ("Booking", bob)] {
        let other = bed.open(app, token).await;
        assert_eq!(evaluate(&other, "app.list()").await, json!([]));
        assert_eq!(evaluate(&other, "app.history('c')").await, json!([]));
        evaluate(&other, "app.clear('c')").await;
        evaluate(&other, "app.say('c', 'What was said?')").await;
        let asked = bed.provider.exchanges().last().unwrap().body.to_string();
        assert!(
            !asked.contains("Which table") && !asked.contains("Table seven"),
            "{asked}"
        );
    }

    // The agent is started again, with the same file.
    bed.agent.crash().await;
    let (endpoint, bridge) = (&bed.endpoint, &bed.bridge);
    bed.agent =
        AgentService::start(endpoint, bridge, &bed.provider, Format::OpenAi, &arguments).await;
    let history = evaluate(&ada, "app.history('c')").await;
    let expected = json!([
        { "role": "user", "text": "Which table is free?" },
        { "role": "assistant", "text": "Table seven.", "toolCalls": [] },
        { "role": "user", "text": "How many people fit there?" },
        { "role": "assistant", "text": "Six people.", "toolCalls": [] },
    ]);
    assert_eq!(history, expected);
    evaluate(&ada, "app.say('c', 'And outside?')").await;
    let list = evaluate(&ada, "app.list()").await;
    assert_eq!(
        (&list[0]["id"], &list[0]["queries"]),
        (&json!("c"), &json!(2)),
        "{list}"
    );
    let history = evaluate(&ada, "app.history('c')").await;
    assert_eq!(
        history[0]["text"], "How many people fit there?",
        "the limit is 2 queries"
    );
    evaluate(&ada, "app.clear('c')").await;
    assert_eq!(evaluate(&ada, "app.list()").await, json!([]));
    let bob = bed.open("Booking", bob).await;
    assert_eq!(evaluate(&bob, "app.list()").await[0]["queries"], 1);
}
