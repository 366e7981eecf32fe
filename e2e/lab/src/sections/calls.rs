//! Calls with small results: what they cost the server, and how long they take.

use std::time::Duration;

use anyhow::Result;
use e2e::LargeResult;

use crate::caller::Route;
use crate::clients::{REAL_CLIENTS, STATELESS, VS_CODE_WITHOUT_CAPABILITIES, WITHOUT_CAPABILITIES};
use crate::load::{Figures, Load, Target};
use crate::table::{Table, ratio, time};
use crate::tools::{LoadTools, payload};

const CALLERS: [usize; 3] = [1, 8, 64];
const PAGES: usize = 16;
const PAYLOAD_BYTES: usize = 1_000;

/// Returns the rows of the table. Each is compared with the first.
fn targets() -> Vec<Target> {
    let target = |name, route, tools| Target { name, route, tools };
    let schemas = LoadTools::WITH_SCHEMAS;
    let no_schemas = LoadTools::WITHOUT_SCHEMAS;
    let stateless = Route::Mcp(&STATELESS);
    let plain = Route::Mcp(&WITHOUT_CAPABILITIES);
    let mut targets = vec![target("the floor", Route::Floor, schemas)];
    let clients = REAL_CLIENTS.into_iter();
    targets.extend(clients.map(|client| target(client.name, Route::Mcp(client), schemas)));
    let undeclared = &VS_CODE_WITHOUT_CAPABILITIES;
    targets.extend([
        target(undeclared.name, Route::Mcp(undeclared), schemas),
        target("`POST /tool-call`", Route::ToolCall, schemas),
        target(WITHOUT_CAPABILITIES.name, plain, schemas),
        target(STATELESS.name, stateless, schemas),
        target("the same, without schemas", stateless, no_schemas),
        target("`--compat mcp-web`, without schemas", Route::V1, no_schemas),
    ]);
    targets
}

/// Measures each target with each number of callers.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let (rounds, seconds) = if quick { (1, 0.4) } else { (3, 1.2) };
    let targets = targets();
    let mut figures: Vec<_> = targets
        .iter()
        .map(|_| CALLERS.map(|_| Vec::new()))
        .collect();
    for round in 1..=rounds {
        eprintln!("  round {round} of {rounds}");
        for (column, callers) in CALLERS.into_iter().enumerate() {
            for (&target, figures) in targets.iter().zip(&mut figures) {
                let load = Load {
                    target,
                    payload: payload(LargeResult::Rows, PAYLOAD_BYTES),
                    pages: PAGES,
                    callers,
                    duration: Duration::from_secs_f64(seconds),
                };
                figures[column].push(load.measure().await?);
            }
        }
    }
    let medians = figures.into_iter().map(|row| row.map(Figures::median));
    let medians: Vec<_> = medians.collect();
    let conditions = format!(
        "Server and callers share one core; {PAGES} pages with 10 tools each and results of \
         {PAYLOAD_BYTES} bytes; {seconds} s each time, the median of {rounds}. CPU is that of the \
         server for a call."
    );
    Ok(table(&targets, &medians).section(&conditions))
}

fn table(targets: &[Target], figures: &[[Figures; 3]]) -> Table {
    let mut table = Table::new(&[
        "caller",
        "CPU, 1 caller",
        "p50 / p99",
        "CPU, 8 callers",
        "p50 / p99",
        "CPU, 64 callers",
        "p50 / p99",
    ]);
    for (target, measured) in targets.iter().zip(figures) {
        let mut cells = vec![target.name.to_owned()];
        for (value, floor) in measured.iter().zip(&figures[0]) {
            cells.push(ratio(value.cpu, floor.cpu));
            cells.push(format!("{} / {}", time(value.p50), time(value.p99)));
        }
        table.row(&cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_compared_with_the_floor_for_the_same_number_of_callers() {
        let figures = |cpu| Figures {
            cpu: Duration::from_micros(cpu),
            p50: Duration::from_micros(50),
            p99: Duration::from_micros(99),
            ..Figures::default()
        };
        let measured = [[10, 20, 30], [15, 40, 90]].map(|row| row.map(figures));
        let text = table(&targets()[..2], &measured).section("");
        let row = "| Claude Code | 1.50× (15.0 µs) | 50.0 µs / 99.0 µs | 2.00× (40.0 µs) | \
                   50.0 µs / 99.0 µs | 3.00× (90.0 µs) | 50.0 µs / 99.0 µs |";
        assert!(text.ends_with(row), "{text}");
    }
}
