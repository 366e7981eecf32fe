//! Thousands of idle pages: the cost of each for a bridge, and their cost for other clients.
//!
//! The program `idle` prints the figures of `docs/benchmarks.md`. The pages are raw sockets in one
//! process, so that most of a core is left for the bridge. Calls whose latency is measured have a
//! thread of their own.
mod caller;
mod definitions;
mod idle_cost;
mod idle_pages;
mod latency;
mod neighbour_cost;
mod open_file_limit;
mod page;
mod registration_cost;
mod server;

pub use definitions::DefinitionSets;
pub use idle_cost::{IdleCost, measure_idle_cost};
pub use idle_pages::PageDistribution;
pub use latency::LatencySummary;
pub use neighbour_cost::{NeighbourCost, measure_neighbour_cost};
pub use open_file_limit::raise_open_file_limit;
pub use registration_cost::{PageRegistrationCost, RegistrationCost, measure_registration};
pub use server::Target;

pub(crate) use caller::Caller;
pub(crate) use definitions::registration_message;
pub(crate) use idle_pages::IdlePages;
pub(crate) use latency::measure_latency;
pub(crate) use page::{Page, heartbeat_ack, push_frame, push_frame_head, tool_call_id};
pub(crate) use server::Server;

/// Returns the average of a total over `n` items.
pub(crate) fn average(total: u64, n: usize) -> f64 {
    total as f64 / n.max(1) as f64
}
