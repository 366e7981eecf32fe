//! "Ask AI" in the demo: a user presses a button, a model answers with the tools of the page, and
//! the board changes. The model is a mock, in the formats of four providers.

mod demo;
mod local_model;

pub(crate) use demo::wait_for_state;

use e2e::{
    BreakMode, ColorScheme, ExchangeOutcome, Format, MockProvider, PlainHttp, Script, TestBed, Turn,
};
use serde_json::json;

use self::demo::Demo;
use crate::demo_page::open_demo;

/// Calls two tools in parallel, and then the response tool of the page.
fn plan_script() -> Script {
    Script::new([
        Turn::from_text("I look at ")
            .text("the board first.")
            .call("list_cards", json!({}))
            .call("summarise_board", json!({})),
        Turn::from_text("The recipe pages are late.").call(
            "arrange_day",
            json!({ "today": ["c6", "c3", "c5"], "reason": "Late first, then the paper." }),
        ),
    ])
}

const PLANNED: [&str; 3] = [
    "Proofread the recipe pages",
    "Order 120 g uncoated stock",
    "Redraw the harbour map",
];

#[tokio::test]
async fn a_day_is_planned_with_anthropic() {
    plans_the_day(Format::Anthropic).await;
}

#[tokio::test]
async fn a_day_is_planned_with_openai() {
    plans_the_day(Format::OpenAi).await;
}

#[tokio::test]
async fn a_day_is_planned_with_gemini() {
    plans_the_day(Format::Gemini).await;
}

#[tokio::test]
async fn a_day_is_planned_with_the_responses_of_openai() {
    plans_the_day(Format::OpenAiResponses).await;
}

async fn plans_the_day(format: Format) {
    let demo = Demo::open(format, plan_script()).await;
    let model = "document.getElementById('ask-model').textContent.includes('the-played-one')";
    demo.browser.wait_for(model).await;

    demo.press("Plan my day").await;
    demo.wait_for_state("complete").await;

    assert_eq!(demo.cards("doing").await, json!(PLANNED));
    let calls = [
        "list_cards done",
        "summarise_board done",
        "arrange_day done",
    ];
    assert_eq!(demo.calls().await, json!(calls));
    demo.wait_for_text("Late first, then the paper.").await;
    assert!(demo.browser.text().await.contains("Moved by Ask AI"));
    assert_event_order(&demo.query_messages().await);
    let exchanges = demo.provider.exchanges();
    assert_eq!(exchanges.len(), 2, "one request for each round");
    let body = exchanges[1].body.to_string();
    let position = |text: &str| {
        body.find(text)
            .unwrap_or_else(|| panic!("{text} in {body}"))
    };
    assert!(
        position("Agree the price with the printer") < position("nextDue"),
        "results are in the order of the calls: {body}"
    );
    demo.browser.emulate(ColorScheme::Light, 1280, 900).await;
    let name = format!("ask-plan-{}", format.name());
    demo.browser.screenshot(&name).await;
    demo.assert_no_errors().await;
}

/// Checks that the query is accepted first, that text precedes the tools of its turn, that parallel
/// tools start before they finish, and that there is one final event.
fn assert_event_order(messages: &[String]) {
    let mut kinds: Vec<&str> = messages.iter().map(String::as_str).collect();
    assert!(
        kinds.contains(&"tool-arguments") && kinds.contains(&"usage"),
        "{messages:?}"
    );
    // These may come anywhere before the tool starts, and after a turn.
    kinds.retain(|kind| !["tool-arguments", "usage"].contains(kind));
    kinds.dedup();
    let expected = [
        "query_accepted",
        "text",
        "tool-started",
        "tool-finished",
        "text",
        "tool-started",
    ];
    assert_eq!(kinds[..6], expected, "{messages:?}");
    let ends = |kind: &&str| ["query_complete", "query_failure", "query_cancel"].contains(kind);
    assert_eq!(kinds.last(), Some(&"query_complete"), "{messages:?}");
    assert_eq!(
        kinds.iter().filter(|kind| ends(kind)).count(),
        1,
        "{messages:?}"
    );
}

