//! Page tools in Chromium: the tokens that a page costs a model, and how long calls take.

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use e2e::{Browser, Era, McpClient, PageToolsSite, TestBed, Transport, program_paths};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::latency::Latencies;
use crate::table::{Table, time};

/// The page with components of many libraries, on which everything is measured.
const PAGE: &str = "libraries/index.html";

/// Measures reading a page, and acting on it.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let times = if quick { 5 } else { 50 };
    let bed = TestBed::bridge().await;
    let site = PageToolsSite::start(&bed, "").await;
    let browser = Browser::open().await;
    browser.goto(&site.page(PAGE)).await;
    browser.wait_for("window.pageToolsReady").await;
    let client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;

    let snapshot = |format: &'static str| move |_| ("page_snapshot", json!({ "format": format }));
    let mut table = Table::new(&["call", "p50", "p99", "tokens of the answer"]);
    let reads = [
        ("read the page as an outline", snapshot("outline")),
        ("read the page as Markdown", snapshot("markdown")),
    ];
    for (name, call) in reads {
        table.row(&measure_call(&client, name, times, call).await?);
    }
    table.row(&measure_call(&client, "set a value", times, set_value).await?);
    table.row(&measure_call(&client, "click", times, click).await?);
    let conditions = format!(
        "{times} calls of each kind, one after the other, on `{PAGE}` of `e2e/page-tools` in headless \
         Chromium. Tokens are those of `o200k_base`. An action ends when the page has come to rest."
    );
    Ok(table.section(&conditions))
}

async fn measure_call(
    client: &McpClient,
    name: &str,
    times: usize,
    call: impl Fn(usize) -> (&'static str, Value),
) -> Result<[String; 4]> {
    eprintln!("  {name}");
    let (mut latencies, mut answer) = (Vec::new(), String::new());
    for turn in 0..times {
        let (tool, arguments) = call(turn);
        let begin = Instant::now();
        answer = text_of_call(client, tool, arguments).await?;
        latencies.push(begin.elapsed());
        ensure!(!answer.contains(" failed "), "{answer}");
    }
    let latencies = Latencies::new(latencies);
    let [p50, p99] = [50, 99].map(|percent| time(latencies.percentile(percent)));
    Ok([name.to_owned(), p50, p99, count_tokens(&answer).await?])
}

fn set_value(turn: usize) -> (&'static str, Value) {
    let find = json!({ "role": "textbox", "name": "React name" });
    let action = json!({ "type": "setValue", "find": find, "value": format!("name {turn}") });
    ("interact", json!({ "actions": [action] }))
}

fn click(_: usize) -> (&'static str, Value) {
    let find = json!({ "role": "button", "name": "React count" });
    let action = json!({ "type": "triggerEvent", "find": find, "event": "onClick" });
    ("interact", json!({ "actions": [action] }))
}

async fn text_of_call(client: &McpClient, tool: &str, arguments: Value) -> Result<String> {
    let result = client.call(tool, arguments).await;
    let result = serde_json::to_value(result.ok().context("the call fails")?)?;
    ensure!(result["isError"] != true, "{result}");
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
    Ok(texts.join("\n"))
}

/// Counts the tokens of a text with the script in `e2e/page-tools`, because no crate here does.
async fn count_tokens(text: &str) -> Result<String> {
    let script = program_paths::workspace().join("e2e/page-tools/tokens.mjs");
    let mut counter = Command::new(program_paths::node())
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("Node does not start")?;
    let mut input = counter.stdin.take().context("standard input is piped")?;
    input.write_all(text.as_bytes()).await?;
    drop(input);
    let output = counter.wait_with_output().await?;
    ensure!(
        output.status.success(),
        "tokens.mjs failed: see its output above"
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
