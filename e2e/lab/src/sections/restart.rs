//! A restart of the bridge while thousands of pages are connected: when they are back.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bridge_protocol::RetryHint;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout}; // sleep: the waits of the SDK between its attempts

use crate::latency::Latencies;
use crate::page::{Page, registration};
use crate::server::{Server, raise_open_file_limit};
use crate::table::{Table, thousands, time};
use crate::tools::board_tools;

/// The settings of the bridge that each row measures.
const ROWS: [(&str, &[&str]); 2] = [
    ("defaults", &[]),
    ("`max_pending_pages = 64`", &["--max-pending-pages=64"]),
];

/// How long pages may take to come back, before the measurement fails.
const BACK_TIMEOUT: Duration = Duration::from_secs(120);

/// The waits of `web-sdk/core/src/backoff.rs`, in milliseconds.
const BACKOFF_BASE_MS: u64 = 250;
const MAX_BACKOFF_MS: u64 = 15_000;
const MAX_SPREAD_MS: u64 = 60_000;

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
    let address = server.address;
    let refused = Arc::new(AtomicUsize::new(0));
    let (sender, mut back) = unbounded_channel();
    let mut living = JoinSet::new();
    for number in 0..pages {
        living.spawn(live(address, number, Arc::clone(&refused), sender.clone()));
    }
    wait_for_all(&mut back, pages).await?;
    refused.store(0, Ordering::Relaxed);
    let server = server.restart(&arguments).await?;
    let listening = Instant::now();
    let back = wait_for_all(&mut back, pages).await?;
    let times = back
        .into_iter()
        .map(|at| at.saturating_duration_since(listening));
    let times = Latencies::new(times.collect());
    drop(server);
    Ok([
        name.to_owned(),
        thousands(refused.load(Ordering::Relaxed) as u64),
        time(times.percentile(50)),
        time(times.percentile(99)),
        time(times.slowest()),
    ])
}

/// Waits until this number of pages has connected, and returns when each of them did.
async fn wait_for_all(back: &mut UnboundedReceiver<Instant>, pages: usize) -> Result<Vec<Instant>> {
    let mut times = Vec::new();
    let all = async {
        while times.len() < pages {
            times.extend(back.recv().await);
        }
    };
    let waited = timeout(BACK_TIMEOUT, all).await;
    waited.with_context(|| format!("{} of {pages} pages are connected", times.len()))?;
    Ok(times)
}

/// Plays a page that connects again whenever its connection ends, and reports each connection.
async fn live(
    address: SocketAddr,
    number: usize,
    refused: Arc<AtomicUsize>,
    connected: UnboundedSender<Instant>,
) {
    let registration = registration(&board_tools(None));
    let mut waits = Waits::new(number);
    loop {
        let reason = match connect(address, number, &registration).await {
            Ok(page) => {
                if connected.send(Instant::now()).is_err() {
                    return;
                }
                let reason = page.serve_until_closed().await;
                // The first close is that of the restart.
                waits = Waits::new(number);
                reason
            }
            Err(reason) => reason,
        };
        let wait = match RetryHint::parse(&reason) {
            Some(hint) => {
                refused.fetch_add(1, Ordering::Relaxed);
                waits.after_refusal(u64::from(hint.after_s) * 1_000)
            }
            None => waits.after_failure(),
        };
        sleep(wait).await; // sleep: as the SDK does
    }
}

/// Connects a page. Returns the reason of the close frame if the bridge has sent one.
async fn connect(address: SocketAddr, number: usize, registration: &str) -> Result<Page, String> {
    let token = format!("idle-token-{number:08}-0123456789abcdef");
    let session = format!("5f0c9a52-7b1e-4c7e-9d1f-{number:012}");
    let target = format!("/ws?session={session}");
    let page = Page::connect(Ipv4Addr::LOCALHOST.into(), address, &target).await;
    let mut page = page.map_err(|_| String::new())?;
    page.authenticate(&token, &session).await?;
    let registered = page.register(registration).await;
    registered.map(|()| page).map_err(|_| String::new())
}

/// The waits between the attempts of a page.
struct Waits {
    number: usize,
    failed: u32,
    refused: u32,
}

impl Waits {
    fn new(number: usize) -> Self {
        Self {
            number,
            failed: 0,
            refused: 0,
        }
    }

    fn after_failure(&mut self) -> Duration {
        let max = (BACKOFF_BASE_MS << self.failed.min(16)).min(MAX_BACKOFF_MS);
        self.failed += 1;
        self.fraction_of(max)
    }

    fn after_refusal(&mut self, required_ms: u64) -> Duration {
        let spread = (required_ms << self.refused.min(16)).min(MAX_SPREAD_MS);
        self.refused += 1;
        Duration::from_millis(required_ms) + self.fraction_of(spread)
    }

    /// Returns a random part, the same in every run.
    fn fraction_of(&self, whole_ms: u64) -> Duration {
        let mut hasher = DefaultHasher::new();
        (self.number, self.failed, self.refused).hash(&mut hasher);
        let fraction = hasher.finish() as f64 / u64::MAX as f64;
        Duration::from_millis(whole_ms).mul_f64(fraction)
    }
}