#[tokio::test]
async fn a_summary_is_text_and_changes_nothing() {
    let script = Script::new([
        Turn::from_call("add_card", json!({ "title": "Not asked for" })),
        Turn::from_text("Two cards are under way, ").text("one of them is late."),
    ]);
    let demo = Demo::open(Format::Anthropic, script).await;

    demo.press("Summarise the board").await;
    demo.wait_for_state("complete").await;

    demo.wait_for_text("Two cards are under way, one of them is late.")
        .await;
    assert_eq!(demo.calls().await, json!(["add_card failed"]));
    assert!(!demo.browser.text().await.contains("Not asked for"));
    let body = demo.provider.wait_for_request(0).await.body.to_string();
    assert!(
        body.contains("Redraw the harbour map"),
        "the request contains the board: {body}"
    );
    for (name, scheme, width, height) in [
        ("ask-summary-dark", ColorScheme::Dark, 1280, 900),
        ("ask-summary-phone", ColorScheme::Light, 390, 844),
    ] {
        demo.browser.emulate(scheme, width, height).await;
        let has_no_overflow = "document.documentElement.scrollWidth <= innerWidth";
        demo.browser.wait_for(has_no_overflow).await;
        demo.browser.screenshot(name).await;
    }
    demo.assert_no_errors().await;
}

#[tokio::test]
async fn a_failure_is_explained_and_can_be_retried() {
    let broken = Turn::from_text("All is ")
        .text("well.")
        .broken(1, BreakMode::Error);
    let demo = Demo::open(Format::Anthropic, broken).await;

    demo.press("Summarise the board").await;
    demo.wait_for_state("failed").await;
    demo.wait_for_text("All is").await;
    demo.wait_for_text("The answer broke off.").await;
    demo.wait_for_text("ModelStreamBroken").await;
    demo.browser.emulate(ColorScheme::Light, 1280, 900).await;
    demo.browser.screenshot("ask-failed").await;

    let requests = demo.provider.exchanges().len();
    demo.press("Try again").await;
    demo.wait_for_state("failed").await;
    assert!(demo.provider.exchanges().len() > requests, "asked again");
    demo.assert_no_errors().await;
}

#[tokio::test]
async fn a_rejected_key_is_reported_but_not_shown() {
    let demo = Demo::open(Format::OpenAi, Turn::rejected(401)).await;
    demo.press("Summarise the board").await;
    demo.wait_for_state("failed").await;
    demo.wait_for_text("The model’s provider does not accept the key. Check the key that the demo")
        .await;
    demo.wait_for_text("ModelUnauthorized").await;
    assert!(!demo.conversation().await.contains(MockProvider::KEY));
    demo.assert_no_errors().await;
}

#[tokio::test]
async fn cancelling_stops_events_and_the_provider_request() {
    let script = Script::new([Turn::from_text("I begin ")
        .pause_after(1)
        .text("and would go on.")
        .call("add_card", json!({ "title": "Too late" }))]);
    let demo = Demo::open(Format::Anthropic, script).await;

    demo.press("Plan my day").await;
    demo.wait_for_text("I begin").await;
    demo.press("Stop").await;

    demo.wait_for_state("cancelled").await;
    let exchange = demo.provider.wait_for_end(0).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
    let messages = demo.query_messages().await;
    assert!(
        !messages.iter().any(|kind| kind == "query_cancel"),
        "{messages:?}"
    );
    assert!(!demo.browser.text().await.contains("Too late"));
    let open = demo.browser.eval("return mcpWeb.openQueries", json!(null));
    assert_eq!(open.await, json!([]));
    demo.assert_no_errors().await;
}

