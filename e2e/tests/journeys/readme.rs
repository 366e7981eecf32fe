//! README.md, "Five minutes: from an empty page to a call", as it stands there: only the bridge's
//! port and the token differ.

use std::process::Stdio;

use e2e::{Browser, Era, McpClient, StaticSite, TestBed, program_paths, with_deadline};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::has;

const README: &str = include_str!("../../../README.md");

#[tokio::test]
async fn from_an_empty_page_to_a_call() {
    let mut world = TestBed::bridge().await;
    let readme = Readme::for_bridge(&world);
    let site = StaticSite::with_index(readme.block("html", "<!doctype html>")).await;
    let browser = Browser::open().await;
    browser.goto(site.url()).await;
    let shown = configured_server(&browser).await;
    world.set_token(token_in(&shown));
    let readme = readme.with_token(world.token());

    assert_readme_matches_page(&readme, &shown).await;
    for (client, server, era) in readme.clients() {
        let mut session = McpClient::from_config(&server, era).await;
        session
            .wait_for_tools("it has `add_note`", |tools| has(tools, "add_note"))
            .await;
        let added = session.call("add_note", json!({ "text": client }));
        let added = added
            .await
            .unwrap_or_else(|error| panic!("{client}: {error}"));
        assert_ne!(added.is_error, Some(true), "{client}: {added:?}");
        wait_for_note(&browser, client).await;
    }
    let answer = readme.curl().await;
    assert_eq!(
        answer["structuredContent"],
        json!({ "notes": 4 }),
        "{answer}"
    );
    wait_for_note(&browser, "buy milk").await;
    assert!(
        !world.log().contains(world.token()),
        "tokens are not logged"
    );
}

/// The server in the configuration that the page shows to its user.
async fn configured_server(browser: &Browser) -> Value {
    let shown = browser.wait_for("document.querySelector('#config').textContent");
    let config: Value = serde_json::from_str(shown.await.as_str().unwrap()).unwrap();
    browser
        .wait_for("document.querySelector('#notes')?.children.length === 0")
        .await;
    config["mcpServers"]["notes"].clone()
}

fn token_in(server: &Value) -> String {
    let header = server["headers"]["Authorization"].as_str();
    let token = header.and_then(|header| header.strip_prefix("Bearer "));
    token.expect("the page shows its token").to_owned()
}

async fn assert_readme_matches_page(readme: &Readme, shown: &Value) {
    let arguments = readme.arguments_of("claude").await;
    let header = shown["headers"]["Authorization"].as_str().unwrap();
    let expected = [
        "mcp",
        "add",
        "--transport",
        "http",
        "notes",
        shown["url"].as_str().unwrap(),
        "--header",
        &format!("Authorization: {header}"),
    ];
    assert_eq!(arguments, expected);
}

async fn wait_for_note(browser: &Browser, text: &str) {
    let text = json!(text);
    let note =
        format!("[...document.querySelectorAll('#notes li')].at(-1)?.textContent === {text}");
    browser.wait_for(&note).await;
}

/// The README with another port and, once it is known, the token.
struct Readme(String);

impl Readme {
    fn for_bridge(world: &TestBed) -> Self {
        let here = format!("localhost:{}", world.address().port());
        Self(README.replace("localhost:3001", &here))
    }

    fn with_token(&self, token: &str) -> Self {
        Self(
            self.0
                .replace("Bearer TOKEN", &format!("Bearer {token}"))
                .replace(
                    "\"AUTH_TOKEN\": \"TOKEN\"",
                    &format!("\"AUTH_TOKEN\": \"{token}\""),
                ),
        )
    }

    /// The block of code in `language` that contains `text`.
    fn block(&self, language: &str, text: &str) -> String {
        let fence = format!("\n```{language}\n");
        let blocks = self.0.split(&fence).skip(1);
        let blocks = blocks.filter_map(|rest| rest.split("\n```").next());
        let found: Vec<&str> = blocks.filter(|block| block.contains(text)).collect();
        assert_eq!(found.len(), 1, "{language} blocks with {text:?}: {found:?}");
        found[0].to_owned()
    }

    /// The clients that are configured by JSON, each with its server.
    fn clients(&self) -> [(&'static str, Value, Era); 3] {
        let server = |list: &str, text: &str| {
            let config: Value = serde_json::from_str(&self.block("json", text)).unwrap();
            config[list]["notes"].clone()
        };
        [
            (
                "Cursor",
                server("mcpServers", "\"notes\": { \"url\""),
                Era::Initialize,
            ),
            (
                "VS Code",
                server("servers", "\"type\": \"http\""),
                Era::Discover,
            ),
            (
                "Claude Desktop",
                server("mcpServers", "mcp-web-stdio"),
                Era::Initialize,
            ),
        ]
    }

    /// The arguments that a shell passes to `program`.
    async fn arguments_of(&self, program: &str) -> Vec<String> {
        let command = self.block("sh", &format!("{program} "));
        let script = format!("{program}() {{ printf '%s\\n' \"$@\"; }}\n{command}");
        shell(&script).await.lines().map(str::to_owned).collect()
    }

    /// Runs the command that calls the tool.
    async fn curl(&self) -> Value {
        let answer = shell(&self.block("sh", "curl ")).await;
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("not JSON: {answer}"))
    }
}

async fn shell(script: &str) -> String {
    let mut command = Command::new("sh");
    command
        .args(["-euc", script])
        .env("NO_PROXY", "localhost")
        .current_dir(program_paths::workspace())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = with_deadline("a command of the README", command.output())
        .await
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}
