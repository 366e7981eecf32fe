//! Many pages of one token register many tools each: each page as fast as the first.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{DefinitionSets, Page, Server, average, registration_message};

const TOKEN: &str = "the-token-of-all-0123456789abcdef";
const HEARTBEAT: Duration = Duration::from_secs(20);

/// So many pages before one are its neighbours: one alone is at the mercy of the scheduler.
const NEIGHBOURS: usize = 10;

/// What pages of one token took to connect and register.
#[derive(Clone, Debug, Serialize)]
pub struct RegistrationCost {
    /// Whether they registered the same.
    pub sets: DefinitionSets,
    /// How many there were.
    pub pages: usize,
    /// How many tools each.
    pub tools: usize,
    /// The tenth, the last, and two between.
    pub near: Vec<PageRegistrationCost>,
    /// Processor time for one, in microseconds.
    pub average_us: f64,
}

/// The median of a page and those just before it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PageRegistrationCost {
    /// The how manieth page.
    pub page: usize,
    /// Processor time for it, in microseconds.
    pub cpu_us: f64,
}

/// Lets `pages` pages of one token register `tools` tools each, one after the other.
pub async fn measure_registration(
    sets: DefinitionSets,
    pages: usize,
    tools: usize,
) -> RegistrationCost {
    let bridge = Server::bridge(pages, HEARTBEAT).await;
    let mut open = Vec::new();
    let mut each: Vec<Duration> = Vec::new();
    for n in 0..pages {
        let message = registration_message(sets, n, tools);
        let before = bridge.cpu_time();
        let mut page = Page::open(&bridge.address, TOKEN, &format!("page-{n}")).await;
        page.register(&message).await;
        each.push(bridge.cpu_time() - before);
        open.push(tokio::spawn(async move { page.serve("null").await }));
    }
    let total: Duration = each.iter().sum();
    let places = [NEIGHBOURS.min(pages), pages / 3, 2 * pages / 3, pages];
    RegistrationCost {
        sets,
        pages,
        tools,
        near: places.map(|page| median_near(&each, page)).into(),
        average_us: average(total.as_micros() as u64, pages),
    }
}

fn median_near(each: &[Duration], page: usize) -> PageRegistrationCost {
    let mut around = each[page.saturating_sub(NEIGHBOURS)..page].to_vec();
    around.sort();
    let median = around.get(around.len() / 2);
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
        for near in &self.near {
            write!(f, ", near page {} {:.0} µs", near.page, near.cpu_us)?;
        }
        write!(f, "; {:.0} µs on average", self.average_us)
    }
}
