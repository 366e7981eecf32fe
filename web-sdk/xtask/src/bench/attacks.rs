//! The section on attacks, which the program `attack` measures.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::json_lines::{self, as_number};
use super::plan::Attacks;
use super::tables::{format_ratio, format_time};
use crate::process::try_capture;

/// How many times as long as alone the slowest calls of a victim may take during an attack.
const MAX_P99_RATIO: f64 = 3.0;

/// The part of its calls that a victim must get answered.
const MIN_CALLS: f64 = 0.5;

/// How many times as much memory as before a bridge may have after the rest.
const MAX_MEMORY_RATIO: f64 = 1.2;

/// The memory of an MCP session in docs/configuration.md, in MiB.
const MCP_SESSION_MIB: f64 = 100.0 / 1024.0;

/// The maximum of `/healthz`, in microseconds.
const MAX_HEALTH_US: f64 = 50_000.0;

/// The other work on the machine, in cores, from which on the table mentions it.
const MIN_OTHER_CORES: f64 = 0.1;

/// The scheduling of the victim: before everything else on the machine.
const REALTIME: [&str; 3] = ["--reset-on-fork", "--rr", "2"];

/// Measures all attacks, and returns the table of what others notice. With `is_busy`, the machine
/// has other work, and bridge and attacker have priority over it.
pub(super) fn attacks(programs: &Path, plan: &Attacks, is_busy: bool) -> Result<String> {
    let has_priority = try_capture(Command::new("chrt").args(REALTIME).arg("true")).is_some();
    ensure!(
        has_priority || !is_busy,
        "`chrt --rr` is not allowed: run as root, or without --busy"
    );
    let program = programs.join("attack");
    let mut command = if has_priority {
        let mut command = Command::new("chrt");
        command.args(REALTIME).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.arg("measure");
    command.args(["--seconds", &plan.seconds.to_string()]);
    command.args(["--rest", &plan.rest.to_string()]);
    if is_busy {
        command.arg("--realtime");
    }
    let lines = json_lines::run("measuring attacks", command)?;
    let mut text = conditions(&lines, plan);
    if is_busy {
        text.push_str(
            " The bridge had real-time priority as well, and the attacker the highest after it, \
             because of that other work. The kernel stops a bridge that uses all cores for up to \
             50 ms a second then.",
        );
    }
    if !has_priority {
        text.push_str(
            " The victim had no priority, because `chrt --rr` is not allowed: its times are also \
             those in which it waits for a core.",
        );
    }
    text.push_str("\n\n");
    text.push_str(&table(&lines, plan));
    Ok(text)
}

/// Returns how the figures were taken.
fn conditions(lines: &[Value], plan: &Attacks) -> String {
    let alone = &lines.first().map_or(&Value::Null, |line| &line["alone"]);
    let mut text = format!(
        "{} s alone and {} s of each attack. Alone, the victim gets {} of {} calls answered, with a \
         p99 of {}: the median of all rows.",
        plan.seconds,
        plan.seconds,
        as_number(&alone["calls"]),
        as_number(&alone["calls_due"]),
        format_time(p99_alone(lines)),
    );
    let other = lines.iter().map(|line| as_number(&line["other_cores"]));
    let other = other.fold(0.0, f64::max);
    if other >= MIN_OTHER_CORES {
        let _ = write!(
            text,
            " Other work took up to {other:.1} cores meanwhile, and is in these figures."
        );
    }
    text
}

fn table(lines: &[Value], plan: &Attacks) -> String {
    let rest = plan.rest;
    let mut text = format!(
        "| attack | done in a second | cores of the bridge | p99 of a call | calls answered | \
         new pages | `/healthz`, p99 | MiB before | at most | {rest} s after | of which stored | missed \
         |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    let alone = p99_alone(lines);
    for line in lines {
        let during = &line["during"];
        let number = |key: &str| as_number(&line[key]);
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} | {} | {} of {} | {} of {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {} |",
            line["description"].as_str().unwrap_or_default(),
            format_rate(
                number("actions") / number("seconds").max(f64::MIN_POSITIVE),
                line
            ),
            number("bridge_cores"),
            format_ratio(as_number(&during["p99_us"]), alone),
            during["calls"],
            during["calls_due"],
            during["newcomers_admitted"],
            during["newcomers"],
            format_time(as_number(&during["health_p99_us"])),
            number("before_mib"),
            number("peak_mib"),
            number("after_mib"),
            stored_mib(line),
            missed(line, alone).join(", "),
        );
    }
    text
}

/// Returns the names of the demands that a line misses.
fn missed(line: &Value, alone: f64) -> Vec<&'static str> {
    let during = &line["during"];
    let mut missed = Vec::new();
    let mut require = |is_met: bool, name| {
        if !is_met {
            missed.push(name);
        }
    };
    let p99 = as_number(&during["p99_us"]);
    require(p99 <= MAX_P99_RATIO * alone, "p99");
    let calls = as_number(&during["calls"]) / as_number(&line["alone"]["calls"]).max(1.0);
    require(calls >= MIN_CALLS, "calls");
    let pages = [&during["newcomers_admitted"], &during["newcomers"]];
    require(pages[0] == pages[1], "new pages");
    let health = as_number(&during["health_p99_us"]);
    require(health <= MAX_HEALTH_US, "`/healthz`");
    let memory = as_number(&line["after_mib"]) - stored_mib(line);
    let max_memory = MAX_MEMORY_RATIO * as_number(&line["before_mib"]);
    require(memory <= max_memory, "memory");
    missed
}

