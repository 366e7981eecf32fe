//! The example of a game whose whole state is offered with state tools: a person and the agent play
//! it, with a scripted model.

use std::fs;

use e2e::{
    AgentEndpoint, AgentService, Browser, Era, FolderSite, Format, McpClient, MockProvider, Script,
    TestBed, Transport, Turn, program_paths,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Copies the example, and adds what a page without a bundler needs to find the SDK.
fn site_folder(bed: &TestBed) -> TempDir {
    let folder = TempDir::with_prefix("mcp-web-checkers-").unwrap();
    let source = program_paths::workspace().join("demo-app/examples/checkers");
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let sdk = |module: &str| format!("{}/sdk/{module}.js", bed.url());
    let imports = json!({ "imports": {
        "mcp-web-sdk": sdk("mcp-web"),
        "mcp-web-sdk/state": sdk("mcp-web-state"),
    } });
    let index = folder.path().join("index.html");
    let html = fs::read_to_string(&index).unwrap();
    let map = format!("<head>\n    <script type=\"importmap\">{imports}</script>");
    fs::write(&index, html.replace("<head>", &map)).unwrap();
    folder
}

#[tokio::test]
async fn a_person_and_the_agent_play() {
    let set_row = |index: u8, value: &str| {
        Turn::from_call(
            "set_checkers_board",
            json!({ "index": index, "value": value }),
        )
    };
    let pass = || Turn::from_call("set_checkers", json!({ "turn": "white" }));
    let script = Script::new([
        Turn::from_call("get_checkers", json!({})),
        // Three squares at once are not a move: the game reports an error, and reverts the row.
        set_row(3, "b-b-b---"),
        pass(),
        // A legal one.
        set_row(2, "---b-b-b"),
        set_row(3, "b-------"),
        pass(),
        Turn::from_text("I moved."),
    ]);
    let provider = MockProvider::start(script).await;
    let endpoint = AgentEndpoint::reserve();
    let mut bed = endpoint.start_bridge(&[]).await;
    let agent = AgentService::start(&endpoint, &bed, &provider, Format::Anthropic, &[]).await;
    let folder = site_folder(&bed);
    let site = FolderSite::start(folder.path().to_owned()).await;
    let browser = Browser::open().await;
    browser
        .goto(&format!("{}?bridge={}", site.url(), bed.url()))
        .await;
    browser
        .wait_for("window.checkers?.mcpWeb.status.state === 'connected'")
        .await;

    // The person moves by clicking.
    for square in ["a3: white man", "b4: empty"] {
        let click = format!("document.querySelector('[aria-label=\"{square}\"]').click()");
        browser.eval(&click, json!(null)).await;
    }
    let game = async || -> Value { browser.eval("return checkers.game()", json!(null)).await };
    assert_eq!(game().await["board"][4], "-w------");
    assert_eq!(game().await["turn"], "black");

    browser
        .eval("document.querySelector('#ask').click()", json!(null))
        .await;
    browser
        .wait_for("document.querySelector('#status').textContent === 'The AI has moved.'")
        .await;
    let after = game().await;
    assert_eq!(after["turn"], "white");
    assert_eq!(after["board"][2], "---b-b-b");
    assert_eq!(after["board"][3], "b-------");
    browser.screenshot("checkers").await;
    let refused = provider.wait_for_request(3).await.body.to_string();
    assert!(
        refused.contains("that is no legal move of black: the board is as it was before it"),
        "{refused}"
    );

    // A client plays on the same board, and the size of the board is kept by the schema.
    let token = browser
        .eval("return checkers.mcpWeb.authToken", json!(null))
        .await;
    bed.set_token(token.as_str().unwrap().to_owned());
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let added = client
        .call("add_checkers_board", json!({ "value": "--------" }))
        .await
        .unwrap();
    let added = serde_json::to_value(added).unwrap();
    assert_eq!(added["isError"], true, "{added}");
    let row = client
        .call("get_checkers_board", json!({ "index": 3 }))
        .await
        .unwrap();
    let row = serde_json::to_value(row).unwrap();
    assert_eq!(row["content"][0]["text"], "b-------");
    drop(agent);
}
