//! Clients of mcp-web 0.1, unchanged, with `--compat mcp-web`: its stdio client, and MCP clients
//! that are configured with the URL of its bridge.

use e2e::{
    Browser, Era, Inspector, McpClient, NodeProject, StaticSite, TestBed, Transport, V1Client,
};
use raw_page::V1Page;
use serde_json::{Value, json};

use crate::{PageToken, open_with_page_token};

const CONNECTED: &str = "globalThis.app?.isConnected";

const ITS_TOOLS: [&str; 4] = ["list_sessions", "add_item", "list_items", "forget_me"];

async fn compat() -> TestBed {
    TestBed::bridge_with(&["--compat", "mcp-web"]).await
}

/// Returns the JSON in the first text block of a result.
fn text_json(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("no text in {result}"))).unwrap()
}

/// Opens a page of mcp-web 0.1 with the tool `echo`, and serves it.
async fn open_page(bed: &TestBed) {
    let mut page = V1Page::connect_to(bed.address(), "one-page", bed.token()).await;
    let tool = json!({ "name": "echo", "description": "Says it again", "inputSchema": {
        "type": "object", "properties": { "id": { "type": "number" } } } });
    page.register_tool(tool).await;
    tokio::spawn(page.echo_calls());
}

#[tokio::test]
async fn the_stdio_client_works_with_one_tab_and_with_two() {
    let (mut bed, site) = (compat().await, StaticSite::start().await);
    let browser = Browser::open().await;
    let page = PageToken {
        connected: CONNECTED,
        token: "app.authToken",
    };
    let url = site.v1_page(&bed);
    open_with_page_token(&browser, &url, &mut bed, page).await;
    let mut client = V1Client::new(&bed);
    let all = |names: &[&str]| names == ITS_TOOLS;
    let listed = client.wait_for_tools("it has the page's tools", all).await;
    let schema = &listed["tools"][1]["inputSchema"];
    let keys: Vec<_> = schema.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["type", "properties", "required"]);
    let properties: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(properties, ["session_id", "text"]);
    assert_eq!(schema["required"], json!(["text"]));

    // Several requests at the same time, with the same id.
    for text in ["Apples", "Tea", "Cake"] {
        let params = json!({ "name": "add_item", "arguments": { "text": text } });
        client.send("tools/call", params).await;
    }
    let mut counts = Vec::new();
    for _ in 0..3 {
        let answer = client.recv().await;
        assert!(answer["result"].get("isError").is_none(), "{answer}");
        counts.push(text_json(&answer["result"])["count"].as_u64().unwrap());
    }
    counts.sort_unstable();
    assert_eq!(counts, [3, 4, 5]);
    let items = client.call("list_items", json!({})).await;
    assert_eq!(text_json(&items).as_array().unwrap().len(), 5, "{items}");
    let failed = client.call("add_item", json!({ "text": "" })).await;
    assert_eq!(text_json(&failed), json!({ "error": "Nothing to write" }));
    assert_eq!(failed["isError"], true);

    let resources = client.request("resources/list", json!({})).await;
    let uris = resources["resources"].as_array().unwrap().iter();
    let uris: Vec<_> = uris.map(|it| it["uri"].as_str().unwrap()).collect();
    assert_eq!(
        uris,
        ["sessions://list", "groceries://list", "groceries://bytes"]
    );
    let read = client
        .request("resources/read", json!({ "uri": "groceries://bytes" }))
        .await;
    assert_eq!(read["contents"][0]["blob"], "AP8=", "{read}");

    // With a second tab, each call must name the session.
    let first = browser.eval("return app.sessionId", json!(null)).await;
    browser.open_tab().await;
    browser.goto(&site.v1_page(&bed)).await;
    browser.wait_for(CONNECTED).await;
    let second = browser.eval("return app.sessionId", json!(null)).await;
    let sessions = async |client: &mut V1Client| {
        let sessions = client.call("list_sessions", json!({})).await;
        text_json(&sessions)["sessions"].take()
    };
    let mut listed_sessions = sessions(&mut client).await;
    while listed_sessions[1]["available_tools"]
        .as_array()
        .map(Vec::len)
        != Some(3)
    {
        listed_sessions = sessions(&mut client).await;
    }
    assert_eq!(
        [
            &listed_sessions[0]["session_id"],
            &listed_sessions[1]["session_id"]
        ],
        [&first, &second]
    );
    let listed = client.request("tools/list", json!({})).await;
    let required = &listed["tools"][1]["inputSchema"]["required"];
    assert_eq!(*required, json!(["session_id", "text"]));
    assert_eq!(listed["_meta"]["available_sessions"], listed_sessions);
    let unspecified = client.call("list_items", json!({})).await;
    assert_eq!(text_json(&unspecified)["error"], "SessionNotSpecified");
    let named = json!({ "text": "Only here", "session_id": second });
    client.call("add_item", named).await;
    let is_added = "document.querySelector('ul').innerText.includes('Only here')";
    browser.wait_for(is_added).await;

    // A reload creates a new session, and the client continues with it.
    browser.reload().await;
    browser.wait_for(CONNECTED).await;
    let reloaded = browser.eval("return app.sessionId", json!(null)).await;
    let mut listed_sessions = sessions(&mut client).await;
    while listed_sessions[1]["session_id"] != reloaded
        || listed_sessions[1]["available_tools"]
            .as_array()
            .map(Vec::len)
            != Some(3)
    {
        listed_sessions = sessions(&mut client).await;
    }
    let params = json!({ "name": "list_items", "_meta": { "sessionId": reloaded } });
    let items = client.request("tools/call", params).await;
    assert!(
        items["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Only here")
    );

    // When no page is connected, the status reports that to the client.
    browser.close_tab().await;
    drop(browser);
    let alone = |names: &[&str]| names == ["get_connection_status"];
    client.wait_for_tools("nothing but the status", alone).await;
    let status = client.call("get_connection_status", json!({})).await;
    assert_eq!(text_json(&status)["connected"], false);
}

#[tokio::test]
async fn the_typescript_sdk_initializes_lists_and_calls() {
    let bed = compat().await;
    open_page(&bed).await;
    let project = NodeProject::copy_of("node");
    project.link_packages();
    for url in [bed.mcp_url(), bed.url()] {
        let arguments = ["typescript-client.mjs", &url, bed.token()];
        let mut client = project.node("the TypeScript client", &arguments);
        let answer = client.wait_for_line("{").await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["tools"], json!(["list_sessions", "echo"]));
        let block = json!({ "type": "text", "text": "{\n  \"id\": 7\n}" });
        assert_eq!(answer["result"], json!({ "content": [block] }));
    }
}

#[tokio::test]
async fn the_inspector_and_mcp_web_stdio_work() {
    let bed = compat().await;
    open_page(&bed).await;
    for transport in [Transport::Http, Transport::Stdio] {
        let inspector = Inspector::new(&bed, transport, Era::Initialize);
        assert_eq!(
            inspector.tools().await,
            ["list_sessions", "echo"],
            "{transport:?}"
        );
        let result = inspector.call("echo", &json!({ "id": 7 })).await;
        assert_eq!(text_json(&result), json!({ "id": 7 }), "{transport:?}");
        let client = McpClient::connect(&bed, transport, Era::Initialize).await;
        let result = client.call("echo", json!({ "id": 8 })).await.unwrap();
        let result = serde_json::to_value(result).unwrap();
        assert_eq!(text_json(&result), json!({ "id": 8 }), "{transport:?}");
    }
}
