//! Pages that do nothing, at the bridge that serves them and at another one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::Meter;
use tokio::task::JoinSet;
use tokio::time::sleep; // sleep: the duration of what is measured

use crate::nodes::Nodes;
use crate::page::{Page, PageAnswer, PageProtocol, session_of_page, token_of_page};
use crate::server::raise_open_file_limit;
use crate::table::{Table, kib_each, thousands};
use crate::tools::board_tools;

/// The number of pages. The edge has two sockets for each, and many systems allow 20,000 open files.
const PAGES: usize = 9_000;

/// The number of pages of each token, without the one by which the token gets its owner.
const PAGES_OF_TOKEN: usize = 100;

/// The number of pages, and how long they are watched.
struct Plan {
    pages: usize,
    heartbeat: Duration,
    rest: Duration,
}

/// Measures pages that connect directly, and pages that connect to another bridge.
pub(super) async fn measure(quick: bool) -> Result<String> {
    let [heartbeat, rest] = if quick { [2, 3] } else { [25, 60] }.map(Duration::from_secs);
    let plan = Plan {
        pages: if quick { 1_000 } else { PAGES },
        heartbeat,
        rest,
    };
    // A bridge has two sockets for each page that it passes on.
    raise_open_file_limit(2 * plan.pages)?;
    let mut table = Table::new(&[
        "pages connect to",
        "memory of a page at the owner",
        "at the edge",
        "CPU at rest of the owner, of a core",
        "of the edge",
    ]);
    for (name, is_encrypted, at_the_edge) in [
        ("the owner", false, false),
        ("the edge", false, true),
        ("the edge, TLS", true, true),
    ] {
        eprintln!("  {} idle pages at {name}", thousands(plan.pages as u64));
        let mut row = vec![name.to_owned()];
        row.extend(measure_pages(&plan, is_encrypted, at_the_edge).await?);
        table.row(&row);
    }
    let conditions = format!(
        "{} pages with 10 tools each, {PAGES_OF_TOKEN} of each token, watched for {} s; a heartbeat every \
         {} s.",
        thousands(plan.pages as u64),
        plan.rest.as_secs(),
        plan.heartbeat.as_secs(),
    );
    Ok(table.with_conditions(&conditions))
}

async fn measure_pages(plan: &Plan, is_encrypted: bool, at_the_edge: bool) -> Result<[String; 4]> {
    let tokens = plan.pages.div_ceil(PAGES_OF_TOKEN);
    let nodes = start_nodes(plan, is_encrypted).await?;
    let mut owning = Vec::new();
    for number in 0..tokens {
        owning.push(nodes.open_owning_page(&token_of_page(number)).await?);
    }
    let address = if at_the_edge {
        nodes.edge().address
    } else {
        nodes.owner().address
    };
    let answer = Arc::new(PageAnswer::new(PageProtocol::Current, "null"));
    let mut serving = JoinSet::new();
    for page in owning {
        let answer = Arc::clone(&answer);
        serving.spawn(async move { page.serve(&answer).await });
    }
    let meters = [nodes.owner().meter(), nodes.edge().meter()];
    let before = read(meters, Meter::exact_memory)?;
    for number in 0..plan.pages {
        let page = connect_page(address, number).await;
        let page = page.with_context(|| format!("page {number}"))?;
        let answer = Arc::clone(&answer);
        serving.spawn(async move { page.serve(&answer).await });
    }
    // Each page has had its first heartbeat by then: they start within one and a half intervals.
    sleep(plan.heartbeat * 3 / 2).await; // sleep: the pages rest
    let after = read(meters, Meter::exact_memory)?;
    let cpu = read(meters, Meter::cpu_time_of_threads)?;
    sleep(plan.rest).await; // sleep: the pages rest
    let cpu_after = read(meters, Meter::cpu_time_of_threads)?;
    let memory = |of: usize| kib_each(after[of].saturating_sub(before[of]), plan.pages);
    let cpu_at_rest = |of: usize| {
        let used = cpu_after[of].saturating_sub(cpu[of]);
        format!(
            "{:.2} %",
            100.0 * used.as_secs_f64() / plan.rest.as_secs_f64()
        )
    };
    Ok([memory(0), memory(1), cpu_at_rest(0), cpu_at_rest(1)])
}

fn read<T>(meters: [Meter; 2], value: impl Fn(Meter) -> Result<T>) -> Result<[T; 2]> {
    let [owner, edge] = meters.map(value);
    Ok([owner?, edge?])
}

async fn start_nodes(plan: &Plan, is_encrypted: bool) -> Result<Nodes> {
    let sessions = format!("--max-sessions={}", plan.pages + 1_000);
    let connections = format!("--max-connections={}", 3 * plan.pages + 1_000);
    let heartbeat = format!("--heartbeat={}s", plan.heartbeat.as_secs());
    let settings = ["--log=warn", &sessions, &connections, &heartbeat];
    Nodes::start(2, &settings, is_encrypted).await
}

async fn connect_page(address: SocketAddr, number: usize) -> Result<Page> {
    let token = token_of_page(number / PAGES_OF_TOKEN);
    let session = session_of_page(number);
    let tools = board_tools(None);
    Page::open(address, PageProtocol::Current, &token, &session, &tools).await
}
