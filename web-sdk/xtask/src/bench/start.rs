//! The section on the start of a page, which the program `start` measures.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::json_lines::{self, as_number};
use crate::chromium::Chromium;
use crate::process::try_capture;
use crate::{Workspace, node};

/// The folder of the pages and of the packages that are compared.
const FOLDER: &str = "e2e/start";

/// How the start of a page is measured.
#[derive(Debug)]
pub(super) struct StartPlan {
    /// How often each page is loaded.
    loads: usize,
    /// How long idle pages are observed, in seconds.
    rest: &'static [u64],
}

impl StartPlan {
    pub(super) fn new(quick: bool) -> Self {
        if quick {
            Self {
                loads: 2,
                rest: &[5],
            }
        } else {
            Self {
                loads: 11,
                rest: &[10, 60],
            }
        }
    }
}

/// Measures the start of each page, and returns the tables of its cost and of what remains.
pub(super) fn start(workspace: &Workspace, programs: &Path, plan: &StartPlan) -> Result<String> {
    let chromium = Chromium::ensure()?;
    let node = node::ensure_node(workspace)?;
    node::install_pinned(workspace, FOLDER, "e2e-start")?;
    let rest: Vec<String> = plan.rest.iter().map(u64::to_string).collect();
    let mut command = Command::new(programs.join("start"));
    command
        .args(["--loads", &plan.loads.to_string()])
        .args(["--rest", &rest.join(",")])
        .env("MCP_WEB_CHROMIUM", &chromium.browser)
        .env("MCP_WEB_CHROMEDRIVER", &chromium.driver)
        .env("MCP_WEB_NODE", node);
    let lines = json_lines::run("measuring the start of pages", command)?;
    let version = try_capture(Command::new(&chromium.browser).arg("--version"));
    let version = version.as_deref().map_or("Chromium", first_words);
    let manifest = workspace.path(FOLDER).join("package.json");
    let manifest =
        fs::read_to_string(&manifest).with_context(|| format!("restore {}", manifest.display()))?;
    Ok(format!(
        "{} loads of each page in headless {version}, each in a new browser, the pages in turn; {}.\n\n{}",
        plan.loads,
        packages(&serde_json::from_str(&manifest).context("package.json is not valid JSON")?),
        tables(&lines)
    ))
}

/// Returns the name and version in a text like `Chromium 156.0.8078.79 built on Debian`.
fn first_words(version: &str) -> &str {
    let end = version.match_indices(' ').nth(1);
    end.map_or(version.trim(), |(end, _)| &version[..end])
}

/// Lists the packages of a package.json with their versions.
fn packages(manifest: &Value) -> String {
    let packages = manifest["dependencies"].as_object().into_iter().flatten();
    let packages = packages.map(|(name, version)| {
        let version = version.as_str().unwrap_or_default();
        format!("`{name}` {version}")
    });
    packages.collect::<Vec<_>>().join(", ")
}

fn tables(lines: &[Value]) -> String {
    let mut text =
        "| page | files | bytes after brotli | tool registered after | scripts | CPU, main thread | \
         CPU, process | JavaScript heap |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for line in lines.iter().filter(|line| line["loads"].is_number()) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            title(line),
            as_number(&line["files"]["median"]),
            format_bytes(as_number(&line["bytes"]["median"])),
            format_spread(&line["registered_ms"], "ms"),
            format_spread(&line["script_ms"], "ms"),
            format_spread(&line["thread_ms"], "ms"),
            format_spread(&line["process_ms"], "ms"),
            format_spread(&line["heap_kib"], "KiB"),
        );
    }
    let at_rest: Vec<&Value> = lines
        .iter()
        .filter(|line| line["timers"].is_array())
        .collect();
    let durations = at_rest
        .first()
        .map_or(&Value::Null, |line| &line["wake_ups"]);
    let durations = durations.as_array().into_iter().flatten();
    let columns = durations.map(|wake_ups| format!(" calls in {} s |", wake_ups["seconds"]));
    let columns: Vec<String> = columns.collect();
    let _ = writeln!(
        text,
        "\n| page at rest | timers | listeners on `window` and `document` | WebAssembly memory |{}",
        columns.concat()
    );
    let _ = writeln!(text, "|---|---|---|---|{}", "---|".repeat(columns.len()));
    for line in at_rest {
        let wake_ups = line["wake_ups"].as_array().into_iter().flatten();
        let wake_ups = wake_ups.map(|wake_ups| format!(" {} |", wake_ups["count"]));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} KiB |{}",
            title(line),
            format_timers(&line["timers"]),
            line["listeners"].as_array().map_or(0, Vec::len),
            as_number(&line["wasm_memory_kib"]),
            wake_ups.collect::<String>(),
        );
    }
    text
}

