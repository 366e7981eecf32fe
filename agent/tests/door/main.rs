//! The agent through its door: a real bridge, real sockets, real HTTP, port 0, and the model that
//! needs no key.
#![allow(clippy::unwrap_used)]

mod asking;
mod direct;
mod documented;
mod ends;
mod kit;
mod program;
mod refusals;
mod reports;
