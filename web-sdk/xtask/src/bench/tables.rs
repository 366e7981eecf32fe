//! The tables of calls, as Markdown.

use std::fmt::Write;

use super::measure::Figures;
use super::plan::{Cell, LARGE_CALLERS, LARGE_PAGES, Plan, Row, Subject};

/// A figure that has a table of its own.
struct Measure {
    title: &'static str,
    value: fn(&Figures) -> f64,
}

const SMALL: [Measure; 4] = [
    Measure {
        title: "CPU of the server for a call",
        value: |figures| figures.cpu,
    },
    Measure {
        title: "of it outside of the kernel",
        value: |figures| figures.user,
    },
    Measure {
        title: "p50",
        value: |figures| figures.p50,
    },
    Measure {
        title: "p99",
        value: |figures| figures.p99,
    },
];

/// Returns the tables of small results: each cell is the ratio to the floor, with the time in
/// parentheses.
pub(super) fn calls(plan: &Plan, figures: impl Fn(&Cell) -> Figures) -> String {
    let tables = SMALL.iter();
    tables
        .map(|measure| small_table(plan, measure, &figures))
        .collect()
}

fn small_table(plan: &Plan, measure: &Measure, figures: impl Fn(&Cell) -> Figures) -> String {
    let mut text = String::new();
    let callers = plan.callers.iter().map(|callers| match callers {
        1 => " 1 caller |".to_owned(),
        _ => format!(" {callers} callers |"),
    });
    let _ = writeln!(
        text,
        "| {}, results of 1 kB |{}",
        measure.title,
        callers.collect::<String>()
    );
    let _ = writeln!(text, "|---|{}", "---|".repeat(plan.callers.len()));
    for row in Row::SMALL {
        let _ = write!(text, "| {row} |");
        for &callers in plan.callers {
            let value = (measure.value)(&figures(&row.cell(callers)));
            let floor = (measure.value)(&figures(&Row::SMALL[0].cell(callers)));
            let _ = write!(text, " {} |", format_ratio(value, floor));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Returns the table of large results, compared with the floor that writes what the bridge writes.
pub(super) fn large(plan: &Plan, figures: impl Fn(&Cell) -> Figures) -> String {
    let mut text = format!(
        "| large results, {LARGE_CALLERS} callers, {LARGE_PAGES} pages | CPU, bridge | CPU, `floor-mcp` | p50, bridge | p50, `floor-mcp` |\n|---|---|---|---|---|\n"
    );
    let cells = plan.large_cells();
    for bridge in cells.iter().filter(|cell| cell.subject == Subject::Bridge) {
        let floor = Cell {
            subject: Subject::FloorMcp,
            schemas: false,
            ..*bridge
        };
        let (bridge_figures, floor_figures) = (figures(bridge), figures(&floor));
        let _ = writeln!(
            text,
            "| {}, {}{} | {} | {} | {} | {} |",
            display_result(bridge.result),
            bridge.route.display_name(),
            if bridge.schemas { ", both schemas" } else { "" },
            format_ratio(bridge_figures.cpu, floor_figures.cpu),
            format_time(floor_figures.cpu),
            format_ratio(bridge_figures.p50, floor_figures.p50),
            format_time(floor_figures.p50),
        );
    }
    text
}

/// Formats the ratio of two times, with the first of them, such as `2.00× (40.0 µs)`.
pub(super) fn format_ratio(micros: f64, base: f64) -> String {
    format!(
        "{:.2}× ({})",
        micros / base.max(f64::MIN_POSITIVE),
        format_time(micros)
    )
}

/// Formats a number of microseconds in µs or ms.
pub(super) fn format_time(micros: f64) -> String {
    match micros {
        ..100.0 => format!("{micros:.1} µs"),
        ..1_000.0 => format!("{micros:.0} µs"),
        ..100_000.0 => format!("{:.1} ms", micros / 1_000.0),
        _ => format!("{:.0} ms", micros / 1_000.0),
    }
}

/// Formats the load generator's name of a result: `100kb-rows` becomes `100 kB rows`.
fn display_result(result: &str) -> String {
    let (size, kind) = result.split_once('-').unwrap_or((result, "rows"));
    let size = size.replace("kb", " kB").replace("mb", " MB");
    let kind = if kind == "rows" { "rows" } else { "one string" };
    format!("{size} {kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_is_a_ratio_to_the_floor() {
        let figures = |cell: &Cell| Figures {
            cpu: if cell.subject == Subject::Bridge {
                30.0
            } else {
                20.0
            },
            user: 10.0,
            p50: 40.0,
            p99: 20_000.0,
        };
        let plan = Plan::quick();
        let text = calls(&plan, figures) + &large(&plan, figures);
        for line in [
            "| CPU of the server for a call, results of 1 kB | 1 caller | 8 callers | 64 callers |",
            "| `floor` | 1.00× (20.0 µs) | 1.00× (20.0 µs) | 1.00× (20.0 µs) |",
            "| `/mcp`, 2025-11-25 | 1.50× (30.0 µs) | 1.50× (30.0 µs) | 1.50× (30.0 µs) |",
            "| `/mcp`, 2026-07-28, both schemas, two messages | 1.50× (30.0 µs) | 1.50× (30.0 µs) | 1.50× (30.0 µs) |",
            "| `POST /tool-call`, both schemas | 1.00× (20.0 ms) | 1.00× (20.0 ms) | 1.00× (20.0 ms) |",
            "| 1 MB one string, `POST /tool-call` | 1.50× (30.0 µs) | 20.0 µs | 1.00× (40.0 µs) | 40.0 µs |",
        ] {
            assert!(text.contains(line), "{line} is not in:\n{text}");
        }
    }
}
