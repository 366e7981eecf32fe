//! The files of `docs/deploy`: real proxies in front of a real bridge, with these files but for ports,
//! paths and accounts; systemd's own checks of the units; a schema of Kubernetes; and several bridges with
//! NATS.
//!
//! Clients are curl and send from 127.0.0.2, pages send from 127.0.0.3, and a proxy connects to the
//! bridge from 127.0.0.1, so that the address which the bridge counts shows whom it means.
#![allow(clippy::print_stderr, clippy::unwrap_used)]

mod booted_units;
mod certificates;
mod deploy_file;
mod deployment;
mod identity_provider;
mod kubernetes;
mod many_pages;
mod page_tunnel;
mod path_prefix;
mod proxy;
mod settings;
mod several_bridges;
mod through_proxies;
mod units;
