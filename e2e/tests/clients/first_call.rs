//! The way of a stranger from an empty home folder to a call by an AI client.

use std::process::Stdio;
use std::time::Instant;

use e2e::{Browser, CommandLine, Format, ProcessGroup, Script, Turn, program_paths, with_deadline};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::command_lines::claude_code;

/// The name of the server, which `mcp-web install` chooses.
const SERVER: &str = "mcp-web";

const CARD: &str = "Buy milk";

/// Prints how long each step takes.
struct Steps {
    began: Instant,
}

impl Steps {
    fn done(&mut self, step: &str) {
        e2e::print_figures(&format!(
            "{step}: {:.1} s",
            self.began.elapsed().as_secs_f64()
        ));
        self.began = Instant::now();
    }
}

/// Runs a command with this input, and returns its output.
async fn run(mut command: Command, input: &str) -> String {
    let command = command.stdin(Stdio::piped()).kill_on_drop(true);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let output = with_deadline("end of the command", child.wait_with_output()).await;
    let output = output.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{printed}");
    printed
}

#[tokio::test]
async fn from_an_empty_home_to_a_call_by_claude_code() {
    let tool = format!("mcp__{SERVER}__add_card");
    let script = Script::new([
        Turn::from_call(&tool, json!({ "title": CARD })),
        Turn::from_text("Done."),
    ]);
    let person = CommandLine::new(Format::Anthropic, script).await;
    let mcp_web = |arguments: &[&str]| {
        let mut command = person.command(&program_paths::mcp_web());
        command.args(arguments);
        command
    };
    let mut steps = Steps {
        began: Instant::now(),
    };

    // Without a language model, even if this machine has keys.
    let demo = mcp_web(&["demo", "--bind=127.0.0.1:0", "--agent-provider=commands"]);
    let mut demo = ProcessGroup::start("the demo", demo);
    let opened = demo.wait_for_line("open http://").await;
    let page = opened.trim_start_matches("open ");
    // The command without the program, which is the first word.
    let install = demo.wait_for_line("to connect AI clients: ").await;
    let (_, install) = install.split_once(" install ").unwrap();
    let install: Vec<_> = install.split(' ').collect();
    steps.done("mcp-web demo");

    let browser = Browser::open().await;
    browser.goto(page).await;
    browser
        .wait_for(
            "mcpWeb.status.state === 'connected' && !document.querySelector('#config').hidden",
        )
        .await;
    let shown = browser.eval(
        "document.querySelector('#config-reveal').click();
        return document.querySelector('#config-text').textContent",
        json!(null),
    );
    let shown = shown.await;
    let shown: Value = serde_json::from_str(shown.as_str().unwrap()).unwrap();
    let servers = shown["mcpServers"].as_object().unwrap();
    let entry = servers.values().next().unwrap();
    let token = entry["env"]["AUTH_TOKEN"].as_str().unwrap();
    steps.done("the page in Chromium");

    let arguments = [&["install", "claude-code", "--token-stdin"][..], &install].concat();
    let installed = run(mcp_web(&arguments), token).await;
    assert!(installed.contains("Claude Code: done"), "{installed}");
    assert!(!installed.contains(token), "{installed}");
    steps.done("mcp-web install claude-code");

    let used = person.run("Claude Code", claude_code::command(&person, SERVER));
    let used = used.await;
    let called = used.output(0).text;
    assert!(called.contains(CARD), "{called}\n{}", used.log);
    let is_visible = format!("document.body.innerText.includes({})", json!(CARD));
    browser.wait_for(&is_visible).await;
    steps.done("a call by Claude Code");

    let mut doctor = mcp_web(&[&["doctor"][..], &install].concat());
    doctor.env("AUTH_TOKEN", token);
    let diagnosis = run(doctor, "").await;
    for words in [
        "ok: bridge: version",
        "of the SDK",
        "ok: Claude Code, entry `mcp-web`: it has the same token",
        "ok: schemas for Claude Code",
    ] {
        assert!(diagnosis.contains(words), "{words}\n{diagnosis}");
    }
    assert!(!diagnosis.contains("problem: "), "{diagnosis}");
    assert!(!demo.log().contains(token));
    steps.done("mcp-web doctor");
}
