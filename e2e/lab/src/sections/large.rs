//! Calls with large results.

use std::time::Duration;

use anyhow::{Context, Result};
use e2e::LargeResult;

use crate::caller::Route;
use crate::clients::{STATELESS, VS_CODE, WITHOUT_CAPABILITIES};
use crate::load::{Figures, Load};
use crate::table::{Table, ratio, time};
use crate::tools::{LoadTools, payload};

const PAGES: usize = 4;
const CALLERS: usize = 4;

/// The columns of the table.
const ROUTES: [(&str, Route, LoadTools); 6] = [
    ("the floor", Route::Floor, LoadTools::WITHOUT_SCHEMAS),
    (
        "`POST /tool-call`",
        Route::ToolCall,
        LoadTools::WITHOUT_SCHEMAS,
    ),
    (
        "`/mcp`, 2025-11-25",
        Route::Mcp(&WITHOUT_CAPABILITIES),
        LoadTools::WITHOUT_SCHEMAS,
    ),
    (
        "`/mcp`, 2026-07-28",
        Route::Mcp(&STATELESS),
        LoadTools::WITHOUT_SCHEMAS,
    ),
    (
        "the same, both schemas",
        Route::Mcp(&STATELESS),
        LoadTools::WITH_SCHEMAS,
    ),
    ("VS Code", Route::Mcp(&VS_CODE), LoadTools::WITHOUT_SCHEMAS),
];

/// Measures results of each kind and size on each route.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let sizes: &[_] = if quick {
        &[100_000, 1_000_000]
    } else {
        &[100_000, 1_000_000, 10_000_000]
    };
    let (rounds, seconds) = if quick { (1, 0.5) } else { (3, 1.5) };
    let names: Vec<_> = ROUTES.iter().map(|(name, ..)| *name).collect();
    let mut table = Table::new(&[&["result"], &names[..]].concat());
    for &bytes in sizes {
        for (kind, name) in [(LargeResult::Rows, "rows"), (LargeResult::Text, "text")] {
            let name = format!("{} of {name}", size(bytes));
            eprintln!("  {name}");
            let figures = measure_row(kind, bytes, rounds, seconds)
                .await
                .context(name.clone())?;
            let mut cells = vec![name];
            for value in figures.iter() {
                cells.push(match value {
                    Some(value) => cell(value, figures[0].as_ref().unwrap_or(value)),
                    None => String::new(),
                });
            }
            table.row(&cells);
        }
    }
    let conditions = format!(
        "Server and callers share one core; {CALLERS} callers, {PAGES} pages; {seconds} s each time, \
         the median of {rounds}. A cell has the CPU of the server for a call, and the p50."
    );
    Ok(table.section(&conditions))
}

/// Measures a result on each route: `None` where the schema does not apply to it.
async fn measure_row(
    kind: LargeResult,
    bytes: usize,
    rounds: usize,
    seconds: f64,
) -> Result<Vec<Option<Figures>>> {
    let mut row = Vec::new();
    for (name, route, tools) in ROUTES {
        if tools.schemas && kind == LargeResult::Text {
            row.push(None);
            continue;
        }
        let mut figures = Vec::new();
        for _ in 0..rounds {
            let load = Load {
                route,
                tools,
                payload: payload(kind, bytes).into(),
                pages: PAGES,
                callers: CALLERS,
                warm_up: Duration::from_secs_f64(seconds / 4.0),
                duration: Duration::from_secs_f64(seconds),
            };
            figures.push(load.measure().await.context(name)?);
        }
        row.push(Some(Figures::median(figures)));
    }
    Ok(row)
}

fn cell(value: &Figures, floor: &Figures) -> String {
    format!("{}, {}", ratio(value.cpu, floor.cpu), time(value.p50))
}

fn size(bytes: usize) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} kB", bytes / 1_000),
    }
}
