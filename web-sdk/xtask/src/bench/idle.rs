//! The sections on idle pages, which the program `idle` measures.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::json_lines::{self, as_number};
use super::plan::Idle;
use super::server::pinned_command;
use super::tables::{format_ratio, format_time};

/// Measures idle pages, and returns the table of their cost.
pub(super) fn resting(programs: &Path, plan: &Idle) -> Result<String> {
    let mut lines = Vec::new();
    for (per_token, sets) in [
        ("1", "identical"),
        ("1", "distinct"),
        ("50", "identical"),
        ("50", "distinct"),
    ] {
        let description = format!(
            "measuring {} idle pages, {per_token} of each token, {sets} sets",
            plan.pages
        );
        // The program is not pinned to one core, so that pages connect as fast as the bridge
        // accepts them.
        let mut command = Command::new(programs.join("idle"));
        command.args(["resting", &plan.pages.to_string(), &plan.rest.to_string()]);
        command.args(["--heartbeat", &plan.heartbeat.to_string()]);
        command.args(["--per-token", per_token, "--sets", sets]);
        lines.extend(json_lines::run(&description, command)?);
    }
    Ok(format!(
        "{} pages with 10 tools each, watched for {} s; a heartbeat every {} s; 100 calls a second for \
         {} s alone, and as many beside the pages.\n\n{}",
        thousands(plan.pages),
        plan.rest,
        plan.heartbeat,
        plan.rest.min(20),
        resting_table(&lines),
    ))
}

fn resting_table(lines: &[Value]) -> String {
    let mut text =
        "| pages of a token | sets of tools | pages/s | CPU of one that comes | KiB a page | \
        CPU at rest, of a core | p99 of a call alone | beside them | the slowest of all |\n\
        |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for line in lines {
        let (alone, beside) = (&line["alone"], &line["beside"]);
        let (p99, p99_beside) = (as_number(&alone["p99_us"]), as_number(&beside["p99_us"]));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.1} | {:.2} % | {} | {} | {} |",
            line["per_token"],
            line["sets"].as_str().unwrap_or_default(),
            thousands(as_number(&line["pages_per_second"]) as usize),
            format_time(as_number(&line["connecting_us"])),
            as_number(&line["kib"]),
            as_number(&line["cpu_at_rest"]),
            format_time(p99),
            format_ratio(p99_beside, p99),
            format_time(as_number(&beside["slowest_us"])),
        );
    }
    text
}

/// Measures calls and lists beside other sessions, and returns the table of their cost.
pub(super) fn beside(programs: &Path, core: usize, plan: &Idle) -> Result<String> {
    let mut command = pinned_command(core);
    command.arg(programs.join("idle"));
    command.args(["beside", &plan.pages.to_string()]);
    let description = "measuring calls and lists beside other sessions";
    Ok(beside_table(&json_lines::run(description, command)?))
}

fn beside_table(lines: &[Value]) -> String {
    let mut text =
        "| other sessions | `POST /tool-call` | `tools/list` | `floor`, with as many other \
        sockets |\n|---|---|---|---|\n"
            .to_owned();
    let lines_for = |target: &str| -> Vec<&Value> {
        let lines = lines.iter();
        lines.filter(|line| line["target"] == target).collect()
    };
    let (bridge, floor) = (lines_for("bridge"), lines_for("floor"));
    for (bridge_line, floor_line) in bridge.iter().zip(&floor) {
        // The growth is relative to the first line, which has no other sessions.
        let growth = |lines: &[&Value], line: &Value, key: &str| {
            let alone = lines.first().map_or(0.0, |first| as_number(&first[key]));
            format_ratio(as_number(&line[key]), alone)
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            thousands(as_number(&bridge_line["others"]) as usize),
            growth(&bridge, bridge_line, "call_us"),
            growth(&bridge, bridge_line, "list_us"),
            growth(&floor, floor_line, "call_us"),
        );
    }
    text
}

/// Measures the registration of many pages of one token, and returns the table of its cost.
pub(super) fn registering(programs: &Path, core: usize, plan: &Idle) -> Result<String> {
    let mut command = pinned_command(core);
    command.arg(programs.join("idle")).arg("registering");
    command.args(["--registering", &plan.registering.to_string()]);
    let lines = json_lines::run("measuring registrations", command)?;
    Ok(registering_table(&lines))
}

fn registering_table(lines: &[Value]) -> String {
    let samples = |line: &Value| line["near"].as_array().cloned().unwrap_or_default();
    let columns = lines.first().map(samples).unwrap_or_default();
    let mut text = "| CPU of a page with 100 tools |".to_owned();
    for sample in &columns {
        let _ = write!(text, " near page {} |", sample["page"]);
    }
    text.push_str(" average |\n|---|");
    text.push_str(&"---|".repeat(columns.len()));
    text.push_str("---|\n");
    for line in lines {
        let sets = line["sets"].as_str().unwrap_or_default();
        let _ = write!(text, "| {sets} sets |");
        for sample in samples(line) {
            let _ = write!(text, " {} |", format_time(as_number(&sample["cpu_us"])));
        }
        let _ = writeln!(text, " {} |", format_time(as_number(&line["average_us"])));
    }
    text
}

/// Formats a number such as `10,000`.
fn thousands(number: usize) -> String {
    if number < 1_000 {
        number.to_string()
    } else {
        format!("{},{:03}", thousands(number / 1_000), number % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_contain_the_figures_and_their_growth() {
        let resting = resting_table(&[json!({ "per_token": 50, "sets": "distinct",
            "pages_per_second": 12_345.6, "connecting_us": 250.0, "kib": 8.61, "cpu_at_rest": 1.875,
            "alone": { "p99_us": 100.0 }, "beside": { "p99_us": 150.0, "slowest_us": 4_200.0 } })]);
        let line =
            "| 50 | distinct | 12,345 | 250 µs | 8.6 | 1.88 % | 100 µs | 1.50× (150 µs) | 4.2 ms |";
        assert!(resting.contains(line), "{resting}");

        let figures = |target: &str, others: usize, call: f64| json!({ "target": target, "others": others, "call_us": call, "list_us": 2.0 * call });
        let beside = beside_table(&[
            figures("bridge", 0, 20.0),
            figures("bridge", 10_000, 22.0),
            figures("floor", 0, 10.0),
            figures("floor", 10_000, 12.0),
        ]);
        let line = "| 10,000 | 1.10× (22.0 µs) | 1.10× (44.0 µs) | 1.20× (12.0 µs) |";
        assert!(beside.contains(line), "{beside}");

        let near = json!([{ "page": 10, "cpu_us": 900.0 }, { "page": 300, "cpu_us": 1_000.0 }]);
        let registering =
            registering_table(&[json!({ "sets": "identical", "near": near, "average_us": 950.0 })]);
        for line in [
            "| CPU of a page with 100 tools | near page 10 | near page 300 | average |",
            "| identical sets | 900 µs | 1.0 ms | 950 µs |",
        ] {
            assert!(registering.contains(line), "{registering}");
        }
    }
}
