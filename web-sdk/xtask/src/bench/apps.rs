//! The section on apps without a browser, which `e2e/lowdefy/bench.mjs` measures.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::json_lines::{self, as_number};
use crate::chromium::Chromium;
use crate::{Workspace, lowdefy, node};

/// The first row, with which the others are compared.
const ECHO: &str = "an echo tool in Node";

/// Measures apps without a browser, and returns the table.
pub(super) fn apps(workspace: &Workspace, programs: &Path, times: usize) -> Result<String> {
    let node = node::ensure_node(workspace)?;
    let modules = node::install_pinned(workspace, "e2e/lowdefy", "lowdefy")?;
    let host = lowdefy::ensure(workspace)?;
    let chromium = Chromium::ensure()?;
    let mut bench = Command::new(node);
    bench
        .arg(workspace.path("e2e/lowdefy/bench.mjs"))
        .arg("--bridge")
        .arg(programs.join("mcp-web-bridge"))
        .arg("--native")
        .arg(programs.join("native-app"))
        .arg("--load")
        .arg(programs.join("load"))
        .arg("--chromium")
        .arg(chromium.browser)
        .arg("--modules")
        .arg(modules)
        .arg("--sdk")
        .arg(workspace.sdk())
        .arg("--host")
        .arg(host)
        .args(["--times", &times.to_string()]);
    let lines = json_lines::run("measuring apps without a browser", bench)?;
    Ok(format!(
        "{times} calls of each kind by `POST /tool-call`, one after the other; sessions in files.\n\n{}",
        table(&lines)
    ))
}

fn table(lines: &[Value]) -> String {
    let mut text =
        "| call | p50 | p95 | p50 less that of the echo |\n|---|---|---|---|\n".to_owned();
    let echo = lines.iter().find(|line| line["call"] == ECHO);
    let echo = echo.map_or(0.0, |line| as_number(&line["p50_ms"]));
    for line in lines {
        let call = line["call"].as_str().unwrap_or_default();
        let p50 = as_number(&line["p50_ms"]);
        let _ = match line["bytes"].as_f64() {
            Some(bytes) => writeln!(text, "| {call} | {:.1} MB | | |", bytes / 1e6),
            None => writeln!(
                text,
                "| {call} | {p50:.1} ms | {:.1} ms | {:.1} ms |",
                as_number(&line["p95_ms"]),
                // The sum with 0 has no sign where the difference rounds to 0.
                ((p50 - echo) * 10.0).round() / 10.0 + 0.0,
            ),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_compared_with_the_echo() {
        let text = table(&[
            json!({ "call": ECHO, "p50_ms": 1.0, "p95_ms": 2.0 }),
            json!({ "call": "interact", "p50_ms": 3.25, "p95_ms": 5.0 }),
            json!({ "call": "memory", "bytes": 8_400_000 }),
        ]);
        for line in [
            "| an echo tool in Node | 1.0 ms | 2.0 ms | 0.0 ms |",
            "| interact | 3.2 ms | 5.0 ms | 2.3 ms |",
            "| memory | 8.4 MB | | |",
        ] {
            assert!(text.contains(line), "{line} is not in:\n{text}");
        }
    }
}
