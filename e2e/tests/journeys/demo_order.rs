//! The demo's order form, which registers no tools: AI clients use it by page tools.

use e2e::{Browser, ColorScheme, Era, Inspector, McpClient, TestBed, Transport};
use serde_json::{Value, json};

use crate::{configured_token, has};

/// Collects the rows that are marked from now on: a mark is removed after some seconds.
const COLLECT_MARKED_ROWS: &str = "
    window.markedRows = new Set();
    new MutationObserver((changes) => {
        for (const { target } of changes) if (target.matches('.is-touched')) markedRows.add(target);
    }).observe(document.body, { subtree: true, attributeFilter: ['class'] });
";

#[tokio::test]
async fn inspector_orders_copies_2025() {
    order_copies(Era::Initialize, ColorScheme::Light, "order-2025").await;
}

#[tokio::test]
async fn inspector_orders_copies_2026() {
    order_copies(Era::Discover, ColorScheme::Dark, "order-2026").await;
}

async fn order_copies(era: Era, scheme: ColorScheme, screenshot: &str) {
    let (bed, browser) = open_order_form().await;
    browser.emulate(scheme, 1400, 1000).await;
    let inspector = Inspector::new(&bed, Transport::Http, era);
    let tools = inspector.tools().await;
    assert!(
        has(&tools, "interact") && has(&tools, "page_snapshot"),
        "{tools:?}"
    );

    browser.eval(COLLECT_MARKED_ROWS, json!(null)).await;
    let result = interact(
        &inspector,
        json!([
            { "type": "setValue", "find": { "name": "Issue" }, "value": "spring" },
            { "type": "setValue", "find": { "name": "Copies" }, "value": "3" },
            click("radio", "Linen, 4.00 € a copy"),
            { "type": "setValue", "find": { "name": "It is a gift, 2.50 €" }, "value": true },
            { "type": "setValue", "find": { "name": "Words on the card" }, "value": "For long evenings" },
            { "type": "setValue", "find": { "name": "Name" }, "value": "Ada Lovelace" },
            { "type": "setValue", "find": { "name": "Street and number" }, "value": "St James's Square 12" },
            { "type": "setValue", "find": { "name": "Town" }, "value": "London" },
            { "type": "setValue", "find": { "name": "Voucher" }, "value": "leaf10" },
            click("button", "Check the voucher"),
            { "type": "waitFor", "text": "Takes 10 % off." },
            click("radio", "Direct debit"),
            click("radio", "Invoice"),
            click("button", "Send the order"),
        ]),
    )
    .await;
    assert_ok(&result);
    let text = page_of(&result);
    assert!(
        text.contains("A postal code has 3 to 10 letters and digits"),
        "{text}"
    );
    assert!(
        text.contains("The order was not sent: one field is not right yet."),
        "{text}"
    );
    let marked = browser.eval("return markedRows.size", json!(null)).await;
    assert!(marked.as_u64().unwrap() >= 10, "{marked} rows were marked");
    browser.screenshot(screenshot).await;

    let result = interact(
        &inspector,
        json!([
            { "type": "setValue", "find": { "name": "Postal code" }, "value": "SW1Y 4JH" },
            click("button", "Send the order"),
        ]),
    )
    .await;
    assert_ok(&result);
    // 3 × 12.00 €, linen 12.00 € and the gift 2.50 € less 10 %, and postage of 3.90 €.
    let sent = "Order 1 of 49.35 € goes to Ada Lovelace, London.";
    assert!(page_of(&result).contains(sent), "{}", page_of(&result));
}

