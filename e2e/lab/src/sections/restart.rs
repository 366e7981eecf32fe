//! A restart of the bridge while thousands of pages are connected: when they are back.

use std::time::Instant;

use anyhow::Result;

use crate::latency::Latencies;
use crate::page_group::{PageAddresses, PageGroup};
use crate::server::{Server, raise_open_file_limit};
use crate::table::{Table, thousands, time};

/// The settings of the bridge that each row measures.
const ROWS: [(&str, &[&str]); 2] = [
    ("defaults", &[]),
    ("`max_pending_pages = 64`", &["--max-pending-pages=64"]),
];

/// Measures a restart with each of the settings.
pub(crate) async fn measure(quick: bool) -> Result<String> {
    let pages = if quick { 500 } else { 3_000 };
    raise_open_file_limit(2 * pages)?;
    let mut table = Table::new(&[
        "settings",
        "refused attempts",
        "half of the pages back",
        "99 %",
        "all",
    ]);
    for (name, arguments) in ROWS {
        eprintln!("  {name}");
        table.row(&measure_restart(name, arguments, pages).await?);
    }
    let conditions = format!(
        "{} pages with 10 tools and a token each, at one address. The bridge gets SIGTERM and is \
         started again at once; times count from when it listens. Pages wait as the SDK does.",
        thousands(pages as u64)
    );
    Ok(table.section(&conditions))
}

async fn measure_restart(name: &str, arguments: &[&str], pages: usize) -> Result<[String; 5]> {
    let arguments = [vec!["--log=error"], arguments.to_vec()].concat();
    let server = Server::bridge(&arguments).await?;
    let addresses = PageAddresses {
        first: server.address,
        later: vec![server.address],
        are_distinct: false,
    };
    let mut group = PageGroup::start(pages, addresses);
    group.wait_for_all().await?;
    group.take_refused();
    let server = server.restart(&arguments).await?;
    let listening = Instant::now();
    let back = group.wait_for_all().await?;
    let refused = group.take_refused();
    let times = back
        .into_iter()
        .map(|at| at.saturating_duration_since(listening));
    let times = Latencies::new(times.collect());
    drop(server);
    Ok([
        name.to_owned(),
        thousands(refused as u64),
        time(times.percentile(50)),
        time(times.percentile(99)),
        time(times.slowest()),
    ])
}
