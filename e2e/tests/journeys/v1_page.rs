//! A page of mcp-web 0.1, unchanged: a person opens it and reloads it, and AI clients use it, with
//! our own shapes by default and with its own under `--compat mcp-web`.

use e2e::{Browser, ColorScheme, McpClient, StaticSite, TestBed};
use serde_json::{Value, json};

use crate::{EVERY_WAY, has};

const CONNECTED: &str = "globalThis.app?.isConnected";

/// Opens the page, and takes the token that it made for itself.
async fn open(site: &StaticSite, world: &mut TestBed) -> Browser {
    let browser = Browser::open().await;
    browser.goto(&site.v1_page(world)).await;
    browser.wait_for(CONNECTED).await;
    let token = browser.eval("return app.authToken", json!(null)).await;
    world.set_token(token.as_str().unwrap().to_owned());
    browser
}

async fn shows(browser: &Browser, text: &str) {
    let shown = format!(
        "document.querySelector('ul').innerText.includes({})",
        json!(text)
    );
    browser.wait_for(&shown).await;
}

#[tokio::test]
async fn clients_of_each_era_use_its_tools_and_read_its_resources() {
    let (mut world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&site, &mut world).await;
    for (leg, era) in EVERY_WAY {
        let way = format!("{leg:?}, {era:?}");
        let mut client = McpClient::connect(&world, leg, era).await;
        let all = |tools: &[String]| has(tools, "add_item") && has(tools, "list_items");
        client.wait_for_tools("it has the page's", all).await;

        let added = client.call("add_item", json!({ "text": way })).await;
        let added = serde_json::to_value(added.unwrap()).unwrap();
        assert!(added["structuredContent"]["count"].is_number(), "{added}");
        shows(&browser, &way).await;
        let listed = client.call("list_items", json!({})).await.unwrap();
        let listed = serde_json::to_value(listed).unwrap();
        let text = listed["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(r#"["Bread","Milk","#), "{listed}");

        // What its handler throws is a failure. Whatever the arguments are, they are its own to check.
        let failed = client.call("add_item", json!({ "text": "" })).await;
        let failed = serde_json::to_value(failed.unwrap()).unwrap();
        assert_eq!(failed["isError"], true, "{way}: {failed}");
        let why = "Nothing to write";
        assert!(failed.to_string().contains(why), "{way}: {failed}");

        let uris = client.resources().await;
        assert!(has(&uris, "groceries://list"), "{way}: {uris:?}");
        let list = client.read("groceries://list").await;
        assert_eq!(list["contents"][0]["mimeType"], "text/plain", "{way}");
        assert!(list["contents"][0]["text"].as_str().unwrap().contains(&way));
        let bytes = client.read("groceries://bytes").await;
        assert_eq!(bytes["contents"][0]["blob"], "AP8=", "{way}: {bytes}");
    }

    // v1 has no word for removing: the tool stays, and says that it is gone.
    let (leg, era) = EVERY_WAY[0];
    let client = McpClient::connect(&world, leg, era).await;
    client.call("forget_me", json!({})).await.unwrap();
    assert!(has(&client.tools().await, "forget_me"));
    let gone = client.call("forget_me", json!({})).await.unwrap();
    let gone = serde_json::to_value(gone).unwrap();
    assert_eq!(gone["isError"], true);
    assert_eq!(gone["content"][0]["text"], "Tool 'forget_me' not found");
    assert_eq!(browser.console().await, [""; 0], "the console is quiet");
}

#[tokio::test]
async fn it_keeps_working_after_a_reload() {
    let (mut world, site) = (TestBed::bridge().await, StaticSite::start().await);
    let browser = open(&site, &mut world).await;
    let (leg, era) = EVERY_WAY[0];
    let mut client = McpClient::connect(&world, leg, era).await;
    let ready = |tools: &[String]| has(tools, "list_items");
    client.wait_for_tools("the page is there", ready).await;
    let session = browser.eval("return app.sessionId", json!(null)).await;

    // Many movements, and the page is still called at once.
    let type_in = "for (let n = 0; n < 5000; n++) {
            document.dispatchEvent(new MouseEvent('mousemove', { bubbles: true }));
        }
        document.querySelector('input').value = 'Apples';
        document.querySelector('button').click();";
    browser.eval(type_in, json!(null)).await;
    shows(&browser, "Apples").await;
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
    assert_eq!(token, world.token(), "and the token stays");
    client
        .call("add_item", json!({ "text": "Tea" }))
        .await
        .unwrap();
    shows(&browser, "Tea").await;
    browser.emulate(ColorScheme::Light, 800, 600).await;
    browser.screenshot("v1-page").await;

    // The bridge goes away and comes back, and so does the page: it tries again every 5 s.
    world.stop().await;
    browser.wait_for("!app.isConnected").await;
    world.restart().await;
    browser.wait_for(CONNECTED).await;
    let mut client = McpClient::connect(&world, leg, era).await;
    client.wait_for_tools("the page is back again", ready).await;
    client
        .call("add_item", json!({ "text": "Cake" }))
        .await
        .unwrap();
    shows(&browser, "Cake").await;
}

#[tokio::test]
async fn with_compat_a_client_of_plain_http_sees_what_it_always_saw() {
    let mut world = TestBed::bridge_with(&["--compat", "mcp-web"]).await;
    let site = StaticSite::start().await;
    let browser = open(&site, &mut world).await;
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
    let exactly = json!({ "content": [{ "type": "text", "text": "{\n  \"count\": 3\n}" }] });
    assert_eq!(added["result"], exactly);
    shows(&browser, "Coffee").await;
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
    assert_eq!(browser.console().await, [""; 0], "the console is quiet");
}

/// One request as a client of mcp-web 0.1 sends it: no `initialize`, any `Accept`.
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
