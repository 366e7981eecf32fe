//! The pages of the clients: text, a tool of the page, the client's own tool, approval, a stop
//! and a failure.

use e2e::{BreakMode, ExchangeOutcome, Script, Scripts, Turn};
use serde_json::json;

use super::page::{AguiPage, Client};

const HTTP_AGENT: Client = Client {
    name: "http-agent",
    send: "#ask button",
    stop: "#stop",
};

const COPILOTKIT: Client = Client {
    name: "copilotkit",
    send: "[data-testid=copilot-send-button]",
    stop: "[data-testid=copilot-send-button]",
};

const ASSISTANT_UI: Client = Client {
    name: "assistant-ui",
    send: "#send",
    stop: "#stop",
};

#[tokio::test]
async fn http_agent() {
    uses_the_protocol(HTTP_AGENT).await;
}

#[tokio::test]
async fn copilotkit() {
    uses_the_protocol(COPILOTKIT).await;
}

#[tokio::test]
async fn assistant_ui() {
    uses_the_protocol(ASSISTANT_UI).await;
}

fn scripts() -> Scripts {
    let clear = |answer: &str| {
        Script::new([
            Turn::from_call("clear_notes", json!({})),
            Turn::from_text(answer),
        ])
    };
    Scripts::default()
        .with(
            "text",
            Script::new([greeting("Good "), greeting("Once more: good ")]),
        )
        .with(
            "page-tool",
            Script::new([
                Turn::from_text("I add ")
                    .text("it.")
                    .call("add_note", json!({ "text": "Milk" })),
                Turn::from_text("Milk is on the list."),
            ]),
        )
        .with(
            "client-tool",
            Script::new([
                Turn::from_call("paint_title", json!({ "colour": "teal" }))
                    .call("add_note", json!({ "text": "Paint" })),
                Turn::from_text("Painted and noted."),
            ]),
        )
        .with("allowed", clear("The list is empty."))
        .with("refused", clear("I leave the list as it is."))
        .with(
            "stop",
            Turn::from_text("Once upon ").pause_after(1).text("a time"),
        )
        .with("failure", Turn::from_text("I").broken(1, BreakMode::Cut))
}

fn greeting(beginning: &str) -> Turn {
    Turn::from_text(beginning).text("morning.")
}

async fn uses_the_protocol(client: Client) {
    let page = AguiPage::open(client, scripts()).await;
    answers_with_text(&page).await;
    calls_a_tool_of_the_page(&page).await;
    calls_a_tool_of_the_client(&page).await;
    asks_for_approval(&page).await;
    stops(&page).await;
    shows_a_failure(&page).await;
}

async fn answers_with_text(page: &AguiPage) {
    page.ask("Greet me [[text]]").await;
    page.wait_for_text("Good morning.").await;
    // The next message of the thread: the model reads the earlier ones.
    page.ask("And again").await;
    page.wait_for_model_requests(2).await;
    let request = page.last_model_request();
    assert!(request.contains("Good morning."), "{request}");
    page.screenshot("text").await;
}

async fn calls_a_tool_of_the_page(page: &AguiPage) {
    page.reload().await;
    page.ask("Add milk [[page-tool]]").await;
    page.wait_for_notes(&["Milk"]).await;
    page.wait_for_text("I add it.").await;
    page.wait_for_text("add_note").await;
    page.wait_for_text("Milk is on the list.").await;
    page.screenshot("page-tool").await;
}

/// The model calls a tool of the client and one of the page in one turn.
async fn calls_a_tool_of_the_client(page: &AguiPage) {
    page.reload().await;
    page.ask("Paint it teal [[client-tool]]").await;
    page.wait_for_title_colour("teal").await;
    page.wait_for_notes(&["Paint"]).await;
    page.wait_for_text("Painted and noted.").await;
    let request = page.last_model_request();
    assert!(request.contains("The title is teal."), "{request}");
    page.screenshot("client-tool").await;
}

async fn asks_for_approval(page: &AguiPage) {
    page.reload().await;
    page.add_note("Milk").await;
    page.ask("Clear the list [[refused]]").await;
    page.wait_for_text("Allow the call of clear_notes?").await;
    page.screenshot("approval").await;
    page.press("#refuse").await;
    page.wait_for_text("I leave the list as it is.").await;
    page.wait_for_notes(&["Milk"]).await;
    let request = page.last_model_request();
    assert!(request.contains("did not approve"), "{request}");

    page.reload().await;
    page.add_note("Milk").await;
    page.ask("Clear the list [[allowed]]").await;
    page.wait_for_text("Allow the call of clear_notes?").await;
    page.press("#allow").await;
    page.wait_for_text("The list is empty.").await;
    page.wait_for_notes(&[]).await;
}

async fn stops(page: &AguiPage) {
    page.reload().await;
    let number = page.provider.exchanges().len();
    page.ask("Tell me a story [[stop]]").await;
    page.wait_for_text("Once upon").await;
    page.stop().await;
    let exchange = page.provider.wait_for_end(number).await;
    assert_eq!(exchange.outcome(), Some(ExchangeOutcome::ClosedByClient));
}

async fn shows_a_failure(page: &AguiPage) {
    page.reload().await;
    page.ask("Fail [[failure]]").await;
    page.wait_for_text("retry").await;
    page.screenshot("failure").await;
}
