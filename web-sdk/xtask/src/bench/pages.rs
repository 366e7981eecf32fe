//! The section on page tools, which the program `pages` measures, beside Playwright MCP and Page
//! Agent, which `e2e/page-tools/tokens.mjs` runs.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::json_lines::{self, as_number};
use crate::chromium::Chromium;
use crate::process::capture;
use crate::step::{Outcome, step};
use crate::{Workspace, apt, node, page_tools_pages};

/// The columns of the table of tokens, as `tokens.mjs` names them.
const TEXTS: [&str; 4] = ["outline", "markdown", "playwrightMcp", "pageAgent"];

/// Measures page tools, and returns the tables of tokens and times.
pub(super) fn pages(workspace: &Workspace, programs: &Path, times: usize) -> Result<String> {
    let chromium = Chromium::ensure()?;
    let node = node::ensure_node(workspace)?;
    let pages = page_tools_pages::ensure(workspace)?;
    apt::ensure_program_of("xvfb", "Xvfb")?;
    let texts = workspace.path("target/page-tools/texts");
    let mut own = Command::new(programs.join("pages"));
    own.arg(&texts)
        .args(["--times", &times.to_string()])
        .env("MCP_WEB_CHROMIUM", &chromium.browser)
        .env("MCP_WEB_CHROMEDRIVER", &chromium.driver);
    let lines = json_lines::run("measuring page tools", own)?;
    let others = step("measuring Playwright MCP and Page Agent", || {
        let mut command = Command::new(node);
        command
            .arg(workspace.path("e2e/page-tools/tokens.mjs"))
            .args([&pages, &texts])
            .env("MCP_WEB_CHROMIUM", &chromium.browser);
        let output = capture(&mut command, "fix the errors of tokens.mjs above")?;
        let figures: Value = serde_json::from_str(&output).context("tokens.mjs prints JSON")?;
        Ok(Outcome::Done(figures))
    })?;
    Ok(format!(
        "Tokens are those of `o200k_base`, of one text for each page of 1280 × 720 pixels; {times} \
         calls of each kind through bridge and browser, one after the other. Page Agent\u{2019}s \
         controller has {} bytes after brotli.\n\n{}",
        as_number(&others["bytes"]),
        tables(&lines, &others)
    ))
}

fn tables(lines: &[Value], others: &Value) -> String {
    let mut text =
        "| page | outline | markdown | Playwright MCP | Page Agent | outline ÷ Playwright MCP |\n\
         |---|---|---|---|---|---|\n"
            .to_owned();
    let pages = others["tokens"].as_object().into_iter().flatten();
    let sum = ("sum".to_owned(), &others["sum"]);
    for (name, tokens) in pages
        .map(|(name, it)| (format!("`{name}`"), it))
        .chain([sum])
    {
        let columns = TEXTS.map(|kind| as_number(&tokens[kind]));
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {:.2} |",
            columns[0],
            columns[1],
            columns[2],
            columns[3],
            columns[0] / columns[2],
        );
    }
    text.push_str(
        "\n| call | tab | p50 | p95 | longest task of the page |\n|---|---|---|---|---|\n",
    );
    for line in lines {
        let longest = as_number(&line["longest_task_ms"]);
        let longest = if longest > 0.0 {
            format!("{longest:.0} ms")
        } else {
            "below 50 ms".to_owned()
        };
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} ms | {:.1} ms | {longest} |",
            line["call"].as_str().unwrap_or_default(),
            line["tab"].as_str().unwrap_or_default(),
            as_number(&line["p50_ms"]),
            as_number(&line["p95_ms"]),
        );
    }
    for (name, times) in others["times"].as_object().into_iter().flatten() {
        let _ = writeln!(
            text,
            "| `{name}` of Playwright MCP | shown | {:.1} ms | {:.1} ms | |",
            as_number(&times["p50"]),
            as_number(&times["p95"]),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_contain_tokens_and_times() {
        let others = json!({
            "tokens": { "checkout": { "outline": 300, "markdown": 200, "playwrightMcp": 600, "pageAgent": 400 } },
            "sum": { "outline": 300, "markdown": 200, "playwrightMcp": 600, "pageAgent": 400 },
            "times": { "browser_type": { "p50": 520.1, "p95": 530.0 } },
        });
        let lines = [
            json!({ "call": "click", "tab": "hidden", "p50_ms": 70.0, "p95_ms": 90.25,
            "longest_task_ms": 0.0 }),
        ];
        let text = tables(&lines, &others);
        for line in [
            "| `checkout` | 300 | 200 | 600 | 400 | 0.50 |",
            "| sum | 300 | 200 | 600 | 400 | 0.50 |",
            "| click | hidden | 70.0 ms | 90.2 ms | below 50 ms |",
            "| `browser_type` of Playwright MCP | shown | 520.1 ms | 530.0 ms | |",
        ] {
            assert!(text.contains(line), "{line} is not in:\n{text}");
        }
    }
}
