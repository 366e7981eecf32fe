//! The project's commands: `cargo xtask demo`, `test`, `clients`, `provider-types`, `bench`, `faults`,
//! `fuzz`, `dependencies`, `sdk`, `api`, `release`,
//! `cross`, `version` and `lint`.
//!
//! Each command is a list of steps. A step prints what it does and how long it took, does nothing
//! if its inputs have not changed since its last run, and fails with one sentence that describes
//! what to do. All output goes into `target/` (`target/sdk` for the built SDK, `target/tools` for
//! what tests need), except for the private toolchain: it is in the user's cache directory, so
//! that all checkouts share it.
//!
//! Reading order: [`sdk`] (with [`toolchain`], which finds or builds a compiler for it),
//! [`api`], [`demo`] (with `local_model`), [`lint`], [`test`](mod@test) (with `node`, `python`, `chromium`,
//! `postgres`, `nats_server` and `proxies`, which install what it needs), [`clients`] (with `client_table`), [`provider_types`], [`bench`](mod@bench),
//! [`faults`], [`fuzz`], [`dependencies`], [`release`], [`cross`] and [`version`]. All of them use `step`, `process`, `install`, `fingerprint`, `lock` and
//! `folder`.
#![allow(clippy::print_stderr, clippy::print_stdout)]

pub mod api;
pub mod bench;
pub mod clients;
pub mod cross;
pub mod demo;
pub mod dependencies;
pub mod faults;
pub mod fuzz;
pub mod lint;
pub mod lowdefy;
pub mod provider_types;
pub mod release;
pub mod sdk;
pub mod test;
pub mod toolchain;
pub mod version;

mod apt;
mod chromium;
mod client_table;
mod document;
mod fingerprint;
mod folder;
mod install;
mod local_model;
mod lock;
mod nats_server;
mod node;
mod page_tools_pages;
mod postgres;
mod process;
mod promtool;
mod proxies;
mod python;
mod step;
mod workspace;

pub use workspace::Workspace;
