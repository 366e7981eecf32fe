//! Queries: the program `ask` measures them, and prints lines of JSON.

use std::fmt::Write;
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::Bench;
use super::idle::{as_number, run_json_lines};
use super::tables::format_time;

/// The tables of first words and of queries at once.
pub(super) fn ask(bench: &Bench) -> Result<String> {
    let ask = &bench.plan.ask;
    let mut command = Command::new(bench.programs.join("ask"));
    command.args(["--queries", &ask.queries.to_string()]);
    command.args(["--at-once", &ask.at_once.to_string()]);
    let lines = run_json_lines("measuring queries", command)?;
    Ok(format!(
        "{} queries on each wire, one after the other; {} at once.\n\n{}",
        ask.queries,
        ask.at_once,
        tables(&lines)
    ))
}

fn tables(lines: &[Value]) -> String {
    let mut text = "| wire | first word, p50 | p99 | a question is with the provider, p50 |\n\
        |---|---|---|---|\n"
        .to_owned();
    for line in lines.iter().filter(|line| line["provider"].is_string()) {
        let of = |key: &str| format_time(as_number(&line[key]));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            line["provider"].as_str().unwrap_or_default(),
            of("p50_us"),
            of("p99_us"),
            of("asking_p50_us"),
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
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_show_first_words_and_queries_at_once() {
        let text = tables(&[
            json!({ "provider": "anthropic", "queries": 500, "p50_us": 900.0, "p99_us": 4_200.0,
                "asking_p50_us": 5_000.0 }),
            json!({ "queries": 500, "completed": 500, "asked_s": 1.5, "answered_s": 2.0,
                "before_mib": 14.2, "during_mib": 60.0, "after_mib": 55.0, "cpu_us": 1_800.0 }),
        ]);
        for line in [
            "| anthropic | 900 µs | 4.2 ms | 5.0 ms |",
            "| 500 | 500 | 14.2 MiB | 60.0 MiB | 55.0 MiB | 1.8 ms | 1.50 s | 2.00 s |",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
