//! A balancer for several bridges that serve as one. `cargo xtask demo --nodes` and the tests use it.
//!
//! The program of this crate starts the demo with several bridges: a server of NATS, in which they keep
//! their directory, the bridges (`mcp-web demo`), and a [`Balancer`] in front of them. It is a crate beside
//! `e2e`, whose dependencies would make a first start of the demo slow.
#![warn(missing_docs)]

mod balancer;
mod get;

pub use balancer::Balancer;
pub use get::get;
