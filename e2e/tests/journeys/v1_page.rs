//! A page of mcp-web 0.1, unchanged: a user opens and reloads it, and AI clients use it, with the
//! bridge's own formats by default and those of mcp-web 0.1 with `--compat mcp-web`.

use e2e::{Browser, ColorScheme, McpClient, StaticSite, TestBed};
use serde_json::{Value, json};

use crate::{PageToken, TRANSPORTS_AND_ERAS, has, open_with_page_token};

const CONNECTED: &str = "globalThis.app?.isConnected";

/// Opens the page, and sets the token to the one that it generated.
async fn open(site: &StaticSite, bed: &mut TestBed) -> Browser {
    let browser = Browser::open().await;
    let page = PageToken {
        connected: CONNECTED,
        token: "app.authToken",
    };
    let url = site.v1_page(bed);
    open_with_page_token(&browser, &url, bed, page).await;
    browser
}

async fn wait_for_text(browser: &Browser, text: &str) {
    let is_visible = format!(
        "document.querySelector('ul').innerText.includes({})",
        json!(text)
    );
    browser.wait_for(&is_visible).await;
}

#[tokio::test]
async fn clients_of_each_era_use_its_tools_and_read_its_resources() {
    let (mut bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&site, &mut bed).await;
    for (transport, era) in TRANSPORTS_AND_ERAS {
        let combination = format!("{transport:?}, {era:?}");
        let mut client = McpClient::connect(&bed, transport, era).await;
        let all = |tools: &[String]| has(tools, "add_item") && has(tools, "list_items");
        client.wait_for_tools("it has the page's", all).await;

        let added = client
            .call("add_item", json!({ "text": combination }))
            .await;
        let added = serde_json::to_value(added.unwrap()).unwrap();
        assert!(added["structuredContent"]["count"].is_number(), "{added}");
        wait_for_text(&browser, &combination).await;
        let listed = client.call("list_items", json!({})).await.unwrap();
        let listed = serde_json::to_value(listed).unwrap();
        let text = listed["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(r#"["Bread","Milk","#), "{listed}");

        // An exception of the handler is a failure. Only the handler checks the arguments.
        let failed = client.call("add_item", json!({ "text": "" })).await;
        let failed = serde_json::to_value(failed.unwrap()).unwrap();
        assert_eq!(failed["isError"], true, "{combination}: {failed}");
        let why = "Nothing to write";
        assert!(failed.to_string().contains(why), "{combination}: {failed}");

        let uris = client.resources().await;
        assert!(has(&uris, "groceries://list"), "{combination}: {uris:?}");
        let list = client.read("groceries://list").await;
        assert_eq!(
            list["contents"][0]["mimeType"], "text/plain",
            "{combination}"
        );
        assert!(
            list["contents"][0]["text"]
                .as_str()
                .unwrap()
                .contains(&combination)
        );
        let bytes = client.read("groceries://bytes").await;
        assert_eq!(
            bytes["contents"][0]["blob"], "AP8=",
            "{combination}: {bytes}"
        );
    }

    // mcp-web 0.1 cannot remove a tool: it stays listed, and its calls fail.
    let (transport, era) = TRANSPORTS_AND_ERAS[0];
    let client = McpClient::connect(&bed, transport, era).await;
    client.call("forget_me", json!({})).await.unwrap();
    assert!(has(&client.tools().await, "forget_me"));
    let gone = client.call("forget_me", json!({})).await.unwrap();
    let gone = serde_json::to_value(gone).unwrap();
    assert_eq!(gone["isError"], true);
    assert_eq!(gone["content"][0]["text"], "Tool 'forget_me' not found");
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}

#[tokio::test]
async fn it_keeps_working_after_a_reload() {
    let (mut bed, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&site, &mut bed).await;
    let (transport, era) = TRANSPORTS_AND_ERAS[0];
    let mut client = McpClient::connect(&bed, transport, era).await;
    let ready = |tools: &[String]| has(tools, "list_items");
    client.wait_for_tools("the page is there", ready).await;
    let session = browser.eval("return app.sessionId", json!(null)).await;

    // The page is called even while it sends many activity events.
    let type_in = "for (let n = 0; n < 5000; n++) {
            document.dispatchEvent(new MouseEvent('mousemove', { bubbles: true }));
        }
        document.querySelector('input').value = 'Apples';
        document.querySelector('button').click();";
    browser.eval(type_in, json!(null)).await;
    wait_for_text(&browser, "Apples").await;
    let listed = client.call("list_items", json!({})).await.unwrap();
    let listed = serde_json::to_value(listed).unwrap();
    assert!(listed.to_string().contains("Apples"), "{listed}");

    let seen = client.changes();
    browser.reload().await;
    browser.wait_for(CONNECTED).await;
    client.wait_for_change(seen).await;
    client.wait_for_tools("the page is back", ready).await;
    let again = browser.eval("return app.sessionId", json!(null)).await;
    assert_ne!(session, again, "each load is a session of its own");
    let token = browser.eval("return app.authToken", json!(null)).await;
    assert_eq!(token, bed.token(), "and the token stays");
    client
        .call("add_item", json!({ "text": "Tea" }))
        .await
        .unwrap();
    wait_for_text(&browser, "Tea").await;
    browser.emulate(ColorScheme::Light, 800, 600).await;
    browser.screenshot("v1-page").await;

    // The page reconnects to a restarted bridge: it tries every 5 s.
    bed.stop().await;
    browser.wait_for("!app.isConnected").await;
    bed.restart().await;
    browser.wait_for(CONNECTED).await;
    let mut client = McpClient::connect(&bed, transport, era).await;
    client.wait_for_tools("the page is back again", ready).await;
    client
        .call("add_item", json!({ "text": "Cake" }))
        .await
        .unwrap();
    wait_for_text(&browser, "Cake").await;
}

#[tokio::test]
async fn with_compat_plain_http_clients_get_the_answers_of_mcp_web_0_1() {
    let mut bed = TestBed::bridge_with(&["--compat", "mcp-web"]).await;
    let site = StaticSite::start().await;
    let browser = open(&site, &mut bed).await;
    let config = browser
        .eval("return app.remoteMcpConfig", json!(null))
        .await;
    let url = config["Groceries"]["url"].as_str().unwrap().to_owned();
    let list = async || rpc(&url, "tools/list", json!({})).await;
    let mut names = tool_names(&list().await);
    while names.len() < 4 {
        names = tool_names(&list().await);
    }
    assert_eq!(
        names,
        ["list_sessions", "add_item", "list_items", "forget_me"]
    );

    let call = async |name: &str, arguments: Value| {
        rpc(
            &url,
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
    };
    let added = call("add_item", json!({ "text": "Coffee" })).await;
    let expected = json!({ "content": [{ "type": "text", "text": "{\n  \"count\": 3\n}" }] });
    assert_eq!(added["result"], expected);
    wait_for_text(&browser, "Coffee").await;
    let failed = call("add_item", json!({ "text": "" })).await;
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    let text = "{\n  \"error\": \"Nothing to write\"\n}";
    assert_eq!(failed["result"]["content"][0]["text"], text);

    let resources = rpc(&url, "resources/list", json!({})).await;
    assert_eq!(
        resources["result"]["resources"][0]["uri"],
        "sessions://list"
    );
    let read = rpc(&url, "resources/read", json!({ "uri": "groceries://list" })).await;
    let contents = json!([{ "uri": "groceries://list", "mimeType": "text/plain",
        "text": "Bread\nMilk\nCoffee" }]);
    assert_eq!(read["result"]["contents"], contents);
    assert_eq!(browser.console().await, [""; 0], "the console is empty");
}

/// Sends a request like a client of mcp-web 0.1: without `initialize`, with any `Accept`.
async fn rpc(url: &str, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    e2e::PlainHttp::post_json(url, &body).await
}

fn tool_names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().into_iter().flatten();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}
