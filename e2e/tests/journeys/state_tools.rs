//! State tools over the whole way: a page in Chromium, the bridge, and MCP clients.

use e2e::{
    Browser, ClientEvent, Era, FolderSite, FullClient, McpClient, NodeProject, TestBed, Transport,
    program_paths,
};
use serde_json::{Value, json};

/// One case of each kind of tool; the tests of the SDK run all of them.
const CASES: [&str; 14] = [
    "A4", "A8", "B7", "C1", "C3", "C4", "D2", "D7", "E1", "F1", "F7", "F10", "F11", "G2",
];

/// How many items each of two clients adds.
const ADDED_BY_EACH: usize = 25;

/// A page that offers states.
struct StatePage {
    bed: TestBed,
    browser: Browser,
    _site: FolderSite,
    _project: NodeProject,
}

impl StatePage {
    async fn open() -> Self {
        let bed = TestBed::bridge().await;
        let project = NodeProject::copy_of("state-app");
        project.link(&program_paths::sdk_node_modules());
        let sdk = program_paths::sdk_package();
        let names = program_paths::workspace().join("web-sdk/tests/sdk/module/state/names.mjs");
        let aliases = [
            ("mcp-web-sdk/state", sdk.join("mcp-web-state.js")),
            ("mcp-web-sdk", sdk.join("mcp-web.js")),
            ("case-names", names),
        ]
        .map(|(name, path)| format!("--alias:{name}={}", path.display()));
        let program = program_paths::sdk_node_modules().join("esbuild/bin/esbuild");
        let program = program.display().to_string();
        let mut arguments = vec![program.as_str(), "main.js", "--bundle", "--format=esm"];
        arguments.extend(["--splitting", "--outdir=dist"]);
        arguments.extend(aliases.iter().map(String::as_str));
        let mut build = project.node("esbuild", &arguments);
        build.wait_for_line("Done in").await;
        let site = FolderSite::start(project.path().to_owned()).await;
        let browser = Browser::open().await;
        let (bridge, token) = (bed.url(), bed.token());
        browser
            .goto(&format!("{}?bridge={bridge}&token={token}", site.url()))
            .await;
        browser
            .wait_for("window.mcpWeb?.status.state === 'connected'")
            .await;
        Self {
            bed,
            browser,
            _site: site,
            _project: project,
        }
    }

    async fn client(&self, era: Era) -> McpClient {
        McpClient::connect(&self.bed, Transport::Http, era).await
    }
}

#[tokio::test]
async fn clients_get_what_the_list_of_cases_says() {
    let page = StatePage::open().await;
    let client = page.client(Era::Discover).await;
    let list = include_str!("../../../web-sdk/tests/sdk/module/state/cases.json");
    let list: Value = serde_json::from_str(list).unwrap();
    let mut calls = 0;
    for case in list.as_array().unwrap() {
        let id = case["case"].as_str().unwrap();
        if !CASES.contains(&id) {
            continue;
        }
        page.browser
            .eval("return offer(args[0])", json!([case]))
            .await;
        let mut before = normalized(case["state"].clone());
        for call in case["calls"].as_array().unwrap() {
            let expected = match call["verdict"].as_str().unwrap() {
                "keep" => &call["reference"],
                _ => &call["now"],
            };
            let tool = call["tool"].as_str().unwrap();
            let subject = format!("{id}: {tool} {}", call["arguments"]);
            let result = client.call(tool, call["arguments"].clone()).await;
            match (result, expected.get("refused")) {
                // A tool that the case does not have.
                (Err(_), Some(_)) => {}
                (Err(error), None) => panic!("{subject}: {error}"),
                (Ok(result), refused) => {
                    let result = serde_json::to_value(result).unwrap();
                    check_result(&subject, &result, expected, refused.is_some());
                }
            }
            // As text: WebDriver loses a property `__proto__`.
            let text = "return JSON.stringify(window.state ?? null)";
            let text = page.browser.eval(text, json!(null)).await;
            let state = normalized(serde_json::from_str(text.as_str().unwrap()).unwrap());
            let same = expected["state"] == "same";
            let wanted = if same {
                before.clone()
            } else {
                normalized(expected["state"].clone())
            };
            assert_eq!(state, wanted, "{subject}: the state");
            before = state;
            calls += 1;
        }
    }
    assert!(calls > 90, "{calls} calls");
    println!("figures: {calls} calls of {} states", CASES.len());
}