/// The date is refused because of its format. The order must not go out without it.
#[tokio::test]
async fn no_order_is_sent_after_a_value_that_was_refused() {
    let (bed, _browser) = open_order_form().await;
    let inspector = Inspector::new(&bed, Transport::Http, Era::Discover);
    let set = |name: &str, value: &str| json!({ "type": "setValue", "find": { "name": name }, "value": value });
    let with_date = |date: &str| {
        json!([
            set("Issue", "spring"),
            set("Copies", "3"),
            set("Name", "Ada Lovelace"),
            set("Street and number", "St James's Square 12"),
            set("Postal code", "SW1Y 4JH"),
            set("Town", "London"),
            set("Not before", date),
            click("button", "Send the order"),
        ])
    };
    let result = interact(&inspector, with_date("2 March 2027")).await;
    let text = page_of(&result);
    assert_eq!(result["isError"], true, "{text}");
    let facts = &result["_meta"]["mcp-web/page"];
    assert_eq!(facts["log"][6]["code"], "ValueRefused", "{text}");
    assert_eq!(facts["skipped"], 1, "{text}");
    let stopped = "stopped because action 7 failed, 1 action skipped: nothing after it was done; \
        look at the page, then call again with the rest";
    assert!(text.contains(stopped), "{text}");
    assert!(!text.contains("goes to Ada Lovelace"), "{text}");

    let rest = json!([
        set("Not before", "2027-03-02"),
        click("button", "Send the order")
    ]);
    let result = interact(&inspector, rest).await;
    assert_ok(&result);
    let text = page_of(&result);
    assert!(text.contains("Order 1 of "), "{text}");
}

#[tokio::test]
async fn the_bank_account_is_for_the_person_only() {
    let (bed, browser) = open_order_form().await;
    let inspector = Inspector::new(&bed, Transport::Http, Era::Discover);
    let result = interact(
        &inspector,
        json!([
            click("radio", "Direct debit"),
            { "type": "setValue", "find": { "name": "IBAN, which AI clients do not see" }, "value": "x" },
        ]),
    )
    .await;
    let log = &result["_meta"]["mcp-web/page"]["log"];
    assert_eq!(log[0]["ok"], true, "{log}");
    assert_eq!(log[1]["code"], "TargetNotFound", "{log}");
    browser
        .wait_for("!document.querySelector('#iban-row').hidden")
        .await;
    let text = page_of(&result);
    assert!(text.contains("- private\n"), "{text}");
    assert!(!text.contains("textbox \"IBAN"), "{text}");
}

#[tokio::test]
async fn the_panel_switches_page_tools_off_and_on() {
    let (bed, browser) = open_order_form().await;
    let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let has_tools = |tools: &[String]| has(tools, "interact") && has(tools, "navigate");
    client.wait_for_tools("page tools are on", has_tools).await;
    let switch = "document.querySelector('[data-tool-switch]').click()";
    browser.eval(switch, json!(null)).await;
    client
        .wait_for_tools("page tools are off", |tools| !has(tools, "interact"))
        .await;
    browser.eval(switch, json!(null)).await;
    client.wait_for_tools("page tools are on", has_tools).await;
}

async fn open_order_form() -> (TestBed, Browser) {
    let mut bed = TestBed::demo().await;
    let browser = Browser::open().await;
    browser.goto(&format!("{}/demo/order", bed.url())).await;
    browser
        .wait_for("window.mcpWeb?.status.state === 'connected' && mcpWeb.hasTool('interact')")
        .await;
    let config = browser.eval(
        "const { mcpServers } = await mcpWeb.remoteMcpConfig; return Object.values(mcpServers)[0]",
        json!(null),
    );
    bed.set_token(configured_token(&config.await));
    (bed, browser)
}

fn click(role: &str, name: &str) -> Value {
    json!({ "type": "triggerEvent", "find": { "role": role, "name": name }, "event": "onClick" })
}

async fn interact(inspector: &Inspector, actions: Value) -> Value {
    let arguments = json!({ "actions": actions, "view": "page" });
    inspector.call("interact", &arguments).await
}

fn assert_ok(result: &Value) {
    assert_ne!(result["isError"], true, "{result}");
    let log = result["_meta"]["mcp-web/page"]["log"].as_array();
    let log = log.unwrap_or_else(|| panic!("{result}"));
    assert!(log.iter().all(|entry| entry["ok"] == true), "{result}");
}

/// The text of the page in a result.
fn page_of(result: &Value) -> String {
    let content = result["content"].as_array().unwrap();
    let texts = content.iter().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}
