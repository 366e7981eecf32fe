//! README.md, "Five minutes: from an empty page to a call", with the code blocks of the README:
//! only the bridge's port and the token differ.

use std::process::Stdio;

use e2e::{Browser, Era, McpClient, StaticSite, TestBed, program_paths, with_deadline};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{code_block, configured_token, has};

const README: &str = include_str!("../../../README.md");

#[tokio::test]
async fn from_an_empty_page_to_a_call() {
    let mut bed = TestBed::bridge().await;
    let readme = Readme::for_bridge(&bed);
    let site = StaticSite::with_index(readme.block("html", "<!doctype html>").to_owned()).await;
    let browser = Browser::open().await;
    browser.goto(site.url()).await;
    let server = configured_server(&browser).await;
    bed.set_token(configured_token(&server));
    let readme = readme.with_token(bed.token());

    assert_readme_matches_page(&readme, &server).await;
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
    assert!(!bed.log().contains(bed.token()), "tokens are not logged");
}

/// Returns the server in the configuration that the page shows to its user.
async fn configured_server(browser: &Browser) -> Value {
    let config = browser.wait_for("document.querySelector('#config').textContent");
    let config: Value = serde_json::from_str(config.await.as_str().unwrap()).unwrap();
    browser
        .wait_for("document.querySelector('#notes')?.children.length === 0")
        .await;
    config["mcpServers"]["notes"].clone()
}

async fn assert_readme_matches_page(readme: &Readme, server: &Value) {
    let arguments = readme.arguments_of("claude").await;
    let header = server["headers"]["Authorization"].as_str().unwrap();
    let expected = [
        "mcp",
        "add",
        "--transport",
        "http",
        "notes",
        server["url"].as_str().unwrap(),
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

/// The README with the port of the bridge and, once it is known, the token.
struct Readme(String);

impl Readme {
    fn for_bridge(bed: &TestBed) -> Self {
        let host = format!("localhost:{}", bed.address().port());
        Self(README.replace("localhost:3001", &host))
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

    fn block(&self, language: &str, text: &str) -> &str {
        code_block(&self.0, language, text)
    }

    /// Returns the clients with a JSON configuration, each with its server.
    fn clients(&self) -> [(&'static str, Value, Era); 3] {
        let server = |list: &str, text: &str| {
            let config: Value = serde_json::from_str(self.block("json", text)).unwrap();
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
                server("mcpServers", "\"args\": [\"stdio\"]"),
                Era::Initialize,
            ),
        ]
    }

    /// Returns the arguments that a shell passes to `program`.
    async fn arguments_of(&self, program: &str) -> Vec<String> {
        let command = self.block("sh", &format!("{program} "));
        let script = format!("{program}() {{ printf '%s\\n' \"$@\"; }}\n{command}");
        shell(&script).await.lines().map(str::to_owned).collect()
    }

    /// Runs the command that calls the tool.
    async fn curl(&self) -> Value {
        let answer = shell(self.block("sh", "curl ")).await;
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
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}