/// Returns the name of a line's page in tables, as Markdown.
fn title(line: &Value) -> &str {
    match line["page"].as_str().unwrap_or_default() {
        "nothing" => "nothing",
        "mcp-web" => "**MCP-Web**, from the bridge",
        "mcp-web-bundled" => "**MCP-Web**, bundled",
        "webmcp" => "`@jason.today/webmcp`",
        "mcp-b-global" => "`@mcp-b/global`, no connection",
        "mcp-b-global-bundled" => "the same, bundled",
        "mcp-b-relay" => "`@mcp-b/global` with `webmcp-local-relay`",
        other => other,
    }
}

/// Formats a number of bytes with a comma after the thousands.
fn format_bytes(bytes: f64) -> String {
    match bytes {
        ..1_000.0 => format!("{bytes:.0}"),
        _ => format!("{:.0},{:03.0}", (bytes / 1_000.0).floor(), bytes % 1_000.0),
    }
}

/// Formats a median with the range of all measurements, such as `41 ms (38–45)`.
fn format_spread(spread: &Value, unit: &str) -> String {
    let [median, min, max] = ["median", "min", "max"].map(|key| as_number(&spread[key]));
    // Two significant digits are as much as the spread allows.
    if max < 10.0 {
        format!("{median:.1} {unit} ({min:.1}–{max:.1})")
    } else {
        format!("{median:.0} {unit} ({min:.0}–{max:.0})")
    }
}

/// Formats the number of timers, with the timers in parentheses.
fn format_timers(timers: &Value) -> String {
    let timers = timers.as_array().into_iter().flatten();
    let names: Vec<String> = timers
        .filter_map(Value::as_str)
        .map(|timer| format!("`{timer}`"))
        .collect();
    if names.is_empty() {
        return "0".to_owned();
    }
    format!("{} ({})", names.len(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_contain_the_start_and_the_rest_of_each_page() {
        let spread = |median: f64| json!({ "median": median, "min": 9.0, "max": 45.25 });
        let text = tables(&[
            json!({ "page": "mcp-web", "loads": 11, "files": spread(4.0), "bytes": spread(41_023.0),
                "registered_ms": spread(39.6), "script_ms": { "median": 3.26, "min": 2.0, "max": 4.0 },
                "thread_ms": spread(20.0), "process_ms": spread(30.0), "heap_kib": spread(690.0) }),
            json!({ "page": "mcp-web", "timers": ["setTimeout 60000 ms"], "listeners": ["window focus"],
                "wasm_memory_kib": 1088.0, "wake_ups": [{ "seconds": 10, "count": 0 },
                    { "seconds": 60, "count": 2 }] }),
        ]);
        for line in [
            "| **MCP-Web**, from the bridge | 4 | 41,023 | 40 ms (9–45) | 3.3 ms (2.0–4.0) | 20 ms (9–45) \
             | 30 ms (9–45) | 690 KiB (9–45) |",
            "| page at rest | timers | listeners on `window` and `document` | WebAssembly memory | calls \
             in 10 s | calls in 60 s |\n|---|---|---|---|---|---|\n",
            "| **MCP-Web**, from the bridge | 1 (`setTimeout 60000 ms`) | 1 | 1088 KiB | 0 | 2 |",
        ] {
            assert!(text.contains(line), "{line} is not in:\n{text}");
        }
    }

    #[test]
    fn versions_are_named() {
        let manifest = json!({ "dependencies": { "@a/b": "1.2.3", "c": "4.5.6" } });
        assert_eq!(packages(&manifest), "`@a/b` 1.2.3, `c` 4.5.6");
        assert_eq!(
            first_words("Chromium 156.0.1 built on Debian\n"),
            "Chromium 156.0.1"
        );
        assert_eq!(first_words("Chromium 156.0.1\n"), "Chromium 156.0.1");
    }

    #[test]
    fn bytes_have_a_comma_after_the_thousands() {
        assert_eq!(
            [0.0, 999.0, 5_062.0, 84_900.0].map(format_bytes),
            ["0", "999", "5,062", "84,900"]
        );
    }
}
