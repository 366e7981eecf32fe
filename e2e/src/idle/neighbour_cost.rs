//! The cost of a call and of a list when there are many other sessions, and the cost of the same
//! number of open sockets for the floor.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{
    Caller, DefinitionSets, IdlePages, Page, PageDistribution, Server, Target, average,
    registration_message,
};

const MEASURED_ROUNDS: usize = 5;
const REQUESTS: usize = 3_000;
const WARM_UP: usize = 500;
const TOKEN: &str = "the-token-that-calls-0123456789abcdef";
const TOOL: &str = "update_card_0";

/// The interval of heartbeats. It is so long that the other pages send next to nothing while
/// requests are measured.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// Processor time of the server per request, with other sessions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NeighbourCost {
    /// The kind of server.
    pub target: Target,
    /// The number of other sessions.
    pub others: usize,
    /// Processor time per call, in microseconds.
    pub call_us: f64,
    /// Processor time per list of tools, in microseconds; the floor has no lists.
    pub list_us: Option<f64>,
}

/// Measures with each of these numbers of other sessions, which are in ascending order.
pub async fn measure_neighbour_cost(
    target: Target,
    others: &[usize],
    mut on_result: impl FnMut(NeighbourCost),
) {
    let max_others = others.iter().copied().max().unwrap_or_default();
    let server = Server::start(target, max_others, HEARTBEAT).await;
    let callee = match target {
        Target::Bridge => {
            let mut page = Page::open(&server.address, TOKEN, "callee").await;
            page.register(&registration_message(DefinitionSets::Identical, 0, 10))
                .await;
            page
        }
        Target::Floor => Page::open_at_floor(&server.address, "callee").await,
    };
    let callee = tokio::spawn(callee.serve(r#"{"ok":true}"#));
    let distribution = PageDistribution {
        pages: max_others,
        per_token: 1,
        sets: DefinitionSets::Distinct,
        tools: 10,
    };
    let mut pages = IdlePages::new(target, &server.address, distribution);
    let mut caller = Caller::connect(&server.address, TOKEN).await;
    if target == Target::Floor {
        caller.wait_until_answered().await;
    }
    for &others in others {
        pages.grow_to(others).await;
        caller.call_repeatedly(TOOL, WARM_UP).await;
        let (mut calls, mut lists) = (Vec::new(), Vec::new());
        if target == Target::Bridge {
            caller.list_repeatedly(WARM_UP).await;
        }
        for _ in 0..MEASURED_ROUNDS {
            let before = server.cpu_time();
            caller.call_repeatedly(TOOL, REQUESTS).await;
            calls.push(server.cpu_time() - before);
            if target == Target::Bridge {
                let before = server.cpu_time();
                caller.list_repeatedly(REQUESTS).await;
                lists.push(server.cpu_time() - before);
            }
        }
        on_result(NeighbourCost {
            target,
            others,
            call_us: median_us(calls).unwrap_or_default(),
            list_us: median_us(lists),
        });
    }
    callee.abort();
}

/// Returns the median per request, in microseconds, or `None` without rounds.
fn median_us(mut rounds: Vec<Duration>) -> Option<f64> {
    rounds.sort();
    let median = rounds.get(rounds.len() / 2)?;
    Some(average(median.as_nanos() as u64, REQUESTS) / 1e3)
}

impl fmt::Display for NeighbourCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            others,
            call_us,
            list_us,
        } = self;
        write!(
            f,
            "{target:?} beside {others} others: {call_us:.1} µs of CPU per call"
        )?;
        match list_us {
            Some(list_us) => write!(f, ", {list_us:.1} µs per list"),
            None => Ok(()),
        }
    }
}