#[tokio::test]
async fn a_reloaded_page_resumes_its_query() {
    let script = Script::new([
        Turn::from_text("I look first.").call("list_cards", json!({})),
        Turn::from_text("Well, ").pause_after(1).text("then.").call(
            "arrange_day",
            json!({ "today": ["c6", "c3", "c5"], "reason": "Late first, then the paper." }),
        ),
    ]);
    let demo = Demo::open(Format::Gemini, script).await;

    demo.press("Plan my day").await;
    demo.wait_for_text("Well,").await;
    demo.browser.reload().await;
    demo.wait_for_text("Plan my day").await;
    demo.wait_for_text("I look first.").await;
    demo.wait_for_state("running").await;
    demo.browser.emulate(ColorScheme::Light, 1280, 900).await;
    demo.browser.screenshot("ask-running").await;
    demo.provider.resume_one();

    demo.wait_for_state("complete").await;
    assert_eq!(demo.cards("doing").await, json!(PLANNED));
    assert_eq!(
        demo.calls().await,
        json!(["list_cards done", "arrange_day done"])
    );
    let messages = demo.query_messages().await;
    assert_eq!(messages.first().map(String::as_str), Some("query_accepted"));
    assert_eq!(messages.last().map(String::as_str), Some("query_complete"));
    demo.assert_no_errors().await;
}

#[tokio::test]
async fn a_destructive_call_is_made_only_if_the_person_allows_it() {
    let remove = |card: &str| {
        Turn::from_text("I take it off the board.").call("remove_card", json!({ "id": card }))
    };
    let script = Script::new([
        remove("c7"),
        Turn::from_text("It stays, then."),
        remove("c8"),
        Turn::from_text("It is gone."),
    ]);
    let arguments = ["--agent-ask=destructive"];
    let demo = Demo::open_with(Format::Anthropic, script, &arguments).await;
    let done = demo.cards("done").await;
    assert_eq!(done.as_array().map(Vec::len), Some(2));

    demo.ask("Remove what is printed").await;
    demo.wait_for_text("May the AI use remove_card?").await;
    for (name, scheme, width, height) in [
        ("ask-approval", ColorScheme::Light, 1280, 900),
        ("ask-approval-phone", ColorScheme::Dark, 390, 844),
    ] {
        demo.browser.emulate(scheme, width, height).await;
        demo.browser.screenshot(name).await;
    }
    demo.press("Do not allow").await;
    demo.wait_for_text("It stays, then.").await;
    assert_eq!(demo.calls().await, json!(["remove_card cancelled"]));
    assert_eq!(demo.cards("done").await, done);

    demo.ask("Remove it nevertheless").await;
    demo.press("Allow").await;
    demo.wait_for_text("It is gone.").await;
    assert_eq!(demo.calls().await, json!(["remove_card done"]));
    assert_eq!(demo.cards("done").await, json!([done[0]]));
    demo.assert_no_errors().await;
}

#[tokio::test]
async fn without_a_language_model_the_page_writes_the_commands_itself() {
    let mut bed = TestBed::demo().await;
    let browser = open_demo(&mut bed).await;
    browser
        .wait_for(
            "document.getElementById('ask-model').textContent.startsWith('No language model')",
        )
        .await;
    browser.press_button("Plan my day").await;
    demo::wait_for_state(&browser, "complete").await;
    let text = "document.querySelector('mcp-web-ask').shadowRoot.textContent";
    let text = browser.wait_for(text).await;
    let text = text.as_str().unwrap();
    assert!(text.contains("/arrange_day {\"today\":[\"c6\","), "{text}");
    assert!(text.contains("this page wrote the lines itself"), "{text}");
    let script = PlainHttp::new(&bed);
    let cards = script.call("list_cards", json!({ "column": "doing" }));
    let cards = cards.await.unwrap();
    assert!(
        cards.to_string().contains("Order 120 g uncoated stock"),
        "{cards}"
    );
    browser.emulate(ColorScheme::Light, 1280, 900).await;
    browser.screenshot("ask-lines").await;
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}
