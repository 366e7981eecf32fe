//! Pages that do nothing, by the thousand: what each costs a bridge, and what it costs the others.
//!
//! The program `idle` prints the figures of `docs/benchmarks.md`. Its pages are one process of raw
//! sockets, so that most of a core is left for the bridge; calls that are timed have a thread of their
//! own beside them.

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

pub(crate) use caller::{Caller, Latencies};
pub(crate) use definitions::registration_message;
pub(crate) use idle_pages::IdlePages;
pub(crate) use latency::measure_latency;
pub(crate) use page::Page;
pub(crate) use server::Server;

/// What each of `n` has of a total.
pub(crate) fn average(total: u64, n: usize) -> f64 {
    total as f64 / n.max(1) as f64
}