/// Returns the memory of what the bridge stores for later, in MiB.
fn stored_mib(line: &Value) -> f64 {
    let stored = &line["stored"];
    as_number(&stored["pools_mib"]) + as_number(&stored["mcp_sessions"]) * MCP_SESSION_MIB
}

/// Returns the median of what the victims had before the attacks, in microseconds.
fn p99_alone(lines: &[Value]) -> f64 {
    let mut alone: Vec<f64> = lines
        .iter()
        .map(|line| as_number(&line["alone"]["p99_us"]))
        .collect();
    alone.sort_by(f64::total_cmp);
    alone.get(alone.len() / 2).copied().unwrap_or_default()
}

/// Formats how often an attacker does what it does, such as `1.2 M frames`.
fn format_rate(rate: f64, line: &Value) -> String {
    let unit = line["unit"].as_str().unwrap_or_default();
    match rate {
        1e6.. => format!("{:.1} M {unit}", rate / 1e6),
        1e4.. => format!("{:.0} k {unit}", rate / 1e3),
        10.0.. => format!("{rate:.0} {unit}"),
        _ => format!("{rate:.1} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAN: Attacks = Attacks {
        seconds: 10.0,
        rest: 60.0,
    };

    fn line(p99: f64, calls: usize, after: f64, stored: f64) -> Value {
        json!({ "description": "pings", "actions": 12_000_000, "unit": "frames", "seconds": 10.0,
            "alone": { "p99_us": 500.0, "calls": 1_000, "calls_due": 1_000 },
            "during": { "p99_us": p99, "calls": calls, "calls_due": 1_000, "health_p99_us": 600.0,
                "newcomers": 20, "newcomers_admitted": 20 },
            "bridge_cores": 1.25, "other_cores": 0.02,
            "before_mib": 20.0, "peak_mib": 25.0, "after_mib": after,
            "stored": { "pools_mib": stored, "mcp_sessions": 0 } })
    }

    #[test]
    fn a_row_has_the_figures_and_what_is_missed() {
        let lines = [
            line(1_000.0, 1_000, 24.0, 0.0),
            line(2_000.0, 400, 30.0, 0.0),
            line(1_000.0, 1_000, 30.0, 6.5),
        ];
        let text = table(&lines, &PLAN);
        for row in [
            "| pings | 1.2 M frames | 1.2 | 2.00× (1.0 ms) | 1000 of 1000 | 20 of 20 | 600 µs | 20.0 | 25.0 | 24.0 | 0.0 |  |",
            "| pings | 1.2 M frames | 1.2 | 4.00× (2.0 ms) | 400 of 1000 | 20 of 20 | 600 µs | 20.0 | 25.0 | 30.0 | 0.0 | p99, calls, memory |",
            "| pings | 1.2 M frames | 1.2 | 2.00× (1.0 ms) | 1000 of 1000 | 20 of 20 | 600 µs | 20.0 | 25.0 | 30.0 | 6.5 |  |",
        ] {
            assert!(text.contains(row), "{text}");
        }
    }

    #[test]
    fn other_work_on_the_machine_is_told() {
        let mut lines = [line(1_000.0, 1_000, 24.0, 0.0)];
        assert!(!conditions(&lines, &PLAN).contains("Other work"));
        lines[0]["other_cores"] = json!(0.5);
        let text = conditions(&lines, &PLAN);
        assert!(text.contains("Other work took up to 0.5 cores"), "{text}");
    }
}
