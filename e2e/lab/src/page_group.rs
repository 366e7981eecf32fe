//! Pages that connect again, as the SDK does, whenever their connection ends.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use bridge_protocol::RetryHint;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout}; // sleep: the waits of the SDK between its attempts

use crate::page::{Page, PageAnswer, PageProtocol, registration, session_of_page, token_of_page};
use crate::tools::board_tools;

/// How long all pages may take to connect, before a measurement fails.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(120);

/// The waits of `web-sdk/core/src/backoff.rs`, in milliseconds.
const BACKOFF_BASE_MS: u64 = 250;
const MAX_BACKOFF_MS: u64 = 15_000;
const MAX_SPREAD_MS: u64 = 60_000;

/// The result of every call, as JSON.
pub(crate) const RESULT: &str = r#"{"ok":true}"#;

/// Pages with 10 tools and a token each. They end when this is dropped.
pub(crate) struct PageGroup {
    pages: usize,
    registered: UnboundedReceiver<RegisteredPage>,
    refused: Arc<AtomicUsize>,
    _running: JoinSet<()>,
}

/// A page that has connected and registered its tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisteredPage {
    pub(crate) number: usize,
    pub(crate) at: Instant,
}

/// Where pages connect.
pub(crate) struct PageAddresses {
    /// Where each page connects at first.
    pub(crate) first: SocketAddr,
    /// Where pages connect after that, one after the other, as a load balancer distributes them.
    pub(crate) later: Vec<SocketAddr>,
    /// Whether each page has a different address. Else all have that of this machine.
    pub(crate) are_distinct: bool,
}

impl PageGroup {
    /// Starts this number of pages.
    pub(crate) fn start(pages: usize, addresses: PageAddresses) -> Self {
        let (sender, registered) = unbounded_channel();
        let shared = Arc::new(Shared {
            addresses,
            registration: registration(&board_tools(None)),
            answer: PageAnswer::new(PageProtocol::Current, RESULT),
            registered: sender,
            refused: Arc::default(),
        });
        let mut running = JoinSet::new();
        for number in 0..pages {
            running.spawn(run_page(number, Arc::clone(&shared)));
        }
        Self {
            pages,
            registered,
            refused: Arc::clone(&shared.refused),
            _running: running,
        }
    }

    /// Waits until the next page has registered its tools.
    pub(crate) async fn recv(&mut self) -> Result<RegisteredPage> {
        let page = self.registered.recv().await;
        page.context("all pages have ended")
    }

    /// Waits until each page has registered its tools, and returns when it did so for the last time.
    pub(crate) async fn wait_for_all(&mut self) -> Result<Vec<Instant>> {
        let mut times = HashMap::new();
        let all = async {
            while times.len() < self.pages {
                let page = self.recv().await?;
                times.insert(page.number, page.at);
            }
            anyhow::Ok(())
        };
        let waited = timeout(CONNECT_TIMEOUT, all).await;
        waited.map_err(|_| anyhow!("{} of {} pages are connected", times.len(), self.pages))??;
        Ok(times.into_values().collect())
    }

    /// Returns how many attempts to connect were refused since the last time.
    pub(crate) fn take_refused(&self) -> usize {
        self.refused.swap(0, Ordering::Relaxed)
    }
}

/// The parts that all pages have in common.
struct Shared {
    addresses: PageAddresses,
    registration: String,
    answer: PageAnswer,
    registered: UnboundedSender<RegisteredPage>,
    refused: Arc<AtomicUsize>,
}

/// Plays a page, and reports each of its connections.
async fn run_page(number: usize, shared: Arc<Shared>) {
    let mut waits = Waits::new(number);
    let mut address = shared.addresses.first;
    let mut later = shared.addresses.later.iter().cycle().skip(number);
    loop {
        let reason = match shared.connect(number, address).await {
            Ok(page) => {
                let at = Instant::now();
                if shared
                    .registered
                    .send(RegisteredPage { number, at })
                    .is_err()
                {
                    return;
                }
                let reason = page.serve_until_closed(&shared.answer).await;
                waits = Waits::new(number);
                address = *later.next().unwrap_or(&address);
                reason
            }
            Err(reason) => {
                if address != shared.addresses.first {
                    address = *later.next().unwrap_or(&address);
                }
                reason
            }
        };
        let wait = match RetryHint::parse(&reason) {
            Some(hint) => {
                shared.refused.fetch_add(1, Ordering::Relaxed);
                waits.after_refusal(u64::from(hint.after_s) * 1_000)
            }
            None => waits.after_failure(),
        };
        sleep(wait).await; // sleep: as the SDK does
    }
}

impl Shared {
    /// Connects a page. Returns the reason of the close frame if the bridge has sent one.
    async fn connect(&self, number: usize, address: SocketAddr) -> Result<Page, String> {
        let session = session_of_page(number);
        let target = format!("/ws?session={session}");
        let page = Page::connect(self.addresses.of_page(number), address, &target).await;
        let mut page = page.map_err(|_| String::new())?;
        page.authenticate(&token_of_page(number), &session).await?;
        let registered = page.register(&self.registration).await;
        registered.map(|()| page).map_err(|_| String::new())
    }
}

impl PageAddresses {
    fn of_page(&self, number: usize) -> IpAddr {
        if !self.are_distinct {
            return Ipv4Addr::LOCALHOST.into();
        }
        let [.., high, low] = (number + 1).to_be_bytes();
        Ipv4Addr::new(127, 1, high, low).into()
    }
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
