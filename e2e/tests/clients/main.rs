//! MCP clients that nobody here wrote, each as it is, against a page in Chromium. What they did is
//! the table of `docs/clients.md`: `cargo xtask clients` writes it.
#![allow(clippy::unwrap_used)]

mod command_lines;
mod libraries;
mod proxies;
