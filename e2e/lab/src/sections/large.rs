//! Calls with large results.

use std::time::Duration;

use anyhow::Result;
use e2e::LargeResult;

use crate::caller::Route;
use crate::clients::{STATELESS, VS_CODE, WITHOUT_CAPABILITIES};
use crate::load::{Figures, Load, Target};
use crate::table::{Table, ratio, time};
use crate::tools::{LoadTools, payload};

const PAGES: usize = 4;
const CALLERS: usize = 4;

/// The columns of the table. Each is compared with the first.
const ROUTES: [(&str, Route); 5] = [
    ("the floor", Route::Floor),
    ("`POST /tool-call`", Route::ToolCall),
    ("`/mcp`, 2025-11-25", Route::Mcp(&WITHOUT_CAPABILITIES)),
    ("`/mcp`, 2026-07-28", Route::Mcp(&STATELESS)),
    ("VS Code", Route::Mcp(&VS_CODE)),
];

/// The kinds of results. The schemas of the tools describe rows.
const KINDS: [(&str, LargeResult, LoadTools); 3] = [
    ("rows", LargeResult::Rows, LoadTools::WITHOUT_SCHEMAS),
    (
        "rows, both schemas",
        LargeResult::Rows,
        LoadTools::WITH_SCHEMAS,
    ),
    ("text", LargeResult::Lines, LoadTools::WITHOUT_SCHEMAS),
];

const SIZES: [(&str, usize); 3] = [
    ("100 kB", 100_000),
    ("1 MB", 1_000_000),
    ("10 MB", 10_000_000),
];

/// How long results are measured at least, for each megabyte: only a few of the largest are returned in
/// a second.
const EACH_MB: Duration = Duration::from_millis(400);

/// Measures results of each size and kind on each route.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let (sizes, rounds, seconds) = if quick { (2, 1, 0.5) } else { (3, 3, 1.5) };
    let names = ROUTES.map(|(name, _)| name);
    let mut table = Table::new(&[&["result"], &names[..]].concat());
    for (size, bytes) in SIZES.into_iter().take(sizes) {
        let megabytes = (bytes / 1_000_000) as u32;
        for (kind, result, tools) in KINDS {
            eprintln!("  {size} of {kind}");
            let (mut cells, mut floor) = (vec![format!("{size} of {kind}")], None);
            for (name, route) in ROUTES {
                let target = Target { name, route, tools };
                let mut figures = Vec::new();
                for _ in 0..rounds {
                    let load = Load {
                        target,
                        payload: payload(result, bytes),
                        pages: PAGES,
                        callers: CALLERS,
                        duration: Duration::from_secs_f64(seconds).max(EACH_MB * megabytes),
                    };
                    figures.push(load.measure().await?);
                }
                let Figures { cpu, p50, .. } = Figures::median(figures);
                let cpu = ratio(cpu, *floor.get_or_insert(cpu));
                cells.push(format!("{cpu}, {}", time(p50)));
            }
            table.row(&cells);
        }
    }
    let conditions = format!(
        "Server and callers share one core; {CALLERS} callers, {PAGES} pages; {seconds} s each time (4 s with 10 MB), \
         the median of {rounds}. A cell has the CPU of the server for a call, and the p50."
    );
    Ok(table.section(&conditions))
}
