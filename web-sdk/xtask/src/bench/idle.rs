//! Pages that do nothing: the program `idle` measures them, and prints lines of JSON.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Bench;
use super::server::pinned_command;
use super::tables::format_time;
use crate::process::capture;
use crate::step::{Outcome, step};

/// The table of pages at rest.
pub(super) fn resting(bench: &Bench) -> Result<String> {
    let idle = &bench.plan.idle;
    let mut lines = Vec::new();
    for (per_token, sets) in [
        ("1", "identical"),
        ("1", "distinct"),
        ("50", "identical"),
        ("50", "distinct"),
    ] {
        let what = format!(
            "measuring {} pages at rest, {per_token} of each token, {sets} sets",
            idle.pages
        );
        // On all cores: pages come as fast as the bridge takes them.
        let mut command = Command::new(bench.programs.join("idle"));
        command.args(["resting", &idle.pages.to_string(), &idle.rest.to_string()]);
        command.args(["--heartbeat", &idle.heartbeat.to_string()]);
        command.args(["--per-token", per_token, "--sets", sets]);
        lines.extend(run_json_lines(&what, command)?);
    }
    Ok(format!(
        "{} pages with 10 tools each, watched for {} s; a heartbeat every {} s; 100 calls a second for \
         {} s alone, and as many beside the pages.\n\n{}",
        thousands(idle.pages),
        idle.rest,
        idle.heartbeat,
        idle.rest.min(20),
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
            "| {} | {} | {} | {} | {:.1} | {:.2} % | {} | {:.2}× ({}) | {} |",
            line["per_token"],
            line["sets"].as_str().unwrap_or_default(),
            thousands(as_number(&line["pages_per_second"]) as usize),
            format_time(as_number(&line["connecting_us"])),
            as_number(&line["kib"]),
            as_number(&line["cpu_at_rest"]),
            format_time(p99),
            format_ratio(p99_beside, p99),
            format_time(p99_beside),
            format_time(as_number(&beside["slowest_us"])),
        );
    }
    text
}

/// The table of what other sessions cost calls and lists.
pub(super) fn beside(bench: &Bench) -> Result<String> {
    let mut command = pinned_command(bench.core);
    command.arg(bench.programs.join("idle"));
    command.args(["beside", &bench.plan.idle.pages.to_string()]);
    let what = "measuring calls and lists beside other sessions";
    Ok(beside_table(&run_json_lines(what, command)?))
}

fn beside_table(lines: &[Value]) -> String {
    let mut text =
        "| other sessions | `POST /tool-call` | `tools/list` | `floor`, with as many other \
        sockets |\n|---|---|---|---|\n"
            .to_owned();
    let of = |target: &str| -> Vec<&Value> {
        let lines = lines.iter();
        lines.filter(|line| line["target"] == target).collect()
    };
    let (bridge, floor) = (of("bridge"), of("floor"));
    for (with, floor_with) in bridge.iter().zip(&floor) {
        let growth = |all: &[&Value], with: &Value, key: &str| {
            let alone = all.first().map_or(0.0, |first| as_number(&first[key]));
            let micros = as_number(&with[key]);
            format!(
                "{:.2}× ({})",
                format_ratio(micros, alone),
                format_time(micros)
            )
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            thousands(as_number(&with["others"]) as usize),
            growth(&bridge, with, "call_us"),
            growth(&bridge, with, "list_us"),
            growth(&floor, floor_with, "call_us"),
        );
    }
    text
}

/// The table of many pages of one token that register.
pub(super) fn registering(bench: &Bench) -> Result<String> {
    let mut command = pinned_command(bench.core);
    command.arg(bench.programs.join("idle")).arg("registering");
    let pages = bench.plan.idle.registering.to_string();
    command.args(["--registering", &pages]);
    Ok(registering_table(&run_json_lines(
        "measuring registrations",
        command,
    )?))
}

fn registering_table(lines: &[Value]) -> String {
    let near = |line: &Value| line["near"].as_array().cloned().unwrap_or_default();
    let mut text = "| CPU of a page with 100 tools |".to_owned();
    for near in lines.first().map(near).unwrap_or_default() {
        let _ = write!(text, " near page {} |", near["page"]);
    }
    text.push_str(" average |\n|---|");
    text.push_str(&"---|".repeat(lines.first().map_or(0, |line| near(line).len())));
    text.push_str("---|\n");
    for line in lines {
        let sets = line["sets"].as_str().unwrap_or_default();
        let _ = write!(text, "| {sets} sets |");
        for near in near(line) {
            let _ = write!(text, " {} |", format_time(as_number(&near["cpu_us"])));
        }
        let _ = writeln!(text, " {} |", format_time(as_number(&line["average_us"])));
    }
    text
}

pub(super) fn run_json_lines(what: &str, mut command: Command) -> Result<Vec<Value>> {
    command.arg("--json");
    step(what, || {
        let printed = capture(&mut command, &format!("{what}: see what is wrong above"))?;
        let lines = printed.lines().map(serde_json::from_str);
        let lines: Vec<Value> = lines
            .collect::<Result<_, _>>()
            .with_context(|| format!("{what}: no figures in {printed:?}"))?;
        for line in &lines {
            println!("    {line}");
        }
        Ok(Outcome::Done(lines))
    })
}

pub(super) fn as_number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn format_ratio(value: f64, of: f64) -> f64 {
    value / of.max(f64::MIN_POSITIVE)
}

/// `10,000`
fn thousands(number: usize) -> String {
    match number {
        few @ 0..1_000 => few.to_string(),
        many => format!("{},{:03}", thousands(many / 1_000), many % 1_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_show_what_was_measured_and_how_it_grows() {
        let resting = resting_table(&[json!({ "per_token": 50, "sets": "distinct",
            "pages_per_second": 12_345.6, "connecting_us": 250.0, "kib": 8.61, "cpu_at_rest": 1.875,
            "alone": { "p99_us": 100.0 }, "beside": { "p99_us": 150.0, "slowest_us": 4_200.0 } })]);
        let line =
            "| 50 | distinct | 12,345 | 250 µs | 8.6 | 1.88 % | 100 µs | 1.50× (150 µs) | 4.2 ms |";
        assert!(resting.contains(line), "{resting}");

        let of = |target: &str, others: usize, call: f64| json!({ "target": target, "others": others, "call_us": call, "list_us": 2.0 * call });
        let lines = [
            of("bridge", 0, 20.0),
            of("bridge", 10_000, 22.0),
            of("floor", 0, 10.0),
        ];
        let beside = beside_table(&[&lines[..], &[of("floor", 10_000, 12.0)]].concat());
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
