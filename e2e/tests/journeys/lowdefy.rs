//! A Lowdefy app without a browser, and the same app in Chromium.

use std::time::Duration;

use e2e::{
    ActionRule, Browser, NodeProject, PlainHttp, ProcessGroup, TestBed, VirtualDisplay,
    program_paths,
};
use serde_json::{Value, json};

/// How long a suite of `node --test` may take, with other journeys beside it.
const SUITE_TIMEOUT: Duration = Duration::from_secs(1200);

/// The installed host at a real bridge: sessions, walls between users, the command.
#[tokio::test]
async fn the_tests_of_the_installed_host_pass() {
    let bed = TestBed::bridge().await;
    let suites = [
        "actions", "blocks", "command", "lives", "output", "script", "users", "walls",
    ]
    .map(|name| format!("tests/{name}.test.mjs"));
    let suites: Vec<&str> = suites.iter().map(String::as_str).collect();
    run_installed_host(&bed, "the installed host", "2", &suites, 60).await;
}

/// Runs suites with the installed host at the bridge.
pub(crate) async fn run_installed_host(
    bed: &TestBed,
    name: &str,
    concurrency: &str,
    suites: &[&str],
    least: u32,
) {
    let project = NodeProject::copy_of_lowdefy();
    let concurrency = format!("--test-concurrency={concurrency}");
    let options = ["--test", "--test-reporter=tap", &concurrency];
    let mut command = project.node_command(&[&options[..], suites].concat());
    let metas = program_paths::workspace().join("web-sdk/lowdefy/src/engine/block-metas.json");
    command
        .env("BRIDGE_URL", bed.url())
        .env("MCP_WEB_PROGRAM", program_paths::mcp_web())
        .env("BLOCK_METAS_FILE", metas);
    check_suite(name, command, least).await;
}

/// The stores of sessions, in files and in a real Redis server.
#[tokio::test]
async fn the_tests_of_its_sources_pass() {
    let project = NodeProject::copy_of_lowdefy_host();
    let tsc = program_paths::sdk_node_modules().join("typescript/bin/tsc");
    let tsc = tsc.display().to_string();
    let mut types = project.node(
        "the types of the host",
        &[&tsc, "--project", "tsconfig.json"],
    );
    assert!(types.wait_for_end(SUITE_TIMEOUT).await, "{}", types.log());
    let command = project.node_command(&[
        "--test",
        "--test-reporter=tap",
        "--test-concurrency=2",
        "test/**/*.test.ts",
    ]);
    check_suite("the sources of the host", command, 150).await;
}

/// The rules that also hold for pages and windows.
#[tokio::test]
async fn each_rule_of_all_user_interfaces_holds() {
    let button = |id: &str, title: &str, disabled: bool| {
        json!({
            "id": id, "type": "Button", "properties": { "title": title, "disabled": disabled },
            "events": { "onClick": [] },
        })
    };
    let field = |id: &str, title: &str| json!({ "id": id, "type": "TextInput", "properties": { "title": title } });
    let blocks = json!([
        field("name", "Name"),
        field("fixed", "Fixed"),
        button("save", "Save", false),
        button("off", "Off", true),
        button("twin_1", "Twin", false),
        button("twin_2", "Twin", false),
    ]);
    let page = json!({ "id": "rules", "type": "Box", "blocks": blocks });
    let app = json!({ "lowdefy": "4.0.0-rc.11", "pages": [page] });
    let bed = TestBed::bridge().await;
    let project = NodeProject::copy_of_lowdefy();
    std::fs::create_dir(project.path().join("rules")).unwrap();
    std::fs::write(project.path().join("rules/lowdefy.yaml"), app.to_string()).unwrap();
    std::fs::write(project.path().join("tokens"), bed.token()).unwrap();
    let (bridge, command) = (
        bed.url(),
        "node_modules/mcp-web-lowdefy/dist/mcp-web-lowdefy.js",
    );
    let arguments = [
        "--config",
        "rules",
        "--token-file",
        "tokens",
        "--bridge",
        &bridge,
    ];
    let mut host = project.node("the host", &[&[command][..], &arguments].concat());
    host.wait_for_line("connected").await;
    let client = PlainHttp::new(&bed);
    let created = client
        .call_when_registered("session_create", json!({ "name": "rules" }))
        .await;
    let session = &created["structuredContent"]["sessionId"];
    // An action that an app without a window cannot do is a row with that error.
    let exceptions = [
        // Lowdefy has no fields that are read-only.
        ("read-only", None),
        ("double click", Some("EventUnknown")),
        ("key", Some("ActionUnsupported")),
        ("key with a modifier in its name", Some("ActionUnsupported")),
        ("key that is none", Some("ActionUnsupported")),
        ("hover", Some("ActionUnsupported")),
        ("scroll", Some("ActionUnsupported")),
        ("drag", Some("ActionUnsupported")),
        ("state", None),
        ("global state", None),
    ];
    for rule in ActionRule::all() {
        let mut input = rule.arguments.clone();
        input["sessionId"] = session.clone();
        let answer = client.call_when_registered("interact", input).await;
        rule.check(&answer, &exceptions);
    }
}

