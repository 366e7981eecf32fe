//! The cost of a page's start: what it downloads and executes until it has registered a tool, and
//! what remains when it is idle.
//!
//! The program `start` prints the figures of `docs/benchmarks.md`. Each load has a browser of its
//! own, so that nothing is in a cache. The pages are in `e2e/start/pages`: an empty one, and pages
//! with the SDK and with packages that have the same purpose, in their newest versions.

mod load_cost;
mod rest_cost;
mod servers;
mod setup;
mod spread;
mod start_page;

pub use load_cost::StartCost;
pub use rest_cost::{RestCost, WakeUps};
pub use setup::StartSetup;
pub use spread::Spread;
pub use start_page::StartPage;
