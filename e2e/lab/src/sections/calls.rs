//! Calls with small results: what they cost the server, and how long they take.

use std::time::Duration;

use anyhow::{Context, Result};
use e2e::LargeResult;

use crate::caller::Route;
use crate::clients::{REAL_CLIENTS, STATELESS, VS_CODE, WITHOUT_CAPABILITIES};
use crate::load::{Figures, Load};
use crate::table::{Table, ratio, time};
use crate::tools::{LoadTools, payload};

const CALLERS: [usize; 3] = [1, 8, 64];
const PAGES: usize = 16;
const PAYLOAD_BYTES: usize = 1_000;

/// A row of the table.
struct Row {
    name: String,
    route: Route,
    tools: LoadTools,
}

fn rows() -> Vec<Row> {
    let row = |name: &str, route, tools| Row {
        name: name.to_owned(),
        route,
        tools,
    };
    let schemas = LoadTools::WITH_SCHEMAS;
    let mut rows = vec![row("the floor", Route::Floor, schemas)];
    let clients = REAL_CLIENTS.into_iter();
    rows.extend(clients.map(|client| row(client.name, Route::Mcp(client), schemas)));
    let asks_nothing = LoadTools {
        may_ask_client: false,
        ..schemas
    };
    let v1 = LoadTools::WITHOUT_SCHEMAS;
    rows.extend([
        row(
            "VS Code, tools that never ask it",
            Route::Mcp(&VS_CODE),
            asks_nothing,
        ),
        row("`POST /tool-call`", Route::ToolCall, schemas),
        row(
            WITHOUT_CAPABILITIES.name,
            Route::Mcp(&WITHOUT_CAPABILITIES),
            schemas,
        ),
        row(STATELESS.name, Route::Mcp(&STATELESS), schemas),
        row("the same, without schemas", Route::Mcp(&STATELESS), v1),
        row("`--compat mcp-web`, without schemas", Route::V1, v1),
    ]);
    rows
}

/// Measures each row with each number of callers.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let (rounds, seconds) = if quick { (1, 0.4) } else { (3, 1.2) };
    let (rows, warm_up) = (rows(), seconds / 4.0);
    let mut figures = Vec::new();
    for row in &rows {
        figures.push(CALLERS.map(|_| Vec::new()));
        eprintln!("  {}", row.name);
    }
    for round in 1..=rounds {
        eprintln!("  round {round} of {rounds}");
        for (column, callers) in CALLERS.into_iter().enumerate() {
            for (row, figures) in rows.iter().zip(&mut figures) {
                let load = Load {
                    route: row.route,
                    tools: row.tools,
                    payload: payload(LargeResult::Rows, PAYLOAD_BYTES).into(),
                    pages: PAGES,
                    callers,
                    warm_up: Duration::from_secs_f64(warm_up),
                    duration: Duration::from_secs_f64(seconds),
                };
                let measured = load.measure().await;
                figures[column].push(measured.with_context(|| row.name.clone())?);
            }
        }
    }
    let figures: Vec<_> = figures
        .into_iter()
        .map(|row| row.map(Figures::median))
        .collect();
    let conditions = format!(
        "Server and callers share one core; {PAGES} pages with 10 tools each and results of \
         {PAYLOAD_BYTES} bytes; {seconds} s each time after {warm_up} s of warming up, the median of \
         {rounds}. CPU is that of the server for a call."
    );
    Ok(table(&rows, &figures).section(&conditions))
}

fn table(rows: &[Row], figures: &[[Figures; 3]]) -> Table {
    let mut table = Table::new(&[
        "caller",
        "CPU, 1 caller",
        "p50 / p99",
        "CPU, 8 callers",
        "p50 / p99",
        "CPU, 64 callers",
        "p50 / p99",
    ]);
    for (row, measured) in rows.iter().zip(figures) {
        let mut cells = vec![row.name.clone()];
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
        };
        let rows = rows();
        let measured = [[10, 20, 30], [15, 40, 90]].map(|row| row.map(figures));
        let text = table(&rows[..2], &measured).section("");
        let row = "| Claude Code | 1.50× (15.0 µs) | 50.0 µs / 99.0 µs | 2.00× (40.0 µs) | \
                   50.0 µs / 99.0 µs | 3.00× (90.0 µs) | 50.0 µs / 99.0 µs |";
        assert!(text.ends_with(row), "{text}");
    }
}
