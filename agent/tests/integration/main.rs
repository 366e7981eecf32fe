//! The agent through its door: a real bridge, real sockets, real HTTP, port 0, and the model that
//! needs no key.
#![allow(clippy::unwrap_used)]

mod direct;
mod documented;
mod kit;
mod outcomes;
mod page_queries;
mod program;
mod refusals;
mod reports;