fn check_result(subject: &str, result: &Value, expected: &Value, is_refused: bool) {
    assert_eq!(
        result["isError"] == json!(true),
        is_refused,
        "{subject}: {result}"
    );
    if is_refused {
        let code = &result["_meta"]["mcp-web/error"]["code"];
        assert_eq!(code, "InvalidArguments", "{subject}: {result}");
        return;
    }
    let text = result["content"][0]["text"].as_str().unwrap();
    match expected.get("value") {
        None => assert_eq!(text, "", "{subject}"),
        Some(Value::String(value)) => assert_eq!(text, value, "{subject}"),
        Some(value) => {
            let answered: Value = serde_json::from_str(text).unwrap();
            assert_eq!(normalized(answered), normalized(value.clone()), "{subject}");
        }
    }
    if let Some(Value::Object(value)) = expected.get("value") {
        let structured = result["structuredContent"].clone();
        assert_eq!(
            normalized(structured),
            normalized(Value::Object(value.clone())),
            "{subject}"
        );
    }
}

/// Ids and times that a case generates differ from run to run.
fn normalized(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("gen-") => json!("generated"),
        Value::Number(number) if number.as_f64().is_some_and(|it| it > 1000.0 && it < 3000.0) => {
            json!("time")
        }
        Value::Array(items) => items.into_iter().map(normalized).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, normalized(value)))
            .collect(),
        other => other,
    }
}

#[tokio::test]
async fn two_clients_that_write_at_once_lose_nothing() {
    let page = StatePage::open().await;
    let (first, second) = tokio::join!(page.client(Era::Initialize), page.client(Era::Discover));
    let add_all = async |client: &McpClient, offset: usize| {
        let calls = (0..ADDED_BY_EACH)
            .map(|index| client.call("add_numbers", json!({ "value": offset + index })));
        for result in futures_util::future::join_all(calls).await {
            assert_ne!(result.unwrap().is_error, Some(true));
        }
    };
    tokio::join!(add_all(&first, 0), add_all(&second, 1000));
    let numbers = page
        .browser
        .eval("return numbers.toSorted((a, b) => a - b)", json!(null))
        .await;
    let expected: Vec<_> = (0..ADDED_BY_EACH)
        .chain(1000..1000 + ADDED_BY_EACH)
        .collect();
    assert_eq!(numbers, json!(expected));
}

#[tokio::test]
async fn the_error_of_a_set_that_is_rejected_reaches_the_client() {
    let page = StatePage::open().await;
    let client = page.client(Era::Discover).await;
    let result = client.call("set_locked", json!({ "value": "after" })).await;
    let result = serde_json::to_value(result.unwrap()).unwrap();
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "the lock is closed");
    let locked = page.browser.eval("return locked", json!(null)).await;
    assert_eq!(locked, "before");
    let read = client.call("get_locked", json!({})).await.unwrap();
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(read["content"][0]["text"], "before");
}

#[tokio::test]
async fn subscribers_of_a_state_are_notified_of_changes_by_others() {
    let page = StatePage::open().await;
    let writer = page.client(Era::Discover).await;
    let mut reader = FullClient::connect(&page.bed, Transport::Http, Era::Initialize).await;
    reader.subscribe("state://numbers").await;
    writer
        .call("add_numbers", json!({ "value": 7 }))
        .await
        .unwrap();
    let event = reader.next_event().await;
    assert_eq!(event, ClientEvent::Updated("state://numbers".to_owned()));
    let read = reader.read("state://numbers").await.unwrap();
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(read["contents"][0]["text"], "[7]");
}
