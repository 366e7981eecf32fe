//! MCP clients of other projects, unchanged, against a page in Chromium. Their results are the
//! table in `docs/clients.md`, which `cargo xtask clients` writes.
#![allow(clippy::unwrap_used)]

mod command_lines;
mod first_call;
mod further_entries;
mod libraries;
mod oauth_discovery;
mod proxies;
mod strict_readers;
