//! The agent from outside: a real bridge, real sockets on free ports, real HTTP, and the model that
//! needs no key.
#![allow(clippy::unwrap_used)]

mod agui;
mod agui_threads;
mod bridges;
mod conversations;
#[cfg(target_os = "linux")]
mod databases;
mod direct;
mod documented;
mod encryption;
mod health_and_metrics;
mod kit;
mod outcomes;
mod page_queries;
mod plugins;
mod program;
mod refusals;
mod reports;
mod surrogates;
#[cfg(unix)]
mod traces;
