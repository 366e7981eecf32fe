//! The cost of registration for many pages of one token: the last page should cost as little as the
//! first one.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{DefinitionSets, Page, Server, average, registration_message};

const TOKEN: &str = "the-token-of-all-0123456789abcdef";
const HEARTBEAT: Duration = Duration::from_secs(20);

/// The median is taken over this many pages, because a single value depends on the scheduler.
const NEIGHBOURS: usize = 10;

/// The cost of connecting and registering the pages of one token.
#[derive(Clone, Debug, Serialize)]
pub struct RegistrationCost {
    /// Whether the pages registered the same tools.
    pub sets: DefinitionSets,
    /// The number of pages.
    pub pages: usize,
    /// The number of tools of each page.
    pub tools: usize,
    /// The cost at the tenth page, the last one, and two in between.
    #[serde(rename = "near")]
    pub samples: Vec<PageRegistrationCost>,
    /// The average processor time per page, in microseconds.
    pub average_us: f64,
}

/// The median cost of a page and the pages just before it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PageRegistrationCost {
    /// The number of the page, counted from 1.
    pub page: usize,
    /// Its processor time, in microseconds.
    pub cpu_us: f64,
}

/// Registers `tools` tools on each of `pages` pages of one token, one page after the other.
pub async fn measure_registration(
    sets: DefinitionSets,
    pages: usize,
    tools: usize,
) -> RegistrationCost {
    let bridge = Server::bridge(pages, HEARTBEAT).await;
    let mut open = Vec::new();
    let mut costs: Vec<Duration> = Vec::new();
    for n in 0..pages {
        let message = registration_message(sets, n, tools);
        let before = bridge.cpu_time();
        let mut page = Page::open(&bridge.address, TOKEN, &format!("page-{n}")).await;
        page.register(&message).await;
        costs.push(bridge.cpu_time() - before);
        open.push(tokio::spawn(async move { page.serve("null").await }));
    }
    let total: Duration = costs.iter().sum();
    let sampled = [NEIGHBOURS.min(pages), pages / 3, 2 * pages / 3, pages];
    RegistrationCost {
        sets,
        pages,
        tools,
        samples: sampled.map(|page| median_near(&costs, page)).into(),
        average_us: average(total.as_micros() as u64, pages),
    }
}

fn median_near(costs: &[Duration], page: usize) -> PageRegistrationCost {
    let mut neighbours = costs[page.saturating_sub(NEIGHBOURS)..page].to_vec();
    neighbours.sort();
    let median = neighbours.get(neighbours.len() / 2);
    PageRegistrationCost {
        page,
        cpu_us: median.map_or(0.0, |cpu| cpu.as_secs_f64() * 1e6),
    }
}

impl fmt::Display for RegistrationCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pages, sets, tools) = (self.pages, self.sets.name(), self.tools);
        write!(
            f,
            "{pages} pages of one token, {sets} sets of {tools}: CPU per page"
        )?;
        for sample in &self.samples {
            write!(f, ", near page {} {:.0} µs", sample.page, sample.cpu_us)?;
        }
        write!(f, "; {:.0} µs on average", self.average_us)
    }
}
