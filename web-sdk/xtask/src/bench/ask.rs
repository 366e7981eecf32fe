//! The section on queries, which the program `ask` measures.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::json_lines::{self, as_number};
use super::plan::Ask;
use super::tables::format_time;

/// Measures queries, and returns the tables of the time to the first word, of concurrent queries, of
/// what the model writes in pieces, and of the agent's own tools.
pub(super) fn ask(programs: &Path, plan: &Ask) -> Result<String> {
    let mut command = Command::new(programs.join("ask"));
    command.args(["--queries", &plan.queries.to_string()]);
    command.args(["--at-once", &plan.at_once.to_string()]);
    let lines = json_lines::run("measuring queries", command)?;
    Ok(format!(
        "{} queries on each wire, one after the other; {} at once.\n\n{}",
        plan.queries,
        plan.at_once,
        tables(&lines)
    ))
}

fn tables(lines: &[Value]) -> String {
    let mut text = "| wire | first word, p50 | p99 | a question is with the provider, p50 |\n\
        |---|---|---|---|\n"
        .to_owned();
    for line in lines.iter().filter(|line| line["provider"].is_string()) {
        let time = |key: &str| format_time(as_number(&line[key]));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            line["provider"].as_str().unwrap_or_default(),
            time("p50_us"),
            time("p99_us"),
            time("asking_p50_us"),
        );
    }
    text.push_str(
        "\n| queries at once | completed | agent before | with all in flight | afterwards | \
         CPU of the agent for one | all asked within | all answered within |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for line in lines.iter().filter(|line| line["completed"].is_number()) {
        let mib = |key: &str| format!("{:.1} MiB", as_number(&line[key]));
        let seconds = |key: &str| format!("{:.2} s", as_number(&line[key]));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            line["queries"],
            line["completed"],
            mib("before_mib"),
            mib("during_mib"),
            mib("after_mib"),
            format_time(as_number(&line["cpu_us"])),
            seconds("asked_s"),
            seconds("answered_s"),
        );
    }
    text.push_str(
        "\n| what is written in pieces | pieces | queries at once | events for one | CPU of the agent \
         for one | CPU of the bridge for one |\n|---|---|---|---|---|---|\n",
    );
    for line in lines.iter().filter(|line| line["writing"].is_string()) {
        let time = |key: &str| format_time(as_number(&line[key]));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} | {} | {} |",
            match line["writing"].as_str() {
                Some("text") => "a text",
                Some("arguments") => "the arguments of a call",
                _ => "nothing",
            },
            line["pieces"],
            line["queries"],
            as_number(&line["events"]),
            time("agent_cpu_us"),
            time("bridge_cpu_us"),
        );
    }
    text.push_str(
        "\n| tool of the agent | users at once | calls | half within | 95 % within | all within |\n\
         |---|---|---|---|---|---|\n",
    );
    for line in lines.iter().filter(|line| line["source"].is_string()) {
        let time = |key: &str| format_time(as_number(&line[key]) * 1000.0);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            match line["source"].as_str() {
                Some("notes") => "a directory of files",
                _ => "an MCP server over stdio",
            },
            line["users"],
            line["calls"],
            time("p50_below_ms"),
            time("p95_below_ms"),
            time("max_below_ms"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_contain_first_words_and_concurrent_queries() {
        let text = tables(&[
            json!({ "provider": "anthropic", "queries": 500, "p50_us": 900.0, "p99_us": 4_200.0,
                "asking_p50_us": 5_000.0 }),
            json!({ "queries": 500, "completed": 500, "asked_s": 1.5, "answered_s": 2.0,
                "before_mib": 14.2, "during_mib": 60.0, "after_mib": 55.0, "cpu_us": 1_800.0 }),
            json!({ "writing": "arguments", "pieces": 1000, "queries": 50, "events": 45.2,
                "agent_cpu_us": 9_000.0, "bridge_cpu_us": 2_000.0 }),
            json!({ "source": "notes", "users": 16, "calls": 800, "p50_below_ms": 0.5,
                "p95_below_ms": 2.0, "max_below_ms": 5.0 }),
        ]);
        for line in [
            "| anthropic | 900 µs | 4.2 ms | 5.0 ms |",
            "| 500 | 500 | 14.2 MiB | 60.0 MiB | 55.0 MiB | 1.8 ms | 1.50 s | 2.00 s |",
            "| the arguments of a call | 1000 | 50 | 45 | 9.0 ms | 2.0 ms |",
            "| a directory of files | 16 | 800 | 500 µs | 2.0 ms | 5.0 ms |",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