/// In Chromium, the DOM driver runs the script that other tests run without a browser.
#[tokio::test]
async fn the_script_leads_to_the_same_in_chromium() {
    let bed = TestBed::bridge().await;
    let project = NodeProject::copy_of_lowdefy();
    let app = BrowserApp::start(&project, &bed).await;
    let browser = Browser::open().await;
    app.open(&browser).await;
    app.run_script(&project, &bed).await;
    let screenshot = browser.screenshot("lowdefy").await;
    println!("{}", screenshot.display());
}

/// The browser does not run the animations of a tab that is not shown, and the script leads to the same state.
#[tokio::test]
async fn the_script_leads_to_the_same_in_a_hidden_tab() {
    let display = VirtualDisplay::start().await;
    let bed = TestBed::bridge().await;
    let project = NodeProject::copy_of_lowdefy();
    let app = BrowserApp::start(&project, &bed).await;
    let browser = Browser::open_in_window(&display).await;
    app.open(&browser).await;
    browser.open_tab().await;
    app.run_script(&project, &bed).await;
}

/// Runs a suite of `node --test`, and prints how many tests have passed.
async fn check_suite(name: &str, command: tokio::process::Command, least: u32) {
    let mut tests = ProcessGroup::start(name, command);
    let has_passed = tests.wait_for_end(SUITE_TIMEOUT).await;
    let log = tests.log();
    assert!(has_passed, "{log}");
    let count = |word: &str| {
        let line = log.lines().find_map(|line| line.split_once(word));
        line.and_then(|(_, number)| number.trim().parse::<u32>().ok())
    };
    let [passed, failed, skipped] = ["# pass ", "# fail ", "# skipped "].map(count);
    println!("{name}: {passed:?} tests of node --test passed, {skipped:?} skipped");
    for line in log.lines().filter(|line| line.contains("# ")) {
        if line.contains(" MB ")
            || line.contains("p99")
            || line.contains("p50")
            || line.contains("rendered")
        {
            println!("{}", line.trim());
        }
    }
    assert_eq!([failed, skipped], [Some(0), Some(0)], "{log}");
    assert!(passed >= Some(least), "{log}");
}

/// The app as its users see it.
struct BrowserApp {
    url: String,
    data: String,
    _server: ProcessGroup,
}

impl BrowserApp {
    /// Builds the app and its page, and serves both.
    async fn start(project: &NodeProject, bed: &TestBed) -> Self {
        for arguments in [
            ["build-app.mjs", "app", "built"].as_slice(),
            &["browser/bundle.mjs", "built"],
        ] {
            let mut build = project.node(arguments[0], arguments);
            assert!(build.wait_for_end(SUITE_TIMEOUT).await, "{}", build.log());
        }
        let (bridge, token) = (bed.url(), bed.token());
        let arguments = ["server.mjs", "built", "--bridge", &bridge, "--token", token];
        let mut server = project.node("server.mjs", &arguments);
        let line = server.wait_for_line("dataUrl").await;
        let places: Value = serde_json::from_str(&line).unwrap();
        let place = |name: &str| places[name].as_str().unwrap().to_owned();
        Self {
            url: place("url"),
            data: place("dataUrl"),
            _server: server,
        }
    }

    async fn open(&self, browser: &Browser) {
        browser.goto(&self.url).await;
        browser
            .wait_for("document.querySelector('.ag-root, button')")
            .await;
    }

    async fn run_script(&self, project: &NodeProject, bed: &TestBed) {
        let (bridge, token) = (bed.url(), bed.token());
        let arguments = [
            "run-script.mjs",
            "browserByFind",
            "--bridge",
            &bridge,
            "--token",
            token,
            "--data",
            &self.data,
        ];
        let mut script = project.node("run-script.mjs", &arguments);
        let has_passed = script.wait_for_end(SUITE_TIMEOUT).await;
        assert!(has_passed, "{}", script.log());
    }
}
